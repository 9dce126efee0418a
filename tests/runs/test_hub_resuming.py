"""Runs that go on, after an error, a cancel, a question, a shutdown; runs that wait their turn; and streams that are left."""

import asyncio
import gc
import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from hosted_graphs import PATH, Desk, Walk, log, opened, ran, standing, until
from langgraph.types import RetryPolicy
from shapes import State, graph

from loopwright import astream, bounded
from loopwright.checkpoints.archive import CheckpointsAway
from loopwright.engine.events.schema import NodeStarted
from loopwright.errors import InputError
from loopwright.runs import reading
from loopwright.runs.checkpoints import logged
from loopwright.runs.schemas import RunLimits
from loopwright.runs.store import NewEvents
from loopwright.runs.tally import Tally
from loopwright.testing import ScriptedChatModel

ASKED = {"question": "where?", "rounds": 2}


def visits(events) -> list[tuple[str, int]]:
    """The visits in the order in which they ended, gates left out."""
    ended = [json.loads(event.data) for event in events if event.name == "node_finished"]
    return [(event["node"], event["visit"]) for event in ended if not event["node"].startswith("loop.")]


def whole(*rounds: int) -> list[tuple[str, int]]:
    return [*((node, each) for each in rounds for node in PATH), ("answer", 1)]


@pytest.mark.parametrize("saver", ["sqlite", "json", "memory"])
async def test_a_run_that_failed_goes_on_where_it_failed_and_its_log_too(tmp_path: Path, saver: str) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), saver=saver) as hub:
        failed = await ran(hub, {**ASKED, "fail": "check#2"})
        assert (failed.status, failed.error_node) == ("failed", "check")
        begun = desk.begun.copy()
        record = await hub.until_ended((await hub.resume(failed.id)).id)
        events = await log(hub, failed.id)
        clients = await log(hub, failed.id, "client")
    assert desk.begun - begun == {"check": 1, "answer": 1}, "what had finished does not run again"
    assert (record.status, record.error, record.error_type) == ("finished", None, None)
    assert record.path == (*PATH, *PATH, "answer")
    assert record.passes == {"again": 1}
    assert record.seconds > failed.seconds
    assert [event.seq for event in events] == [*range(1, len(events) + 1)]
    assert record.events == len(events)
    ended = [visit for visit in visits(events) if visit != ("check", 2)]
    assert ended == [visit for visit in whole(1, 2) if visit != ("check", 2)]
    assert [event.name for event in clients] == ["error", "done"]
    starts = [json.loads(event.data) for event in events if event.name == "run_started"]
    assert [start["resumed"] for start in starts] == [False, True]
    states = [json.loads(event.data)["checkpoint_id"] for event in events if event.name == "state"]
    assert len(states) == len(set(states)) == 10


async def test_the_figures_of_a_resumed_run_are_those_of_its_log(tmp_path: Path) -> None:
    model = ScriptedChatModel("yes", repeat_last=True)
    async with opened(tmp_path, Walk(model=model), prices=lambda _name, _usage: 0.5) as hub:
        live = await ran(hub, {**ASKED, "model": True, "fail": "left#2"})
        record = await hub.until_ended((await hub.resume(live.id)).id)
        tally = Tally()
        for event in logged(hub.store, live.id):
            tally.see(event)
    assert {key: getattr(record, key) for key in tally.figures()} == tally.figures()
    assert (record.model_calls, record.seconds) == (4, tally.figures()["seconds"])
    assert record.cost == pytest.approx(2.0)
    assert record.loops[0].tokens == 8


async def test_a_cancelled_run_can_go_on(tmp_path: Path) -> None:
    async with standing(tmp_path, "left#1", ASKED) as (hub, live, desk):
        await hub.cancel(live.id)
        desk.opened.add("left#1")
        record = await hub.until_ended((await hub.resume(live.id)).id)
        events = await log(hub, live.id)
    assert record.status == "finished"
    assert sorted(set(visits(events))) == sorted(whole(1, 2))
    assert record.path == (*PATH, *PATH, "answer"), "the visit that was cut off is the same one when it runs again"


@pytest.mark.parametrize("answer", ["yes", {}, None], ids=["words", "nothing filled in", "null"])
async def test_a_run_waits_for_an_answer_and_goes_on_with_it(tmp_path: Path, answer: Any) -> None:
    async with opened(tmp_path, Walk()) as hub:
        waiting = await ran(hub, {**ASKED, "ask": True})
        assert (waiting.status, waiting.outcome) == ("waiting", None)
        events = await log(hub, waiting.id)
        asked = json.loads(events[-2].data)
        assert (asked["type"], asked["node"], asked["message"]) == ("told", "answer", "shall I?")
        assert json.loads(events[-1].data)["interrupted"]
        if answer == "yes":  # cancelled, it asks again as soon as it goes on
            (gone, _) = await asyncio.gather(hub.cancel(waiting.id), hub.cancel(waiting.id))
            assert (gone.status, gone.asked) == ("cancelled", ())
            assert (await hub.until_ended((await hub.resume(waiting.id)).id)).asked == waiting.asked
        with pytest.raises(InputError, match="waits for an answer"):
            await hub.resume(waiting.id)
        given = {waiting.asked[0].id: None} if answer is None else answer
        record = await hub.until_ended((await hub.resume(waiting.id, answer=given)).id)
        assert (record.status, record.outcome.answer) == ("finished", f"{answer} after 2")
        assert record.path == (*PATH, *PATH, "answer")


