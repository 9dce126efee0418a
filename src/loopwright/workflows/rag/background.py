"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines for synchronous callers, from any number of threads, all in one event loop.

    The clients of chat models belong to the loop in which they were first used, so ``asyncio.run`` for each question
    would break them at the second one. The thread does not keep the program from ending.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="loopwright-rag", daemon=True)
        self._thread.start()

    def call(self, function: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """Run a coroutine function to its end and give its result; interrupted, the coroutine is cancelled.

        Args:
            function: The coroutine function.
            *args: Its arguments.
            **options: Its keyword arguments.
        """
        future = asyncio.run_coroutine_threadsafe(function(*args, **options), self._loop)
        try:
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """End the loop and its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
