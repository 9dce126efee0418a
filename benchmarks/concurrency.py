"""What bounds cost where many runs share one process: 1,000 runs at once of a looped graph, against plain LangGraph.

    python benchmarks/concurrency.py [--write]

Both graphs go ``a -> b -> c`` and round again, each run as often as its own input says; what stands on the way back is
Loopwright's gate in one and a node that counts in the other, so that both take the same supersteps. All runs are
gathered on one event loop and one compiled graph, without a saver and with each of LangGraph's own; the two graphs are
run in turn. After each repetition every run's end is compared with what its input asked for: a number, a note or a
ledger of another run is an error, and no figure is shown.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import operator
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from common import machine, main
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from loopwright.engine import Loop, StateLimit, bounded
from loopwright.engine.ledger import LEDGER

TITLE = "Concurrent runs"
RUNS = 1000
REPETITIONS = 3
LIMITS = 4
"""Run number `i` may go round `i` modulo this many times."""
TARGET = 0.9


class State(TypedDict):
    """One run's own values."""

    run: int
    """The run's number."""
    limit: int
    """How many more passes it may take."""
    count: int
    """How many it took, as the graph counts them."""
    trail: Annotated[list[str], operator.add]
    """Which nodes ran, each with the run's number."""


def node(name: str) -> Callable[[State], Any]:
    """A node that gives way to the other runs, as one that waits for a model does, and leaves its trace."""

    async def work(state: State) -> dict[str, list[str]]:
        await asyncio.sleep(0)
        return {"trail": [f"{name}{state['run']}"]}

    return work


async def counting(state: State) -> dict[str, int]:
    """What stands in the gate's place in plain LangGraph."""
    return {"count": state["count"] + 1}


def line() -> StateGraph[Any]:
    """``a -> b -> c``."""
    graph = StateGraph(State)
    for name, before in (("a", START), ("b", "a"), ("c", "b")):
        graph.add_node(name, node(name))
        graph.add_edge(before, name)
    return graph


def plain(saver: Any) -> Any:
    """The loop with a counter by hand, in a node of its own."""
    graph = line()
    graph.add_node("d", counting)
    graph.add_edge("c", "d")
    graph.add_conditional_edges("d", lambda state: "a" if state["count"] <= state["limit"] else END, ["a", END])
    return graph.compile(checkpointer=saver)


def gated(saver: Any) -> Any:
    """The loop with a bound that is read from the state."""
    graph = line()
    graph.add_edge("c", "a")
    limit = StateLimit(key="limit", default=0, ceiling=LIMITS)
    loop = Loop(name="again", target="a", sources=("c",), limit=limit, counter="count")
    return bounded(graph, [loop], checkpointer=saver)


Maker = Callable[[Any], Any]
"""Compiles one of the two graphs with a saver."""

VARIANTS: dict[str, Maker] = {"plain": plain, "bounded": gated}
"""The two graphs that are compared."""


@dataclass
class Setting:
    """A saver, and how often it writes."""

    name: str
    """In words."""
    saver: Callable[[], Any]
    """Opens it, empty."""
    durability: str | None = None
    """When checkpoints are written; None without a saver."""
    wall: dict[str, list[float]] = field(default_factory=dict)
    """Graph -> wall seconds of each repetition."""
    cpu: dict[str, list[float]] = field(default_factory=dict)
    """Graph -> seconds of processor time of each repetition, the saver's threads included."""

    def ratio(self, seconds: dict[str, list[float]]) -> float:
        """How the bounded graph's throughput compares with the plain one's: the median over repetitions."""
        pairs = zip(seconds["plain"], seconds["bounded"], strict=True)
        return statistics.median(plain / bounded for plain, bounded in pairs)


@asynccontextmanager
async def nothing() -> AsyncIterator[None]:
    """No saver."""
    yield None


@asynccontextmanager
async def in_memory() -> AsyncIterator[InMemorySaver]:
    """A fresh saver in memory."""
    yield InMemorySaver()


@asynccontextmanager
async def in_sqlite() -> AsyncIterator[AsyncSqliteSaver]:
    """A saver with a fresh file."""
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(str(Path(folder) / "runs.sqlite")) as saver:
            yield saver


def settings() -> list[Setting]:
    """Every saver that is measured."""
    return [
        Setting("no saver", nothing),
        Setting("InMemorySaver, sync", in_memory, "sync"),
        Setting("InMemorySaver, exit", in_memory, "exit"),
        Setting("AsyncSqliteSaver, sync", in_sqlite, "sync"),
        Setting("AsyncSqliteSaver, exit", in_sqlite, "exit"),
    ]


