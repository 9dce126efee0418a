"""Every checkpoint saver: LangGraph's own suite, real graphs, killed processes, our own states, attempts that are over."""

import asyncio
import hashlib
import logging
import os
import signal
import sqlite3
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.base import id as ids
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES
from langgraph.checkpoint.serde.event_hooks import register_serde_event_listener
from langgraph.graph import END
from postgres import postgres_server  # noqa: F401
from psycopg import OperationalError
from psycopg.errors import ProgramLimitExceeded
from psycopg_pool import PoolTimeout
from psycopg_pool.base import AttemptWithBackoff
from shapes import State, graph

from loopwright.checkpoints import aopen_checkpointer, archive, json_files, open_checkpointer, postgres, sqlite
from loopwright.checkpoints.archive import EPOCH, fence
from loopwright.checkpoints.postgres import pool_at, prepared
from loopwright.engine.langgraph_private import LATEST
from loopwright.errors import CheckpointError
from loopwright.runs.memory import remembering
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.schemas import (
    DistortionFinding,
    ExecutorOutput,
    PlannerOutput,
    QueryType,
    SummarizerOutput,
    ToolLog,
)
from loopwright.workflows.iqa.state import AgenticIQAState
from loopwright.workflows.user_graph import UserGraph

KINDS = ["memory", "json", "sqlite", "postgresql"]
LASTING = ["json", "sqlite", "postgresql"]


@pytest.fixture
def spec_of(request: pytest.FixtureRequest) -> Callable[[str, Path], str]:
    """Names the place of a saver in a folder; each folder is a schema of its own in PostgreSQL."""

    def give(kind: str, folder: Path) -> str:
        if kind == "postgresql":
            schema = hashlib.sha256(str(folder).encode()).hexdigest()[:12]
            return f"{request.getfixturevalue('postgres_server')}&schema=kept_{schema}"
        return {"memory": "memory", "json": f"json:{folder / 'runs'}", "sqlite": f"sqlite:{folder / 'runs.db'}"}[kind]

    return give


SpecOf = Callable[[str, Path], str]


