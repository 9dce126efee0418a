"""What is cancelled ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from loopwright.workflows import runtime


async def loses_a_cancellation() -> None:
    """As `asyncio.wait_for` before Python 3.12, where the result came at the same moment."""
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(600)
    await asyncio.sleep(600)


async def test_a_task_that_lost_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "_AGAIN", 0.01)
    tasks = [asyncio.create_task(loses_a_cancellation()) for _ in range(2)]
    await asyncio.sleep(0)
    await asyncio.wait_for(runtime.cancel([*tasks, None]), 60)
    assert all(task.cancelled() for task in tasks)
