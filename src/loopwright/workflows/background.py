"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for synchronous callers, from any number of threads, all in one event loop.

    The clients of chat models belong to the loop in which they were first used, so ``asyncio.run`` for each question
    would break them at the second one.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._running: set[Future[Any]] = set()
        self._closed = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loopwright-runs", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run a coroutine function to its end and give its result; interrupted, it is cancelled and waited for.

        Args:
            function: The coroutine function.
            *args: Its arguments.
            **options: Its keyword arguments.

        Raises:
            RuntimeError: If it was closed, or if this is called from within the loop, where it would wait for itself.
            CancelledError: If it is closed meanwhile.
        """
        if threading.current_thread() is self._thread:
            raise RuntimeError("this runs in the services' own event loop: await aask(...) here, not ask(...)")
        ended = threading.Event()

        async def run() -> T:
            try:
                return await function(*args, **options)
            finally:
                ended.set()

        with self._lock:
            if self._closed:
                raise RuntimeError("the services are closed")
            future = asyncio.run_coroutine_threadsafe(run(), self._loop)
            self._running.add(future)
        try:
            return future.result()
        except BaseException:
            # What it was doing ends before anything that it uses is closed.
            if future.cancel():
                ended.wait(_PATIENCE)
            raise
        finally:
            self._running.discard(future)

    def close(self) -> None:
        """Cancel what runs, and end the loop and its thread."""
        with self._lock:
            self._closed = True
            running = [*self._running]
        for future in running:
            future.cancel()
        wait(running, timeout=_PATIENCE)
        asyncio.run_coroutine_threadsafe(_wind_up(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


_PATIENCE = 10.0
"""Seconds that a cancelled coroutine gets to end."""


async def _wind_up() -> None:
    """Cancel every task that is left, and let generators and worker threads end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    loop = asyncio.get_running_loop()
    await loop.shutdown_asyncgens()
    await loop.shutdown_default_executor()
