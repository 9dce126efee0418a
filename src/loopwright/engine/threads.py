"""Deadlines for functions that cannot be cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable
from typing import Any


class OutOfTime(Exception):
    """The deadline passed; never leaves the engine."""


def in_thread(call: Callable[[], Any], seconds: float) -> Any:
    """Call a function in a thread of its own and wait for it so long.

    Raises:
        OutOfTime: If there is no result in time; the thread goes on and its result is dropped.
    """
    results: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    _start(call, lambda value, error: results.put((value, error)))
    try:
        value, error = results.get(timeout=seconds)
    except queue.Empty:
        raise OutOfTime from None
    if error is not None:
        raise error
    return value


async def from_thread(call: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own; if this is cancelled, the thread goes on and its result is dropped."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def deliver(value: Any, error: BaseException | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, and nobody waits any more
            loop.call_soon_threadsafe(settle, value, error)

    _start(call, deliver)
    return await future


def _start(call: Callable[[], Any], deliver: Callable[[Any, BaseException | None], None]) -> None:
    """Start a thread; a daemon, unlike one of a pool, does not hold up the end of the process when it is abandoned."""
    context = contextvars.copy_context()

    def work() -> None:
        try:
            value = context.run(call)
        except BaseException as error:
            deliver(None, error)
        else:
            deliver(value, None)

    threading.Thread(target=work, daemon=True, name="loopwright-node").start()
