"""What a hub makes of turns, and of runs that other servers begin, answer, cancel, delete or end, and that are left."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import anyio
import psycopg
import pytest
from hosted_graphs import Walk, opened, ran, until
from starlette.exceptions import HTTPException

from loopwright.config import Allowance
from loopwright.database.failures import explained, is_lost
from loopwright.errors import AttemptLost, InputError
from loopwright.runs import hub as hubs
from loopwright.runs import launching
from loopwright.runs.allowances import RunAllowances
from loopwright.runs.checkpoints import pausing, thread
from loopwright.runs.schemas import RunLimits
from loopwright.server import ServerSettings, Serving
from loopwright.server.agent_api.streaming import frames
from loopwright.server.agent_api.threads import Threads, Turn
from loopwright.server.metrics import Metrics
from loopwright.server.retention import _forget_unused, _is_alone, retaining
from loopwright.server.uploads import Uploads

ASKED = {"question": "where?"}


def threads_of(hub: Any) -> Threads:
    return Threads(SimpleNamespace(hub=hub, workflow=hub.workflows.__getitem__, metrics=Metrics()))


async def test_a_thread_outlives_its_first_turns_and_its_graph(tmp_path, monkeypatch):
    monkeypatch.setattr(launching, "require_same_graph", Mock(side_effect=AssertionError))
    async with opened(tmp_path, Walk()) as hub:
        threads = threads_of(hub)
        for _ in range(3):
            run, _before = await threads.run("t", "walk", Turn(input=ASKED))
            await hub.until_ended(run.id)
        for gone in ("t", "t.turn2"):
            await hub.delete(gone)
        turn, _before = await threads.run("t", "walk", Turn(input=ASKED))
        assert (turn.id, turn.parent.run_id) == ("t.turn4", "t.turn3")
        assert (await hub.until_ended(turn.id)).outcome.answer == "done after 4"
        assert [each.id for each in await threads.turns("t")] == ["t.turn4", "t.turn3"]
        shared = RunAllowances(hub.store, [Allowance(per="thread", model_calls=1)], turn, None, 1.0)
        assert shared._key("thread") == "thread t"


async def test_a_thread_whose_first_run_never_began_takes_a_message(tmp_path, monkeypatch):
    async with opened(tmp_path, Walk()) as hub:
        with monkeypatch.context() as queued:
            queued.setattr(hub._jobs, "submit", AsyncMock())
            await threads_of(hub).run("t", "walk", Turn(input=ASKED))
            await hub.cancel("t")
        turn, _before = await threads_of(hub).run("t", "walk", Turn(input=ASKED))
        assert (await hub.until_ended(turn.id)).status == "finished"


@pytest.mark.parametrize(
    ("workflow", "wrong", "told"),
    [
        ("run", {"input": ASKED}, "belongs to 'walk'"),
        ("walk", {"input": {}}, "needs a question"),
        ("walk", {"input": ASKED, "checkpoint_id": "1ef00000-0000-6000-8000-000000000000"}, "no checkpoint"),
        ("walk", {"command": {"resume": "yes"}}, "asks nothing"),
        ("walk", {"interrupt_before": "nobody"}, "unknown node 'nobody'"),
    ],
)
async def test_what_is_refused_ends_no_run_of_its_thread(tmp_path, workflow, wrong, told):
    async with opened(tmp_path, Walk()) as hub:
        await threads_of(hub).run("t", "walk", Turn(input={**ASKED, "hold": "plan"}))
        with pytest.raises((InputError, HTTPException), match=told):
            await threads_of(hub).run("t", workflow, Turn(multitask_strategy="interrupt", **wrong))
        assert (await hub.known("t")).status in ("queued", "running")


async def test_a_turn_that_another_server_began_in_between_is_waited_for(tmp_path, monkeypatch):
    async with opened(tmp_path, Walk()) as hub:
        threads, begin = threads_of(hub), hub.fork
        await ran(hub, ASKED, run_id="t")
        await ran(hub, {**ASKED, "rounds": 2}, run_id="other")

        async def later(*given: Any, **more: Any) -> Any:
            monkeypatch.setattr(hub, "fork", begin)
            await begin(*given, **more)
            return await begin(*given, **more)

        monkeypatch.setattr(hub, "fork", later)
        turn, _before = await threads.run("t", "walk", Turn(input=ASKED))
        assert (turn.id, turn.parent.run_id, hub.store.get("t.turn2").status) == ("t.turn3", "t.turn2", "finished")
        with pytest.raises(InputError, match="already"):
            await hub.fork("other", None, given=ASKED, fork_id="t.turn2")
        states = [each.checkpoint["channel_values"] async for each in hub.saver.alist(thread("t.turn2"))]
        assert max(each.get("rounds", 0) for each in states) == 2, "nothing of another run lies among them"


async def test_an_answer_goes_to_the_question_that_it_names(tmp_path, monkeypatch):
    async with opened(tmp_path, Walk()) as hub:
        run = await ran(hub, {**ASKED, "ask": True})
        for wrong, told in (({"0" * 32: "yes"}, "asks no question"), (None, "give one")):
            with pytest.raises(InputError, match=told):
                await hub.resume(run.id, answer=wrong)
        assert hub.store.get(run.id) == run
        with pytest.raises(InputError, match="asks 2 questions"):
            other = run.asked[0].model_copy(update={"id": "1" * 32})
            hubs._require_fitting(run.model_copy(update={"asked": (*run.asked, other)}), "yes")
        with monkeypatch.context() as raced, pytest.raises(InputError, match="goes on already"):
            raced.setattr(hub.store, "begin", Mock(side_effect=AttemptLost(run.id, 1, 2)))
            await hub.resume(run.id, answer="yes")
        again = await hub.resume(run.id, answer={run.asked[0].id: "yes"})
        assert (await hub.until_ended(again.id)).outcome.answer == "yes after 1"


async def test_who_leaves_takes_a_waiting_run_along(tmp_path):
    async with opened(tmp_path, Walk(), limits=RunLimits(running=1)) as hub:
        await hub.start("walk", {**ASKED, "hold": "plan"})
        waits = await hub.start("walk", ASKED)
        stream = frames(threads_of(hub), ["values"], True, waits)
        await anext(stream)
        with anyio.move_on_after(0.05):
            await anext(stream)
        await until(lambda: hub.store.get(waits.id).status == "cancelled")


async def test_a_run_that_can_have_no_job_holds_up_no_other(tmp_path, monkeypatch):
    async with opened(tmp_path, Walk()) as hub:
        run = await ran(hub, ASKED)
        for name in "ab":
            hub.store.create(run.model_copy(update={"id": name, "status": "queued"}), hub.store.graph(run.id))
        monkeypatch.setattr(hubs, "ORPHANED", 0.01)
        monkeypatch.setattr(hub._jobs, "submit", given := AsyncMock(side_effect=psycopg.DataError("cannot be a job")))
        hub._kept(hub._adopt_orphans(), "orphans")
        await until(lambda: {call.args[0].run_id for call in given.await_args_list} == {"a", "b"})


async def test_nodes_that_wait_in_threads_keep_nobody_off_the_history(tmp_path):
    loop, release = asyncio.get_running_loop(), threading.Event()
    async with opened(tmp_path, Walk()) as hub:
        loop.set_default_executor(ThreadPoolExecutor(1))
        node = loop.run_in_executor(None, release.wait)
        try:
            assert await asyncio.wait_for(hub.record("none"), 2) is None
        finally:
            release.set()
        await node
        serving = Serving(workflows=[], settings=ServerSettings(data=tmp_path), max_running=77)
        async with serving.hub(hub.store, {}):
            assert loop._default_executor._max_workers >= 77


def test_a_file_that_another_server_deleted_is_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(Uploads, "__iter__", lambda _self: iter(["0" * 32]))
    _forget_unused(None, Uploads(ServerSettings(data=tmp_path)), used := {"1" * 32: "a run"})
    assert not used


def test_files_in_a_folder_of_two_histories_are_kept(tmp_path):
    names = ("postgres", "another", f"the run history {tmp_path / 'runs.db'}")
    first, other, here = (Mock() for _name in names)
    first.name, other.name, here.name = names
    alone = partial(_is_alone, uploads=Uploads(ServerSettings(data=tmp_path)))
    assert alone(here) and alone(first) and alone(first)
    assert not alone(here) and not alone(other) and not alone(first), "their runs may need what it does not know"


async def test_a_server_answers_while_old_runs_are_forgotten(tmp_path):
    may, files = threading.Event(), Uploads(ServerSettings(data=tmp_path))
    async with opened(tmp_path, Walk()) as hub:
        run = await ran(hub, ASKED)
        saver = Mock(delete_thread=lambda _run: may.wait(5))
        async with retaining(hub.store, saver, files, 0, None):
            assert await hub.record(run.id)
            may.set()
            await until(lambda: hub.store.get(run.id) is None)


def test_failures_of_a_database_that_fails_over_pass():
    refused, idle = psycopg.errors.ReadOnlySqlTransaction(), psycopg.errors.IdleInTransactionSessionTimeout()
    assert all(explained(each, "it").transient and is_lost(each) for each in (refused, idle))


async def test_a_turn_takes_up_the_state_and_begins_new_books(tmp_path):
    async with opened(tmp_path, Walk()) as hub:
        first = await ran(hub, {**ASKED, "rounds": 9}, run_id="a")
        assert first.stop_reason == "again" and first.passes == {"again": 3}
        turn = await hub.until_ended(
            (await hub.fork("a", None, given={"question": "and then?", "rounds": 6}, fork_id="b")).id
        )
        assert (turn.status, turn.title, turn.parent.kind, turn.parent.run_id) == ("finished", "and then?", "turn", "a")
        assert turn.outcome.answer == "done after 6", "the rounds of the turn before count on"
        assert turn.passes == {"again": 1} and turn.stop_reason is None
        assert await hub.record("a") == first.model_copy(update={"children": ("b",)})
        with pytest.raises(InputError, match="no run 'nothing'"):
            await hub.fork("nothing", None, given=ASKED, fork_id="c")


async def test_a_turn_is_given_its_own_input_once_whenever_the_server_stops(tmp_path):
    walk, limits = Walk(), RunLimits(running=1)
    async with opened(tmp_path, walk, limits=limits) as hub:
        await ran(hub, ASKED, run_id="a")
        await hub.start("walk", {**ASKED, "hold": "plan"}, run_id="holds")
        await until(lambda: walk.desk.waiting["plan"])
        for turn in "bc":
            assert (await hub.fork("a", None, given={"question": "and then?"}, fork_id=turn)).status == "queued"
        given = walk.run({"question": "and then?"}, {}, "c").graph_input
        await pausing(hub.graph("walk"), ["check"], []).ainvoke(given, thread("c"))  # killed before its log was kept
    walk.desk.opened.add("plan")
    async with opened(tmp_path, walk, limits=limits) as hub:
        for turn in "bc":
            ended = await hub.until_ended(turn, 30)
            assert (ended.status, ended.outcome.answer) == ("finished", "done after 2")
        assert ended.path == ("check", "answer"), "what had finished does not run again"
