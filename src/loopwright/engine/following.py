"""Iterates over a run's stream with a context variable set, so that everything that the run does can see it.

LangGraph starts its tasks in a copy of the context in which the stream's next chunk is asked for. The caller's own
context stays as it is between two chunks.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, aclosing
from contextvars import ContextVar
from typing import Any, TypeVar, cast

T = TypeVar("T")


def following(stream: Iterator[Any], variable: ContextVar[T], value: T) -> Iterator[Any]:
    """Yield a stream's chunks.

    Args:
        stream: The stream.
        variable: What to set while the next chunk is made.
        value: To what.
    """
    while True:
        token = variable.set(value)
        try:
            chunk = next(stream)
        except StopIteration:
            return
        finally:
            variable.reset(token)
        yield chunk


async def afollowing(stream: AsyncIterator[Any], variable: ContextVar[T], value: T) -> AsyncIterator[Any]:
    """Yield a stream's chunks; see `following`."""
    async with closing(stream):
        while True:
            token = variable.set(value)
            try:
                chunk = await anext(stream)
            except StopAsyncIteration:
                return
            finally:
                variable.reset(token)
            yield chunk


def closing(stream: AsyncIterator[T]) -> AbstractAsyncContextManager[AsyncIterator[T]]:
    """Close a stream when whoever reads it leaves early, so that what runs for it is cancelled at once."""
    return aclosing(cast("AsyncGenerator[T]", stream))
