"""One contract for every checkpoint saver: LangGraph's own conformance suite, real graphs, and killed processes."""

from __future__ import annotations

import asyncio
import hashlib
import operator
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import BASE_CAPABILITIES
from langgraph.graph import END, START, StateGraph
from postgres import postgres_server  # noqa: F401

from loopwright.checkpoints import aopen_checkpointer, sqlite

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
async def test_conforms(kind: str, tmp_path: Path, spec_of: SpecOf) -> None:
    rounds = iter(range(100))

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        async with aopen_checkpointer(spec_of(kind, tmp_path / str(next(rounds)))) as saver:
            yield saver

    await conformance(kind, factory)


async def test_conforms_when_every_value_is_stored_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "LARGE", 0)
    rounds = iter(range(100))

    async def factory() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        async with aopen_checkpointer(f"sqlite:{tmp_path}/{next(rounds)}.db") as saver:
            yield saver

    await conformance("sqlite, values apart", factory)


# --- real graphs -------------------------------------------------------------------------------------------------


class LargeState(TypedDict, total=False):
    n: int
    large: Annotated[list[str], operator.add]


@pytest.mark.parametrize("kind", KINDS)
async def test_concurrent_runs_with_large_values(kind: str, tmp_path: Path, spec_of: SpecOf) -> None:
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


# --- killed processes ---------------------------------------------------------------------------------------------


KILLED_BETWEEN = textwrap.dedent(
    """
    import os, random, signal, sys
    from typing import Any, TypedDict
    from langgraph.graph import END, START, StateGraph
    from loopwright.checkpoints import json_files, open_checkpointer, postgres, sqlite

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
    json_files._replace = die_before(json_files._replace)
    for of in (sqlite.SqliteSaver, postgres.PostgresSaver):
        of.put = die_before(of.put)

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
def test_a_kill_between_a_large_value_and_its_checkpoint(
    kind: str, kill_at: int, tmp_path: Path, spec_of: SpecOf
) -> None:
    command = [sys.executable, "-c", KILLED_BETWEEN, spec_of(kind, tmp_path)]
    first = subprocess.run([*command, str(kill_at)], capture_output=True, text=True, timeout=120, check=False)
    assert first.returncode == -signal.SIGKILL, first.stderr
    second = subprocess.run([*command, "0"], capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 0, second.stderr
    assert second.stdout.strip() == "4"
