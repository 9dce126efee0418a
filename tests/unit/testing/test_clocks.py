"""Time passes when a test says so, for what the engine sleeps and measures."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from loopwright import Backoff, Loop, bounded
from loopwright.engine import clock
from loopwright.errors import ConfigError
from loopwright.testing import ManualClock


class State(TypedDict, total=False):
    n: int


def backing_off(limit: int = 3):
    builder = StateGraph(State)
    builder.add_node("work", lambda state: {"n": state.get("n", 0) + 1})
    builder.add_edge(START, "work")
    builder.add_conditional_edges("work", lambda state: "work", ["work", END])
    loop = Loop(
        name="again", target="work", sources=("work",), limit=limit,
        backoff=Backoff(initial=60, factor=2, maximum=200),
    )  # fmt: skip
    return bounded(builder, [loop])


async def test_a_sleep_moves_the_time_and_takes_none():
    with ManualClock(100) as manual:
        clock.sleep(30)
        await clock.asleep(12.5)
        assert clock.now() == manual.now() == 142.5
    assert manual.slept == [30, 12.5]


def test_the_former_clock_is_back_afterwards():
    outer, inner = ManualClock(), ManualClock()
    with outer:
        with pytest.raises(RuntimeError), inner:
            raise RuntimeError
        clock.sleep(5)
    clock.sleep(0)
    assert (outer.slept, inner.slept) == ([5], [])


async def test_a_cancelled_sleep_is_forgotten():
    with ManualClock(moves_itself=False) as manual:
        task = asyncio.create_task(clock.asleep(5))
        await asyncio.to_thread(manual.until_sleeping)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert manual.sleeping == 0
        manual.advance(5)


def test_a_graph_waits_at_its_gate_until_the_time_has_come():
    with ManualClock(moves_itself=False) as manual:
        seen: list[int] = []
        thread = threading.Thread(target=lambda: seen.append(backing_off(limit=1).invoke({})["n"]), daemon=True)
        thread.start()
        manual.until_sleeping()
        assert seen == []
        manual.advance(60)
        thread.join(10)
        assert seen == [2]


def test_time_does_not_turn_back():
    with pytest.raises(ConfigError, match="only moves forward"):
        ManualClock().advance(-1)