async def repetition(setting: Setting, make: Maker, runs: int) -> tuple[float, float]:
    """All runs at once; the seconds of wall time and of processor time that they took.

    Raises:
        AssertionError: If a run ended with anything but its own values.
    """
    options: dict[str, Any] = {"durability": setting.durability} if setting.durability else {}
    async with setting.saver() as saver:
        graph = make(saver)
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        ends = await asyncio.gather(
            *(
                graph.ainvoke(
                    {"run": run, "limit": run % LIMITS, "count": 0, "trail": []},
                    {"configurable": {"thread_id": str(run)}},
                    **options,
                )
                for run in range(runs)
            )
        )
        took = time.perf_counter() - wall, time.process_time() - cpu
        for run, end in enumerate(ends):
            check(end, run, with_gate=make is gated)
            if saver is not None and make is gated:
                await check_ledger(saver, run)
    return took


def check(end: dict[str, Any], run: int, *, with_gate: bool) -> None:
    """Compare a run's end with what its input asked for.

    Raises:
        AssertionError: If they differ.
    """
    limit = run % LIMITS
    # The gate counts granted passes; the node in its place counts how often it was asked.
    wanted = {"run": run, "limit": limit, "count": limit if with_gate else limit + 1,
              "trail": [f"{name}{run}" for name in "abc"] * (limit + 1)}  # fmt: skip
    found = {key: end[key] for key in wanted}
    assert found == wanted, f"run {run}: {found} instead of {wanted}"
    if with_gate:
        stop = end["stop_reason"]
        assert (stop["loop"], stop["limit"], stop["spent"]) == ("again", limit, limit), f"run {run}: {stop}"


async def check_ledger(saver: Any, run: int) -> None:
    """Compare what the saver kept of a run's ledger with its limit.

    Raises:
        AssertionError: If they differ.
    """
    kept = await saver.aget_tuple({"configurable": {"thread_id": str(run)}})
    ledger = kept.checkpoint["channel_values"][LEDGER]
    entry, limit = ledger["again"], run % LIMITS
    found = entry["spent"], entry["limit"], entry["refused"]
    assert found == (limit, limit, 1), f"run {run}: {ledger}"


def measure(setting: Setting, repetitions: int, runs: int) -> None:
    """Run both graphs in turn, once to warm up and then as often as asked; every other time the bounded one first."""
    order = list(VARIANTS.items())
    for _name, make in order:
        asyncio.run(repetition(setting, make, min(runs, 50)))
    for _ in range(repetitions):
        for name, make in order:
            wall, cpu = asyncio.run(repetition(setting, make, runs))
            setting.wall.setdefault(name, []).append(wall)
            setting.cpu.setdefault(name, []).append(cpu)
        order.reverse()


def report(repetitions: int = REPETITIONS, runs: int = RUNS) -> str:
    """Measure, and show the figures as Markdown."""
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    rows = [
        "| saver | plain, runs per second, most | median | bounded, most | median | of plain, median | by CPU time |",
        "|---|---|---|---|---|---|---|",
    ]
    verdicts: list[str] = []
    for setting in settings():
        measure(setting, repetitions, runs)
        taken = [setting.wall[name] for name in VARIANTS]
        speeds = [runs / seconds for wall in taken for seconds in (min(wall), statistics.median(wall))]
        ratio = setting.ratio(setting.wall)
        rows.append(
            f"| {setting.name} | {' | '.join(f'{speed:.0f}' for speed in speeds)} | {ratio:.2f} | "
            f"{setting.ratio(setting.cpu):.2f} |"
        )
        met = "met" if ratio >= TARGET else "missed"
        verdicts.append(f"- {setting.name}: {ratio:.2f} against a target of at least {TARGET}: {met}")
    supersteps = statistics.mean(4 * (run % LIMITS + 1) for run in range(runs))
    verdicts.append("- cross-talk: none; every run's state, stop reason and kept ledger were compared with its input")
    about = (
        f"{machine()}, LangGraph {version('langgraph')}; {runs:,} runs gathered, {supersteps:.0f} supersteps each on "
        f"average in both graphs, {repetitions} repetitions, interleaved, wall time."
    )
    return "\n".join([*rows, "", *verdicts, "", about])


if __name__ == "__main__":
    main(TITLE, __doc__, REPETITIONS, report)
