"""Deadlines for functions that cannot be cancelled."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

given_up: contextvars.ContextVar[threading.Event | None] = contextvars.ContextVar("given_up", default=None)
"""Set once nobody waits any more for the function that runs: what can stop, such as a local model, looks at it."""


class OutOfTime(Exception):
    """The deadline passed; never leaves the engine."""


def in_thread(call: Callable[[], Any], seconds: float) -> Any:
    """Call a function in its own thread and wait so long; then it is `OutOfTime`, and a later result is dropped."""
    future, abandoned = _started(call)
    try:
        # Not `result(seconds)`: the function may raise a TimeoutError itself.
        if not wait([future], seconds).done:
            raise OutOfTime
        return future.result()
    finally:  # an interrupt from the keyboard ends the wait, too
        abandoned.set()


async def from_thread(call: Callable[[], Any]) -> Any:
    """Call a function in a thread of its own; if this is cancelled, the thread goes on and its result is dropped."""
    future, abandoned = _started(call)
    try:
        return await asyncio.wrap_future(future)
    finally:
        abandoned.set()


def _started(call: Callable[[], Any]) -> tuple[Future[Any], threading.Event]:
    """Start a thread: its result to come, and what `given_up` is within it, to be set when nobody waits any more."""
    # A daemon, unlike one of a pool, does not hold up the end of the process when it is abandoned.
    context, abandoned = contextvars.copy_context(), threading.Event()
    context.run(given_up.set, abandoned)
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()  # so that nobody who waits can cancel it

    def work() -> None:
        try:
            value = context.run(call)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(value)

    threading.Thread(target=work, daemon=True, name="loopwright-node").start()
    return future, abandoned
