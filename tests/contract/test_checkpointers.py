"""One contract for every checkpoint saver: LangGraph's own conformance suite, real graphs, and killed processes."""

from __future__ import annotations

import asyncio
import json
import operator
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from loopwright.engine.checkpoints import JsonFileSaver, aopen_checkpointer, open_checkpointer
from loopwright.engine.checkpoints.blobs import FolderBlobs, MemoryBlobs
from loopwright.engine.checkpoints.content import ContentSerializer
from loopwright.engine.checkpoints.sqlite_blobs import SqliteBlobs

KINDS = ["memory", "json", "sqlite"]
LASTING = ["json", "sqlite"]


def spec_of(kind: str, folder: Path) -> str:
    return {"memory": "memory", "json": f"json:{folder / 'runs'}", "sqlite": f"sqlite:{folder / 'runs.db'}"}[kind]


def config_of(thread_id: str) -> Any:
    return {"configurable": {"thread_id": thread_id}}


# --- LangGraph's conformance suite -------------------------------------------------------------------------------


async def conformance(name: str, factory: Callable[[], AsyncGenerator[BaseCheckpointSaver[str], None]]) -> None:
    report = await validate(checkpointer_test(name=name)(factory))
    failures = {capability: result.failures for capability, result in report.results.items() if result.failures}
    assert failures == {}
    detected = {capability for capability, result in report.results.items() if result.detected}
    assert detected >= {capability.value for capability in BASE_CAPABILITIES}
    assert all(report.results[capability].tests_passed >= 5 for capability in detected)


@pytest.mark.parametrize("kind", KINDS)
async def test_conforms(kind: str, tmp_path: Path) -> None:
    rounds = iter(range(100))

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        async with aopen_checkpointer(spec_of(kind, tmp_path / str(next(rounds)))) as saver:
            yield saver

    await conformance(kind, factory)


async def test_conforms_when_every_call_reads_the_file_again(tmp_path: Path) -> None:
    rounds = iter(range(100))

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        yield JsonFileSaver(tmp_path / str(next(rounds)), keep_in_memory=0)

    await conformance("json, nothing kept in memory", factory)


@pytest.mark.parametrize("store", ["memory", pytest.param("folder", marks=pytest.mark.slow), "sqlite"])
async def test_conforms_when_every_value_is_stored_apart(store: str, tmp_path: Path) -> None:
    rounds = iter(range(100))

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        place = tmp_path / f"{next(rounds)}.db"
        blobs = {"memory": MemoryBlobs, "folder": lambda: FolderBlobs(place), "sqlite": lambda: SqliteBlobs(place)}[
            store
        ]()
        serde = ContentSerializer(JsonPlusSerializer(), blobs, threshold=256)
        serde.threshold = 64  # below what is allowed: every checkpoint is stored apart
        yield InMemorySaver(serde=serde)

    await conformance(f"memory, values in {store}", factory)


# --- real graphs -------------------------------------------------------------------------------------------------


class State(TypedDict, total=False):
    n: int
    log: Annotated[list[str], operator.add]
    answer: str


def counting_graph(fail_at: list[int] | None = None) -> StateGraph[State]:
    """start -> count (until n == 4) -> done; count raises once for each number in `fail_at`."""

    def count(state: State) -> State:
        if fail_at and state.get("n", 0) == fail_at[0]:
            fail_at.pop(0)
            raise RuntimeError("told to fail")
        return {"n": state.get("n", 0) + 1, "log": [f"count {state.get('n', 0)}"]}

    builder = StateGraph(State)
    builder.add_node("count", count)
    builder.add_node("done", lambda state: {"answer": f"{state['n']} counted", "log": ["done"]})
    builder.add_edge(START, "count")
    builder.add_conditional_edges("count", lambda state: "count" if state["n"] < 4 else "done", ["count", "done"])
    builder.add_edge("done", END)
    return builder


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_run_goes_on_where_it_failed(kind: str, tmp_path: Path) -> None:
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        graph = counting_graph(fail_at=[2]).compile(checkpointer=saver)
        with pytest.raises(RuntimeError, match="told to fail"):
            graph.invoke({"n": 0, "log": []}, config_of("s1"), durability="sync")
        assert graph.get_state(config_of("s1")).next == ("count",)
        final = graph.invoke(None, config_of("s1"), durability="sync")
    assert final == {"n": 4, "log": ["count 0", "count 1", "count 2", "count 3", "done"], "answer": "4 counted"}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_failed_run_goes_on_where_it_failed_async(kind: str, tmp_path: Path) -> None:
    async with aopen_checkpointer(spec_of(kind, tmp_path)) as saver:
        graph = counting_graph(fail_at=[2]).compile(checkpointer=saver)
        with pytest.raises(RuntimeError, match="told to fail"):
            await graph.ainvoke({"n": 0, "log": []}, config_of("s1"), durability="sync")
        final = await graph.ainvoke(None, config_of("s1"), durability="sync")
        assert final["log"] == ["count 0", "count 1", "count 2", "count 3", "done"]
        steps = [item.metadata["step"] async for item in saver.alist(config_of("s1"))]
    assert steps == [5, 4, 3, 2, 1, 0, -1]


