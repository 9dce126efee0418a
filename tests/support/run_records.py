"""Kept runs made by hand: records, events, and a graph, for what is learnt from runs."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypedDict

from shapes import graph, loop

from loopwright import bounded
from loopwright.diagram.shown import ShownGraph, shown_graph
from loopwright.engine.events.schema import (
    ModelCalled,
    NodeFinished,
    NodeStarted,
    RunEvent,
    RunFinished,
    RunStarted,
    StateSaved,
)
from loopwright.runs.schemas import LoopPasses, Parent, RunRecord
from loopwright.runs.store import KeptEvent, NewEvents, RunStore
from loopwright.workflows.api import Citation, Outcome

BEGAN = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def run_record(run_id: str = "run-1", **changes: Any) -> RunRecord:
    """A run of the workflow ``writer`` that finished; `answer` and `citations` go into its outcome."""
    outcome = Outcome(
        answer=changes.pop("answer", "Blue."),
        status=changes.get("outcome_status", "answered"),
        quality=changes.get("quality"),
        citations=changes.pop("citations", ()),
    )
    fields: dict[str, Any] = {
        "id": run_id,
        "workflow": "writer",
        "title": "Which colour?",
        "status": "finished",
        "outcome_status": outcome.status,
        "started_at": BEGAN,
        "seconds": 1.0,
        "input": {"question": "Which colour?"},
        "outcome": outcome,
        **changes,
    }
    loops = fields.get("loops", ())
    fields.setdefault("passes", {loop.loop: loop.passes for loop in loops})
    return RunRecord(**fields)


def loop_passes(passes: int, loop: str = "retry", **fields: Any) -> LoopPasses:
    return LoopPasses(loop=loop, passes=passes, **{"limit": 2, **fields})


def counterfactual(parent: str, loop: str = "retry", checkpoint: str = "c1") -> Parent:
    return Parent(run_id=parent, checkpoint_id=checkpoint, step=1, kind="counterfactual", loop=loop)


def citation(mark: str, title: str = "A source", **fields: Any) -> Citation:
    return Citation(mark=mark, title=title, **fields)


class Call(TypedDict):
    """What a model was asked."""

    tokens: int
    cost: float | None


def path_events(
    nodes: Sequence[str], *, resumed: bool = False, calls: dict[int, Call] | None = None, prefix: str = "c"
) -> list[RunEvent]:
    """The events of a run through these nodes, a second and a checkpoint each, with calls of models within some."""
    at, events = BEGAN, list[RunEvent]()
    events.append(RunStarted(at=at, graph="writer", thread_id="run-1", resumed=resumed))
    for number, node in enumerate(nodes):
        events.append(NodeStarted(at=at, node=node, task_id=str(number), visit=1))
        at += timedelta(seconds=1)
        if calls and number in calls:
            call = calls[number]
            asked = ModelCalled(
                at=at, node=node, model="m", messages=[], reply="", seconds=0.5, input_tokens=call["tokens"],
                output_tokens=0, cost=call["cost"],
            )  # fmt: skip
            events.append(asked)
        events.append(NodeFinished(at=at, node=node, task_id=str(number), visit=1, seconds=1.0, update={}))
        following = [*nodes[number + 1 : number + 2]]
        events.append(StateSaved(at=at, step=number, checkpoint_id=f"{prefix}{number}", next=following))
    events.append(RunFinished(at=at, seconds=float(len(nodes)), stop_reason=None))
    return events


def small_graph() -> ShownGraph:
    """A graph with one loop."""
    made = graph("START-write write-check check?write check?END")
    return shown_graph(bounded(made, loops=[loop("retry", "check", "write", 2)]))


def keep(store: RunStore, run: RunRecord, events: Sequence[RunEvent], client: Sequence[KeptEvent] = ()) -> None:
    """Put a run with its events into a history."""
    kept = [KeptEvent(number, event.type, event.model_dump_json()) for number, event in enumerate(events, 1)]
    store.create(run, small_graph())
    store.write(
        [run.model_copy(update={"events": len(kept)})],
        [NewEvents(run.id, "run", kept), NewEvents(run.id, "client", client)],
    )
