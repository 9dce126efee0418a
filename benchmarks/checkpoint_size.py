"""What large states cost on disk and in time: LangGraph's SqliteSaver as it is, ours, and the JSON saver.

    python benchmarks/checkpoint_size.py [--write]

A graph of one node that goes round a hundred times with 100 KB of state. In the first three states those 100 KB stay
as they are and a counter changes; the fourth is a list that grows by a message of 1 KB at each step; in the last all
100 KB are new at each step, so that nothing can be gained. Each run has a fresh folder below the current one and saves
each step before the next (``durability="sync"``); all runs are made in turn. Bytes are those of all files after
closing. Times are those on the clock, because waiting for the disk is part of the cost, and those of the processor.
"""

from __future__ import annotations

import operator
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, TypedDict

from common import machine, main
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

from loopwright.checkpoints import open_checkpointer

TITLE = "Size of checkpoints"
STEPS = 100
SIZE = 100_000
REPETITIONS = 7
MOST_MEGABYTES = 0.5


class Report(BaseModel):
    """A model that holds the state."""

    title: str
    body: list[str]


class State(TypedDict, total=False):
    """A counter, and what is large."""

    n: int
    data: Any
    log: Annotated[list[dict[str, Any]], operator.add]


def words(size: int, seed: int) -> str:
    """Text of some length that does not repeat."""
    chance = random.Random(seed)
    text = " ".join(f"{chance.randrange(16**6):x}" for _ in range(size // 5))
    return text[:size]


def records() -> list[dict[str, Any]]:
    """A list of dicts, 100 KB in all."""
    return [{"id": number, "score": number / 7, "text": words(60, number)} for number in range(SIZE // 90)]


TEXTS = [words(SIZE, seed) for seed in range(STEPS + 1)]

STATES: dict[str, Callable[[], Any]] = {
    "text, unchanged": lambda: words(SIZE, 1),
    "list of dicts, unchanged": records,
    "pydantic model, unchanged": lambda: Report(title="a", body=[words(1000, n) for n in range(SIZE // 1000)]),
    "messages, one more each step": lambda: None,
    "text, new each step": lambda: words(SIZE, 1),
}


def graph_of(state: str) -> StateGraph[State]:
    """A node that goes round."""

    def step(values: State) -> State:
        number = values["n"] + 1
        if state == "messages, one more each step":
            return {"n": number, "log": [{"role": "user", "content": words(1000, number)}]}
        if state == "text, new each step":
            return {"n": number, "data": TEXTS[number % len(TEXTS)]}
        return {"n": number}

    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda values: END if values["n"] >= STEPS else "step", ["step", END])
    return graph


@contextmanager
def plain_sqlite(folder: Path) -> Any:
    """LangGraph's saver as it is."""
    with closing(sqlite3.connect(folder / "runs.db", check_same_thread=False)) as connection:
        saver = SqliteSaver(connection)
        saver.setup()  # before the clock runs, as ours does
        yield saver


SAVERS: dict[str, Callable[[Path], AbstractContextManager[BaseCheckpointSaver[Any]]]] = {
    "SqliteSaver": plain_sqlite,
    "ours, sqlite:FILE": lambda folder: open_checkpointer(f"sqlite:{folder / 'runs.db'}"),
    "ours, json:DIR": lambda folder: open_checkpointer(f"json:{folder / 'runs'}"),
}


@dataclass
class Measured:
    """What one saver takes for one state."""

    bytes: int = 0
    """On disk after the run."""
    wall: list[float] = field(default_factory=list[float])
    """Seconds for all steps, one for each repetition."""
    processor: list[float] = field(default_factory=list[float])
    """Of these, how long a processor was busy."""


def times(ours: list[float], theirs: list[float]) -> str:
    """How long ours takes, in times of theirs: the least, and the medians."""
    return f"{min(ours) / min(theirs):.2f} ({statistics.median(ours) / statistics.median(theirs):.2f})"


def run(state: str, saver: str, measured: Measured) -> None:
    """Run once in a fresh folder."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        with SAVERS[saver](folder) as opened:
            graph = graph_of(state).compile(checkpointer=opened)
            given: State = {"n": 0, "data": STATES[state]()}
            config: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": STEPS + 10}
            began = time.perf_counter(), time.process_time()
            graph.invoke(given, config, durability="sync")
            measured.wall.append(time.perf_counter() - began[0])
            measured.processor.append(time.process_time() - began[1])
        measured.bytes = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def report(repetitions: int = REPETITIONS) -> str:
    """Measure, and show the figures as Markdown."""
    table = {(state, saver): Measured() for state in STATES for saver in SAVERS}
    for _ in range(repetitions):
        for (state, saver), measured in table.items():
            run(state, saver, measured)
    plain, ours, files = SAVERS
    rows = [
        f"| MB on disk | {plain} | {ours} | {files} | at most | ours, times as long as {plain} | its processor time "
        f"| {files}, times as long | its processor time | {plain}, ms for a step, median |",
        "|---" * 10 + "|",
    ]
    for state in STATES:
        by = {saver: table[state, saver] for saver in SAVERS}
        cells = [f"{measured.bytes / 1e6:.2f}" for measured in by.values()]
        cells.append(f"{MOST_MEGABYTES}" if "unchanged" in state else "-")
        for saver in (ours, files):
            cells += [times(by[saver].wall, by[plain].wall), times(by[saver].processor, by[plain].processor)]
        cells.append(f"{statistics.median(by[plain].wall) / STEPS * 1e3:.2f}")
        rows.append(f"| {state} | {' | '.join(cells)} |")
    rows += [
        "",
        f"{machine()}, LangGraph {version('langgraph')}; {STEPS} steps, {repetitions} repetitions in turn. "
        "Times of the least, in brackets of the median.",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    main(TITLE, __doc__, report, REPETITIONS)
