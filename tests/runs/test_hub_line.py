"""Runs beyond the limit wait their turn: in order, cancellable, and kept over a restart."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from hosted_graphs import PATH, Desk, Walk, log, opened, until

from loopwright.errors import InputError
from loopwright.runs import reading
from loopwright.runs.schemas import RunLimits

HELD = {"question": "where?", "rounds": 1, "hold": "plan"}
FREE = {"question": "where?", "rounds": 1}
ONE = RunLimits(running=1)


async def test_a_run_that_waits_its_turn_can_be_cancelled_and_resumed(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), limits=ONE) as hub:
        first, second, third = [await hub.start("walk", HELD) for _ in range(3)]
        record = await hub.cancel(second.id)
        assert (record.status, record.seconds, record.path) == ("cancelled", 0.0, ())
        assert [event.name for event in await log(hub, second.id)] == ["run_failed"]
        again = await hub.resume(second.id)
        assert hub.store.get(second.id).status == "queued"
        desk.opened.add("plan")
        assert [(await hub.until_ended(live.id)).status for live in (first, third, again)] == ["finished"] * 3
        assert (await hub.record(second.id)).path == (*PATH, "answer")


async def test_a_run_that_cannot_be_made_ready_leaves_its_place(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), limits=ONE) as hub:
        live = await hub.start("walk", HELD)
        with pytest.raises(InputError):
            await hub.start("walk", {"question": 5, "no": "such"})
        desk.opened.add("plan")
        await hub.until_ended(live.id)
        assert (await hub.until_ended((await hub.start("walk", FREE)).id)).status == "finished"


async def test_a_run_that_waited_and_cannot_begin_any_more_says_why_at_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "LOOK", 60.0)
    async with opened(tmp_path, Walk()) as hub:
        record = await hub.until_ended((await hub.start("walk", FREE)).id)
        gone = record.model_copy(update={"id": "gone", "status": "queued", "workflow": "retired"})
        hub.store.create(gone, hub.store.graph(record.id))
    async with opened(tmp_path, Walk()) as hub:
        async with asyncio.timeout(20):
            found = await hub.until_ended("gone", 60)
        assert (found.status, found.error_type) == ("interrupted", "UnknownNameError")
        assert "retired" in found.error


async def test_a_question_that_was_answered_in_line_is_asked_again_after_a_shutdown(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), limits=ONE) as hub:
        asking = await hub.until_ended((await hub.start("walk", {**FREE, "ask": True})).id)
        assert asking.status == "waiting"
        await hub.start("walk", HELD)
        live = await hub.resume(asking.id, answer="yes")
        assert live.status == "queued"
    again = Desk()
    again.opened.add("plan")
    async with opened(tmp_path, Walk(again), limits=ONE) as hub:
        await until(lambda: hub.store.get(asking.id).status == "waiting")
        record = await hub.until_ended((await hub.resume(asking.id, answer="yes")).id)
        assert (record.status, record.outcome.answer) == ("finished", "yes after 1")