async def test_what_cannot_go_on_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk)) as hub:
        finished = await ran(hub, ASKED)
        failed = await ran(hub, {**ASKED, "fail": "plan"})
        with pytest.raises(InputError, match="waits for no answer"):
            await hub.resume(failed.id, answer="yes")
        live = await hub.start("walk", {**ASKED, "hold": "plan#1"})
        lost = finished.model_copy(update={"id": "lost", "status": "interrupted"})
        hub.store.create(lost, hub.store.graph(finished.id))
        hub.store.write([], [NewEvents("lost", "run", hub.store.events(finished.id), lost.epoch)])
        refused = {finished.id: "is finished; what can be resumed is", live.id: "what can be resumed is"}
        for run, told in {**refused, "nobody": "no run 'nobody'", "lost": "is not kept here"}.items():
            with pytest.raises(InputError, match=told):
                await hub.resume(run)
        assert hub.store.get("lost").status == "interrupted"


async def test_a_shutdown_lets_supersteps_end_and_the_runs_go_on_at_the_next_start(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), limits=RunLimits(running=2)) as hub:
        first = await hub.start("walk", {**ASKED, "hold": "left#1"})
        last = await hub.start("walk", {**ASKED, "hold": "answer"})
        third = await hub.start("walk", ASKED)
        await until(lambda: desk.waiting["left#1"] and desk.waiting["answer"])
        followed = [asyncio.create_task(log(hub, each.id)) for each in (first, last)]
        stopping = asyncio.create_task(hub.close(grace=30))
        await until(lambda: hub.refusal)
        assert (await hub.cancel(third.id)).status == "cancelled", "none that goes on at the next start"
        desk.opened |= {"left#1", "answer"}
        await stopping
        record = hub.store.get(first.id)
        assert (record.status, record.path) == ("queued", ("plan", "left", "right"))
        ends = [(await each)[-1].name == "run_finished" for each in followed]
        assert ends == [False, True], "who follows what ends in time sees its end"
    again = Desk()
    async with opened(tmp_path, Walk(again)) as hub:
        record = await hub.until_ended(first.id, 60)
        events = await log(hub, first.id)
        clients = await log(hub, first.id, "client")
    assert again.begun == {"plan": 1, "check": 2, "left": 1, "right": 1, "answer": 1}
    assert record.status == "finished"
    assert sorted(visits(events)) == sorted(whole(1, 2))
    assert [event.name for event in clients] == ["done"]


async def test_a_run_whose_checkpoints_cannot_be_reached_waits_and_goes_on(tmp_path: Path, monkeypatch) -> None:
    async with standing(tmp_path, "check#1", ASKED) as (hub, live, desk):
        away = Mock(side_effect=CheckpointsAway("nobody listens", transient=True))
        with monkeypatch.context() as gone:
            gone.setattr(hub.saver, "put", away)
            gone.setattr(hub.saver, "put_writes", away)
            gone.setattr(hub._jobs, "give_back", AsyncMock())
            desk.opened.add("check#1")
            await until(lambda: hub._jobs.give_back.await_count)
            assert hub.store.get(live.id).status == "queued"
        await hub._jobs.give_back(hub._jobs._on[live.id][0])
        record = await hub.until_ended(live.id, 60)
        assert (record.status, record.lost, record.passes) == ("finished", 0, {"again": 1})
        assert {*visits(await log(hub, live.id))} == {*whole(1, 2)}
        assert desk.begun["check"] == 3, "what could not be saved runs again, and nothing else"


async def test_a_shutdown_cancels_what_does_not_end_in_time(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk, asynchronous=False)) as hub:
        live, last = [await hub.start("walk", {**ASKED, "hold": "check#1"}, priority=each) for each in (1, 0)]
        await until(lambda: desk.waiting["check#1"] == 2)
        await hub.close(grace=0.05)
        stopped = [hub.store.get(each.id) for each in (live, last)]
        assert [each.status for each in stopped] == ["queued", "queued"]
        assert "stopping" in hub.refusal
    desk.opened.add("check#1")
    again = Desk()
    await asyncio.sleep(0.5)
    async with opened(tmp_path, Walk(again), limits=ONE) as hub:
        await until(lambda: again.waiting["check#1"])
        cancelled = await hub.cancel(last.id)
        assert cancelled.seconds < stopped[1].seconds + 0.4, "no time passed in it while no process had it"
        again.opened.add("check#1")
        assert (await hub.until_ended(live.id, 60)).status == "finished"


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
        assert (await ran(hub, FREE)).status == "finished"


async def test_a_run_that_waited_and_cannot_begin_any_more_says_why_at_once(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "LOOK", 60.0)
    async with opened(tmp_path, Walk()) as hub:
        record = await ran(hub, FREE)
        gone = record.model_copy(update={"id": "gone", "status": "queued", "workflow": "retired"})
        hub.store.create(gone, hub.store.graph(record.id))
    async with opened(tmp_path, Walk()) as hub:
        async with asyncio.timeout(20):
            found = await hub.until_ended("gone", 60)
        assert (found.status, found.error_type) == ("interrupted", "UnknownWorkflow")
        assert "retired" in found.error


async def test_a_question_that_was_answered_in_line_is_asked_again_after_a_shutdown(tmp_path: Path) -> None:
    desk = Desk()
    async with opened(tmp_path, Walk(desk), limits=ONE) as hub:
        asking = await ran(hub, {**FREE, "ask": True})
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
        events = astream(app, {"text": "x"})
        async for event in events:
            if isinstance(event, NodeStarted) and event.node == "wait":
                break
        await events.aclose()
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert asyncio.run(leave_early()) == []
    gc.collect()
    assert complaints == []