@pytest.mark.parametrize("kind", LASTING)
def test_a_reopened_saver_knows_the_same_history(kind: str, tmp_path: Path) -> None:
    def history(saver: BaseCheckpointSaver[str]) -> list[Any]:
        return [*counting_graph().compile(checkpointer=saver).get_state_history(config_of("s1"))]

    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        counting_graph().compile(checkpointer=saver).invoke({"n": 0, "log": []}, config_of("s1"))
        before = history(saver)
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        after = history(saver)
    assert len(before) == 7
    assert after == before


@pytest.mark.parametrize("kind", LASTING)
def test_a_fork_from_an_old_step_in_a_reopened_saver(kind: str, tmp_path: Path) -> None:
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        counting_graph().compile(checkpointer=saver).invoke({"n": 0, "log": []}, config_of("s1"))
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        graph = counting_graph().compile(checkpointer=saver)
        old = next(item for item in graph.get_state_history(config_of("s1")) if item.values.get("n") == 2)
        forked = graph.update_state(old.config, {"log": ["by hand"]}, as_node="count")
        final = graph.invoke(None, forked)
        assert final["log"] == ["count 0", "count 1", "by hand", "count 2", "count 3", "done"]
        assert len([*graph.get_state_history(config_of("s1"))]) == 7 + 1 + 3
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        assert counting_graph().compile(checkpointer=saver).get_state(config_of("s1")).values == final


@pytest.mark.parametrize("kind", KINDS)
def test_interrupts_and_parallel_tasks(kind: str, tmp_path: Path) -> None:
    builder = StateGraph(State)
    builder.add_node("ask", lambda state: {"answer": interrupt("go on?"), "log": ["asked"]})
    builder.add_node("work", lambda item: {"log": [f"work {item}"]})
    builder.add_edge(START, "ask")
    builder.add_conditional_edges("ask", lambda state: [Send("work", number) for number in range(12)], ["work"])
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        graph = builder.compile(checkpointer=saver)
        graph.invoke({"log": []}, config_of("s1"), durability="sync")
    with open_checkpointer(spec_of(kind, tmp_path)) as other:
        graph = builder.compile(checkpointer=saver if kind == "memory" else other)
        assert [item.value for item in graph.get_state(config_of("s1")).interrupts] == ["go on?"]
        final = graph.invoke(Command(resume="yes"), config_of("s1"), durability="sync")
    assert final == {"answer": "yes", "log": ["asked", *(f"work {number}" for number in range(12))]}


class LargeState(TypedDict, total=False):
    n: int
    large: Annotated[list[str], operator.add]


@pytest.mark.parametrize("kind", KINDS)
async def test_concurrent_runs_with_large_values(kind: str, tmp_path: Path) -> None:
    builder = StateGraph(LargeState)
    builder.add_node("step", lambda state: {"n": state["n"] + 1, "large": [str(state["n"]) * 40_000]})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: END if state["n"] >= 4 else "step", ["step", END])
    expected = [str(number) * 40_000 for number in range(4)]
    async with aopen_checkpointer(spec_of(kind, tmp_path)) as saver:
        graph = builder.compile(checkpointer=saver)
        runs = [graph.ainvoke({"n": 0, "large": []}, config_of(str(n)), durability="sync") for n in range(8)]
        assert [final["large"] for final in await asyncio.gather(*runs)] == [expected] * 8
    async with aopen_checkpointer(spec_of(kind, tmp_path)) as other:
        graph = builder.compile(checkpointer=saver if kind == "memory" else other)
        for number in range(8):
            history = [item.values.get("large", []) async for item in graph.aget_state_history(config_of(str(number)))]
            assert history == [expected[:length] for length in (4, 3, 2, 1, 0, 0)]


def joined(left: list[str], writes: list[list[str]]) -> list[str]:
    return [*left, *(item for write in writes for item in write)]