@pytest.mark.parametrize("spec", LASTING, indirect=True)
async def test_what_follows_a_host_whose_clock_runs_ahead_is_newer(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with aopen_checkpointer(spec) as saver:
        app, now = two_steps(saver, nothing), time.time_ns
        with monkeypatch.context() as ahead:
            ahead.setattr(time, "time_ns", lambda: now() + 3_600 * 10**9)
            await app.ainvoke({"log": ["ahead"]}, attempt(None))
        monkeypatch.setattr(ids, LATEST, None)  # as in another process
        await app.ainvoke({"log": ["after it"]}, attempt(None))
        assert "after it" in (await app.aget_state(attempt(None))).values["log"]


@pytest.mark.parametrize("spec", ["sqlite", "postgresql"], indirect=True)
async def test_a_saver_that_is_closed_says_so(spec: str) -> None:
    with open_checkpointer(spec) as saver:
        app = two_steps(saver, nothing)
        with saver:
            await app.ainvoke({"log": []}, attempt(None))
        assert saver.get_tuple(attempt(None))
        await app.ainvoke({"log": []}, attempt(None))
    with pytest.raises(CheckpointError, match=r"are closed: run the graph in the `with`"):
        app.invoke({"log": []}, attempt(None))
    with pytest.raises(CheckpointError, match=r"are closed: run the graph in the `with`"):
        await app.ainvoke({"log": []}, attempt(None))


@pytest.mark.parametrize(("kind", "large"), [*((kind, sqlite.LARGE) for kind in KINDS), ("sqlite", 0)])
async def test_conforms(kind: str, large: int, tmp_path: Path, spec_of: SpecOf, monkeypatch) -> None:
    monkeypatch.setattr(sqlite, "LARGE", large)
    rounds = iter(range(100))

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        async with aopen_checkpointer(spec_of(kind, tmp_path / str(next(rounds)))) as saver:
            yield saver

    report = await validate(checkpointer_test(name=kind)(factory))
    assert {capability: result.failures for capability, result in report.results.items() if result.failures} == {}
    detected = {capability for capability, result in report.results.items() if result.detected}
    assert detected >= {capability.value for capability in BASE_CAPABILITIES}
    assert all(report.results[capability].tests_passed >= 5 for capability in detected)


TEXTS = [str(number) * 40_000 for number in range(4)]
STEPS = graph(
    "START-step step?step step?END", State, {"step": lambda state: END if state["count"] >= 4 else "step"},
    step=lambda state: {"count": state["count"] + 1, "log": [TEXTS[state["count"]]]},
)  # fmt: skip
BEGIN: Any = {"count": 0, "log": []}
GROWN = [TEXTS[:length] for length in (4, 3, 2, 1, 0, 0)]
"""The log at each checkpoint of a run of these steps, the last one first."""


@pytest.mark.parametrize("kind", KINDS)
async def test_concurrent_runs_with_large_values(kind: str, tmp_path: Path, spec_of: SpecOf) -> None:
    async with aopen_checkpointer(spec_of(kind, tmp_path)) as saver:
        app = STEPS.compile(checkpointer=saver)
        runs = [app.ainvoke(BEGIN, attempt(None, str(n)), durability="sync") for n in range(8)]
        assert [final["log"] for final in await asyncio.gather(*runs)] == [TEXTS] * 8
    async with aopen_checkpointer(spec_of(kind, tmp_path)) as other:
        app = STEPS.compile(checkpointer=saver if kind == "memory" else other)
        for number in range(8):
            history = [item.values.get("log", []) async for item in app.aget_state_history(attempt(None, str(number)))]
            assert history == GROWN


def killed_between(spec: str, kill_at: int) -> None:
    """A run that dies in one of its saves: the large values are written by then, the checkpoint or the commit is not."""
    saves = count(1)

    def before(save: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*given: Any) -> Any:
            if next(saves) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return save(*given)

        return instead

    json_files.complete = before(json_files.complete)
    for of in (sqlite.SqliteSaver, postgres.PostgresSaver):
        of.put = before(of.put)
    with open_checkpointer(spec) as saver:
        STEPS.compile(checkpointer=saver).invoke(BEGIN, attempt(None), durability="sync")


@pytest.mark.matrix
@pytest.mark.parametrize("kill_at", [3, 4])
@pytest.mark.parametrize("kind", LASTING)
def test_a_kill_between_a_large_value_and_its_checkpoint(
    kind: str, kill_at: int, tmp_path: Path, spec_of: SpecOf
) -> None:
    spec = spec_of(kind, tmp_path)
    child = get_context("fork").Process(target=killed_between, args=(spec, kill_at))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    with open_checkpointer(spec) as saver:
        app = STEPS.compile(checkpointer=saver)
        begun = app.get_state(attempt(None)).values
        assert app.invoke(None if begun else BEGIN, attempt(None), durability="sync")["log"] == TEXTS
        assert [item.values.get("log", []) for item in app.get_state_history(attempt(None))] == GROWN


def iqa_findings() -> dict[str, Any]:
    finding = DistortionFinding(
        type="Blur", severity=Severity.SLIGHT, confidence=0.5, explanation="sharpness 3.2", measured={"sharpness": 3.2}
    )
    return {
        "plan": PlannerOutput(query_type=QueryType.IQA, required_tools=["niqe"]),
        "executor_evidence": ExecutorOutput(
            distortion_analysis={"Global": [finding]}, tool_logs=[ToolLog(tool="niqe", raw=3.5, score=2.0)]
        ),
        "summarizer_result": SummarizerOutput(final_answer="B", quality_reasoning="score 2.0"),
    }


@pytest.fixture
def refused() -> Iterator[list[Any]]:
    """Each class that LangGraph found on no allowlist; its log names each class only once in a process."""
    events: list[Any] = []
    stop = register_serde_event_listener(events.append)
    yield events
    stop()


@pytest.mark.parametrize("kind", ["memory", "json", "sqlite"])
def test_states_with_models_come_back_whole_and_without_warnings(
    kind: str, tmp_path: Path, spec_of: SpecOf, caplog: pytest.LogCaptureFixture, refused: list[Any]
) -> None:
    given, made = {"query": "Is it sharp?", "image_path": "a.png"}, iqa_findings()
    builder = graph("START-all", AgenticIQAState, all=lambda _state: made)
    with caplog.at_level(logging.WARNING):
        with open_checkpointer(spec_of(kind, tmp_path), allow=[AgenticIQAState]) as saver:
            builder.compile(checkpointer=saver).invoke(given, attempt(None))
        with open_checkpointer(spec_of(kind, tmp_path), allow=[AgenticIQAState]) as other:
            found = (saver if kind == "memory" else other).get_tuple(attempt(None))
    assert found is not None
    back = {key: value for key, value in found.checkpoint["channel_values"].items() if key in given | made}
    assert back == given | made
    assert type(back["executor_evidence"].distortion_analysis["Global"][0].severity) is Severity
    assert (caplog.records, refused) == ([], [])


@pytest.mark.parametrize("kind", ["json", "sqlite"])
def test_a_class_that_is_not_allowed_is_never_built(kind: str, tmp_path: Path, spec_of: SpecOf, refused: list[Any]):
    builder = graph("START-all", AgenticIQAState, all=lambda _state: {"plan": PlannerOutput()})
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        builder.compile(checkpointer=saver).invoke({"query": "q", "image_path": "p"}, attempt(None))
    with open_checkpointer(spec_of(kind, tmp_path), allow=[]) as saver:
        found = saver.get_tuple(attempt(None))
    assert found is not None and type(found.checkpoint["channel_values"]["plan"]) is dict
    assert {(event["kind"], event["name"]) for event in refused} >= {("msgpack_blocked", "PlannerOutput")}


@pytest.fixture(params=["sqlite", "postgresql"])
def spec(request: pytest.FixtureRequest, tmp_path: Path, spec_of: SpecOf) -> str:
    return spec_of(request.param, tmp_path)


async def test_what_graphs_remember_lasts_beside_their_checkpoints(spec: str) -> None:
    for turn in range(2):
        workflow = UserGraph("first", graph("START-first"))
        async with remembering([workflow], spec.removeprefix("sqlite:")):
            assert len(await workflow.store.asearch(("notes",))) == turn
            await asyncio.to_thread(workflow.store.put, ("notes",), "seen", {"times": turn})


def test_threads_are_deleted_while_they_are_listed(spec: str) -> None:
    with open_checkpointer(spec) as saver:
        for thread in "ab":
            graph("START-first").compile(checkpointer=saver).invoke({"log": []}, attempt(None, thread))
        for found in saver.list(None):
            saver.delete_thread(found.config["configurable"]["thread_id"])
        assert [*saver.list(None)] == []


def test_a_list_of_one_graph_reads_a_page_at_a_time(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_checkpointer(spec) as saver:
        graph("START-a a-b b-c c-END").compile(checkpointer=saver).invoke({"log": []}, attempt(None))
        whole, place = [*saver.list(attempt(None))], {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        monkeypatch.setattr(archive, "PAGE", 2)
        monkeypatch.setattr(saver, "page", Mock(wraps=saver.page))
        listed = saver.list(place)
        first = next(listed)
        assert saver.page.call_count == 1
        assert [first, *listed] == whole
        assert [*saver.list(place, limit=3)] == whole[:3]


def test_nobody_comes_between_a_large_value_and_its_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_checkpointer(f"sqlite:{tmp_path}/runs.db") as saver, ThreadPoolExecutor(1) as another:
        may = Mock(side_effect=lambda *_given: another.submit(saver.lock.acquire, blocking=False).result())
        monkeypatch.setattr(sqlite.SqliteSaver, "put", may)
        assert saver.put(attempt(None), empty_checkpoint(), {}, {}) is False


def test_a_save_that_fails_locks_nobody_out_and_leaves_nothing_open(tmp_path: Path) -> None:
    spec, large = f"sqlite:{tmp_path}/runs.db", "x" * 1000
    with (
        open_checkpointer(spec) as saver,
        open_checkpointer(spec) as other,
        sqlite3.connect(tmp_path / "runs.db") as held,
    ):
        app, its = (two_steps(each, nothing) for each in (saver, other))
        unfit: Any = empty_checkpoint() | {"channel_values": {"text": large, "score": np.float64(1)}}
        unfit["channel_versions"] = {"text": "1", "score": "1"}
        with pytest.raises(TypeError, match="not msgpack serializable"):
            saver.put({"configurable": {"thread_id": "u", "checkpoint_ns": ""}}, unfit, {}, unfit["channel_versions"])
        its.update_state(attempt(None), {"log": [large]}, "first")
        (waits,) = saver.conn.execute("PRAGMA busy_timeout").fetchone()
        assert waits == 30_000, "a VACUUM by another program is waited for"
        saver.conn.execute("PRAGMA busy_timeout = 1")
        held.execute("BEGIN IMMEDIATE")
        with pytest.raises(CheckpointError, match=r"runs\.db cannot be used \(database is locked\)"):
            app.update_state(attempt(None), {"log": [large]}, "first")
        held.rollback()
        its.update_state(attempt(None), {"log": ["last"]}, "second")
        assert app.get_state(attempt(None)).values == its.get_state(attempt(None)).values == {"log": [large, "last"]}


async def test_a_connection_to_a_server_that_takes_no_writes_is_not_used_again(spec_of: SpecOf, tmp_path: Path) -> None:
    with open_checkpointer(spec_of("postgresql", tmp_path)) as saver:
        with saver._cursor() as cursor:
            cursor.execute("SET default_transaction_read_only = on")
        await saver.in_thread(saver.fence, "t", 1)
        with pytest.raises(ProgramLimitExceeded):  # and what is too large for it is sent once
            await saver.in_thread(saver.fence, "".join(map(str, range(100_000))), 1)


def test_a_saver_is_back_soon_however_long_its_server_was_gone(spec_of: SpecOf, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(AttemptWithBackoff, "INITIAL_DELAY", 0.1)
    address = prepared(spec_of("postgresql", tmp_path))
    with pool_at(address, 0.4) as pool:
        pool.wait()
        with monkeypatch.context() as gone:
            gone.setattr(pool.connection_class, "connect", Mock(side_effect=OperationalError("gone")))
            with pool.connection() as connection:
                connection.close()
            for _ in range(4):
                with pytest.raises(PoolTimeout), pool.connection():
                    pass
        began = time.monotonic()
        with pool.connection(10):
            assert time.monotonic() - began < 0.9


def two_steps(saver: Any, before_second: Callable[[], Any]) -> Any:
    async def second(state: State) -> State:
        await before_second()
        return {"log": ["second"]}

    return graph("START-first first-second second-END", second=second).compile(checkpointer=saver)


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
            final = await two_steps(other, nothing).ainvoke(None, attempt(1), durability="sync")
            assert final["log"] == ["first", "second"]
            kept.append([item async for item in two_steps(other, nothing).aget_state_history(attempt(None))])

        with pytest.raises(Exception, match="a later attempt of this run began"):
            await two_steps(stopped, overtaken).ainvoke({"log": []}, attempt(0), durability="sync")
        history = [item async for item in two_steps(other, nothing).aget_state_history(attempt(None))]
        assert [item.config for item in history] == [item.config for item in kept[0]]
        for saver in (stopped, other):  # each goes on with what is its own
            await fence(saver, "u", 0)
            final = await two_steps(saver, nothing).ainvoke({"log": []}, attempt(0, "u"), durability="sync")
            assert final["log"][-1] == "second"


async def test_what_has_no_number_is_let_through_and_an_id_that_is_used_again_begins_anew(spec: str) -> None:
    async with aopen_checkpointer(spec) as saver:
        await fence(saver, "t", 3)
        await fence(saver, "t", 2)
        await two_steps(saver, nothing).ainvoke({"log": []}, attempt(None), durability="sync")
        with pytest.raises(Exception, match="a later attempt"):
            await two_steps(saver, nothing).ainvoke({"log": []}, attempt(2), durability="sync")
        await fence(saver, "t", 0)
        await two_steps(saver, nothing).ainvoke({"log": []}, attempt(0), durability="sync")
        await saver.adelete_thread("t")
        with saver.cursor() if hasattr(saver, "cursor") else saver._cursor() as cursor:
            assert not cursor.execute("SELECT thread_id FROM loopwright_attempts").fetchall(), "a row for each run ever"
        with pytest.raises(Exception, match="or it was deleted"):
            await two_steps(saver, nothing).ainvoke({"log": []}, attempt(0), durability="sync")


async def test_attempts_that_begin_at_once_leave_the_newest(spec: str) -> None:
    async with aopen_checkpointer(spec) as one, aopen_checkpointer(spec) as two:
        await asyncio.gather(*(fence(saver, "t", epoch) for epoch in range(1, 9) for saver in (one, two)))
        with pytest.raises(Exception, match="a later attempt"):
            await two_steps(one, nothing).ainvoke({"log": []}, attempt(7), durability="sync")
        await two_steps(two, nothing).ainvoke({"log": []}, attempt(8), durability="sync")
