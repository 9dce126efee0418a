"""Ctrl-C: the first asks to stop, the second insists."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(stop: Callable[[], None]) -> Generator[None, None, None]:
    """Call a function on the first SIGINT, and raise KeyboardInterrupt on the second.

    Outside the main thread, where no signal can be had, nothing changes.

    Args:
        stop: What asks to stop; called from a signal handler.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked = False

    def handle(_number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        stop()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