class DeltaState(TypedDict):
    log: Annotated[list[str], DeltaChannel(joined, snapshot_frequency=3)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore")
def test_delta_channels(kind: str, tmp_path: Path) -> None:
    """Channels that are rebuilt from the pending writes of earlier checkpoints."""
    builder = StateGraph(DeltaState)
    for name in "abcde":
        builder.add_node(name, lambda state, name=name: {"log": [name]})
    for first, second in zip([START, *"abcde"], [*"abcde", END], strict=True):
        builder.add_edge(first, second)
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        builder.compile(checkpointer=saver).invoke({"log": ["in"]}, config_of("s1"), durability="sync")
    with open_checkpointer(spec_of(kind, tmp_path)) as other:
        graph = builder.compile(checkpointer=saver if kind == "memory" else other)
        assert graph.get_state(config_of("s1")).values == {"log": ["in", *"abcde"]}


@pytest.mark.parametrize("kind", KINDS)
def test_subgraphs_have_their_own_namespace(kind: str, tmp_path: Path) -> None:
    inner = StateGraph(State)
    inner.add_node("ask", lambda state: {"answer": interrupt("inside?")})
    inner.add_edge(START, "ask")
    outer = StateGraph(State)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "inner")
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        outer.compile(checkpointer=saver).invoke({"n": 1, "log": []}, config_of("s1"))
    with open_checkpointer(spec_of(kind, tmp_path)) as other:
        graph = outer.compile(checkpointer=saver if kind == "memory" else other)
        state = graph.get_state(config_of("s1"), subgraphs=True)
        assert state.tasks[0].state.next == ("ask",)
        assert graph.invoke(Command(resume="in"), config_of("s1"))["answer"] == "in"


@pytest.mark.parametrize("kind", LASTING)
def test_deleting_a_thread_lasts(kind: str, tmp_path: Path) -> None:
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        graph = counting_graph().compile(checkpointer=saver)
        for thread in ("keep", "drop"):
            graph.invoke({"n": 0, "log": []}, config_of(thread))
        saver.delete_thread("drop")
        assert saver.get_tuple(config_of("drop")) is None
    with open_checkpointer(spec_of(kind, tmp_path)) as saver:
        assert saver.get_tuple(config_of("drop")) is None
        assert len([*saver.list(config_of("keep"))]) == 7


# --- killed processes ---------------------------------------------------------------------------------------------

