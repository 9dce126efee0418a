"""Checkpoints of an earlier attempt are refused by the database, in the transaction that would keep them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shapes
from postgres import postgres_server, postgres_url  # noqa: F401
from shapes import State

from loopwright.checkpoints import aopen_checkpointer
from loopwright.checkpoints.archive import EPOCH, fence


@pytest.fixture(params=["sqlite", "postgresql"])
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:{tmp_path}/runs.db"


def graph(saver: Any, before_second: Callable[[], Any]) -> Any:
    async def second(state: State) -> State:
        await before_second()
        return {"log": ["second"]}

    return shapes.graph("START-first first-second second-END", second=second).compile(checkpointer=saver)


def attempt(epoch: int | None, thread: str = "t") -> Any:
    return {"configurable": {"thread_id": thread, **({} if epoch is None else {EPOCH: epoch})}}


async def nothing() -> None:
    pass


async def test_an_earlier_attempt_saves_nothing_more_and_locks_nobody_out(spec: str) -> None:
    async with aopen_checkpointer(spec) as stopped, aopen_checkpointer(spec) as other:
        await fence(stopped, "t", 0)
        kept: list[Any] = []

        async def overtaken() -> None:
            await fence(other, "t", 1)
            final = await graph(other, nothing).ainvoke(None, attempt(1), durability="sync")
            assert final["log"] == ["first", "second"]
            kept.append([item async for item in graph(other, nothing).aget_state_history(attempt(None))])

        with pytest.raises(Exception, match="a later attempt of this run began"):
            await graph(stopped, overtaken).ainvoke({"log": []}, attempt(0), durability="sync")
        history = [item async for item in graph(other, nothing).aget_state_history(attempt(None))]
        assert [item.config for item in history] == [item.config for item in kept[0]]
        for saver in (stopped, other):  # each goes on with what is its own
            await fence(saver, "u", 0)
            final = await graph(saver, nothing).ainvoke({"log": []}, attempt(0, "u"), durability="sync")
            assert final["log"][-1] == "second"


async def test_what_has_no_number_is_let_through_and_an_id_that_is_used_again_begins_anew(spec: str) -> None:
    async with aopen_checkpointer(spec) as saver:
        await fence(saver, "t", 3)
        await fence(saver, "t", 2)
        await graph(saver, nothing).ainvoke({"log": []}, attempt(None), durability="sync")
        with pytest.raises(Exception, match="a later attempt"):
            await graph(saver, nothing).ainvoke({"log": []}, attempt(2), durability="sync")
        await fence(saver, "t", 0)
        await graph(saver, nothing).ainvoke({"log": []}, attempt(0), durability="sync")


async def test_attempts_that_begin_at_once_leave_the_newest(spec: str) -> None:
    async with aopen_checkpointer(spec) as one, aopen_checkpointer(spec) as two:
        await asyncio.gather(*(fence(saver, "t", epoch) for epoch in range(1, 9) for saver in (one, two)))
        with pytest.raises(Exception, match="a later attempt"):
            await graph(one, nothing).ainvoke({"log": []}, attempt(7), durability="sync")
        await graph(two, nothing).ainvoke({"log": []}, attempt(8), durability="sync")
