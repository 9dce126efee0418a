"""Who leaves a stream of events in the middle leaves nothing behind: neither a task nor a complaint of Python's."""

from __future__ import annotations

import asyncio
import gc
import sys
from typing import Any, TypedDict

import pytest
from langgraph.types import RetryPolicy
from shapes import graph

from loopwright import astream, bounded
from loopwright.engine.events.schema import NodeStarted


class State(TypedDict, total=False):
    asked: str


@pytest.fixture
def complaints(monkeypatch) -> list[Any]:
    """What Python could raise nowhere."""
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    return found


@pytest.mark.parametrize("retry", [None, RetryPolicy(max_attempts=2)])
def test_a_stream_that_is_closed_in_the_middle_has_ended_by_then(complaints, retry):
    async def wait(state: State) -> State:
        await asyncio.sleep(3600)
        return state

    app = bounded(graph("START-wait wait-END", State, wait={"action": wait, "retry_policy": retry}))

    async def leave_early() -> list[Any]:
        events = astream(app, {"asked": "x"})
        async for event in events:
            if isinstance(event, NodeStarted) and event.node == "wait":
                break
        await events.aclose()
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(leave_early()) == []
    gc.collect()
    assert complaints == []