THREE_NODES = textwrap.dedent(
    """
    import operator, sys, time
    from pathlib import Path
    from typing import Annotated, TypedDict
    from langgraph.graph import END, START, StateGraph
    from loopwright.engine.checkpoints import open_checkpointer

    spec, journal, mode = sys.argv[1], Path(sys.argv[2]), sys.argv[3]

    class State(TypedDict):
        seen: Annotated[list[str], operator.add]

    def node(name):
        def run(state):
            with journal.open("a") as file:
                file.write(name + "\\n")
            if name == "two" and mode == "hang":
                time.sleep(60)
            return {"seen": [name]}
        return run

    builder = StateGraph(State)
    for name in ("one", "two", "three"):
        builder.add_node(name, node(name))
    for first, second in ((START, "one"), ("one", "two"), ("two", "three"), ("three", END)):
        builder.add_edge(first, second)
    config = {"configurable": {"thread_id": "sample 1"}}
    with open_checkpointer(spec) as saver:
        graph = builder.compile(checkpointer=saver)
        final = graph.invoke({"seen": []} if mode == "hang" else None, config, durability="sync")
    print(final["seen"])
    """
)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("kind", LASTING)
def test_a_killed_process_is_resumed_by_another(kind: str, tmp_path: Path) -> None:
    script, journal = tmp_path / "three_nodes.py", tmp_path / "journal.txt"
    script.write_text(THREE_NODES)
    command = [sys.executable, str(script), spec_of(kind, tmp_path), str(journal)]
    first = subprocess.Popen([*command, "hang"])
    deadline = time.monotonic() + 60
    while not (journal.exists() and "two" in journal.read_text()):
        assert first.poll() is None, "the process ended before its second node"
        assert time.monotonic() < deadline, "the process never came to its second node"
        time.sleep(0.01)
    os.kill(first.pid, signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL

    second = subprocess.run([*command, "resume"], capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode == 0, second.stderr
    assert journal.read_text().split() == ["one", "two", "two", "three"]
    assert second.stdout.strip() == "['one', 'two', 'three']"


KILLED_BETWEEN = textwrap.dedent(
    """
    import os, random, signal, sys
    from typing import Any, TypedDict
    from langgraph.graph import END, START, StateGraph
    from loopwright.engine.checkpoints import open_checkpointer, run_file, sqlite_blobs

    spec, kill_at = sys.argv[1], int(sys.argv[2])

    class State(TypedDict, total=False):
        n: int
        data: Any

    saves = 0

    def die_before(save):
        def instead(*arguments):
            global saves
            saves += 1
            if saves == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return save(*arguments)
        return instead

    # The large values are written by then, the checkpoint or the commit is not.
    run_file.replace = die_before(run_file.replace)
    write = sqlite_blobs.SqliteBlobs.write
    sqlite_blobs.SqliteBlobs.write = lambda self, connection, commit: write(self, connection, die_before(commit))

    builder = StateGraph(State)
    builder.add_node("step", lambda state: {"n": state["n"] + 1, "data": random.Random(state["n"]).randbytes(90_000)})
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: END if state["n"] >= 4 else "step", ["step", END])
    config = {"configurable": {"thread_id": "1"}}
    with open_checkpointer(spec) as saver:
        graph = builder.compile(checkpointer=saver)
        begun = graph.get_state(config).values
        final = graph.invoke(None if begun else {"n": 0, "data": b""}, config, durability="sync")
        for item in graph.get_state_history(config):
            n = item.values.get("n", 0)
            assert item.values.get("data", b"") == (random.Random(n - 1).randbytes(90_000) if n else b"")
    print(final["n"])
    """
)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("kill_at", [3, 4])
@pytest.mark.parametrize("kind", LASTING)
def test_a_kill_between_a_large_value_and_its_checkpoint(kind: str, kill_at: int, tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED_BETWEEN, spec_of(kind, tmp_path)]
    first = subprocess.run([*command, str(kill_at)], capture_output=True, text=True, timeout=120, check=False)
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = subprocess.run([*command, "0"], capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 0, second.stderr
    assert second.stdout.strip() == "4"


KILLED_OFTEN = textwrap.dedent(
    """
    import json, os, random, signal, sys, time
    from pathlib import Path
    from typing import TypedDict
    from langgraph.graph import START, StateGraph
    from loopwright.engine.checkpoints import JsonFileSaver

    folder, journal, rounds = Path(sys.argv[1]), Path(sys.argv[2]), random.Random(int(sys.argv[3]))
    config = {"configurable": {"thread_id": "often killed"}, "recursion_limit": 100_000}

    class State(TypedDict):
        n: int
        text: str

    def count(state):
        # This step runs, so the one that wrote state["n"] must be on the disk.
        with journal.open("a") as file:
            file.write(f"{state['n']}\\n")
        return {"n": state["n"] + 1, "text": "x" * rounds.randrange(2000)}

    builder = StateGraph(State)
    builder.add_node("count", count)
    builder.add_edge(START, "count")
    builder.add_edge("count", "count")

    def run():
        graph = builder.compile(checkpointer=JsonFileSaver(folder))
        begun = graph.get_state(config).values
        graph.invoke(None if begun else {"n": 0, "text": ""}, config, durability="sync")

    results = []
    # On a busy machine many are killed before they made a step.
    while len(results) < 20 or (results[-1][1] < 5 and len(results) < 300):
        child = os.fork()
        if child == 0:
            try:
                run()
            finally:
                os._exit(1)  # the graph never ends by itself
        time.sleep(rounds.uniform(0.01, 0.12))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        saver = JsonFileSaver(folder)
        found = saver.get_tuple(config)
        saved = found.checkpoint["channel_values"].get("n", 0) if found else -1
        listed = len([*saver.list(None)])
        started = [int(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        results.append([os.WTERMSIG(status), saved, max(started, default=-1), listed])
    print(json.dumps(results))
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_no_kill_leaves_an_unreadable_file_or_loses_a_step(tmp_path: Path) -> None:
    seed = random.randrange(10**6)
    script, folder = tmp_path / "killed_often.py", tmp_path / "runs"
    script.write_text(KILLED_OFTEN)
    command = [sys.executable, str(script), str(folder), str(tmp_path / "journal.txt"), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    results = json.loads(done.stdout)
    for killed_by, saved, started, listed in results:
        assert killed_by == signal.SIGKILL, f"seed {seed}: the process ended by itself"
        assert saved >= started, f"seed {seed}: step {started} had begun, but only {saved} was saved: {results}"
        assert listed > 0 or saved == -1
    counts = [saved for _, saved, _, _ in results]
    assert counts == sorted(counts), f"seed {seed}: a resumed run went back: {counts}"
    assert counts[-1] >= 5, f"seed {seed}: hardly any step was made: {counts}"
    assert len([*folder.glob("*.json")]) == 1
    assert len([*folder.glob(".*.tmp")]) <= len(results)
