"""What `server_load.py` measures: servers in processes of their own, and the run histories that they begin with."""

from __future__ import annotations

import asyncio
from contextlib import closing
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypedDict

from loopwright import Loop, bounded
from loopwright.engine.events.schema import NodeFinished, NodeStarted, RunEvent, RunFinished, RunStarted
from loopwright.runs.schemas import LoopPasses, RunRecord
from loopwright.runs.store import KeptEvent, NewEvents, open_runs
from loopwright.workflows.api import Outcome, Workflow

TICKS = 1000
"""The most ticks of a run."""
LONG = "long-run"
"""The id of the run with many events."""
WORDS = "harbour lantern meadow granite orchard velvet cinder willow anchor thistle".split()
"""What the titles of kept runs are made of."""


class Ticks(TypedDict):
    """The state of a run that ticks."""

    count: int
    """How many ticks there shall be."""
    pause: float
    """Seconds before each."""
    ticks: int
    """How many there were."""
    text: str
    """What the last one said."""


async def tick(state: Ticks) -> dict[str, Any]:
    """Wait, and say something."""
    await asyncio.sleep(state["pause"])
    ticks = state.get("ticks", 0) + 1
    return {"ticks": ticks, "text": f"tick {ticks}: {' '.join(WORDS)}"}


def ticker() -> Workflow:
    """A workflow with one loop, which goes round as often as it is told."""
    from langgraph.graph import END, START, StateGraph

    from loopwright.workflows.user_graph import UserGraph

    graph = StateGraph(Ticks)
    graph.add_node("tick", tick)
    graph.add_edge(START, "tick")
    graph.add_conditional_edges(
        "tick", lambda state: "tick" if state["ticks"] < state["count"] else END, ["tick", END]
    )  # fmt: skip
    again = Loop(name="again", target="tick", sources=("tick",), limit=TICKS)
    return UserGraph("ticker", bounded(graph, loops=[again]))


def serve_history(ready: Connection, folder: str) -> None:
    """A server of the ticker whose history is in a folder, until it is killed; no run waits for another one's end."""
    from loopwright.server.serving import Serving, serve
    from loopwright.server.settings import ServerSettings

    settings = ServerSettings(data=Path(folder), reads_per_minute=0, starts_per_minute=0)
    serve(
        Serving(workflows=[ticker()], settings=settings, max_running=1000),
        port=0,
        started=lambda address: ready.send(int(address.rpartition(":")[2])),
    )


def fill(folder: Path, runs: int, events: int) -> None:
    """Give a history some runs, and one run with many events.

    Args:
        folder: Where the history is.
        runs: How many runs.
        events: How many events the one run has.
    """
    began = datetime(2026, 1, 1, tzinfo=UTC)
    graph = ticker().shown()
    with closing(open_runs(f"sqlite:{folder / 'runs.db'}")) as store:
        for number in range(runs):
            run = _run(f"run-{number}", number, began + timedelta(seconds=number))
            store.create(run, graph)
            store.write(events=[NewEvents(run.id, "run", _kept(_events(8)))])
        store.create(_run(LONG, 0, began).model_copy(update={"events": events}), graph)
        store.write(events=[NewEvents(LONG, "run", _kept(_events(events)))])


def _run(run_id: str, number: int, at: datetime) -> RunRecord:
    question = " ".join(WORDS[(number // 10**place) % 10] for place in range(4))
    passes = number % 4
    return RunRecord(
        id=run_id, workflow="ticker", title=question, status="failed" if number % 17 == 0 else "finished",
        outcome_status="answered", started_at=at, ended_at=at + timedelta(seconds=1), seconds=1.0, events=8,
        stop_reason="again" if passes == 3 else None, input={"question": question},
        outcome=Outcome(answer=f"About {question}: {' '.join(WORDS)}.", status="answered"),
        passes={"again": passes}, loops=(LoopPasses(loop="again", passes=passes, limit=3),),
        path=("tick",) * (passes + 1),
    )  # fmt: skip


def _events(count: int) -> list[RunEvent]:
    events: list[RunEvent] = [RunStarted(graph="ticker", thread_id=LONG, resumed=False)]
    for number in range((count - 2) // 2):
        name, visit = str(number), number + 1
        events.append(NodeStarted(node="tick", task_id=name, visit=visit))
        update = {"ticks": visit, "text": f"tick {visit}: {' '.join(WORDS)}"}
        events.append(NodeFinished(node="tick", task_id=name, visit=visit, seconds=0.01, update=update))
    return [*events, RunFinished(seconds=1.0, stop_reason=None)]


def _kept(events: list[RunEvent]) -> list[KeptEvent]:
    return [KeptEvent(number, event.type, event.model_dump_json()) for number, event in enumerate(events, 1)]
