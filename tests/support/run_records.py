"""Kept runs made by hand, records and events, for what is learnt from runs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypedDict

from run_histories import BEGIN, a_run

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
from loopwright.workflows.api import Citation, Outcome


def run_record(run_id: str = "run-1", **changes: Any) -> RunRecord:
    """A run of the workflow ``writer`` that finished; `answer` and `citations` go into its outcome."""
    outcome = Outcome(
        answer=changes.pop("answer", "Blue."),
        status=changes.get("outcome_status", "answered"),
        quality=changes.get("quality"),
        citations=changes.pop("citations", ()),
    )
    fields: dict[str, Any] = {
        "workflow": "writer",
        "title": "Which colour?",
        "outcome_status": outcome.status,
        "seconds": 1.0,
        "input": {"question": "Which colour?"},
        "outcome": outcome,
        **changes,
    }
    fields.setdefault("passes", {loop.loop: loop.passes for loop in fields.get("loops", ())})
    return a_run(run_id, **fields)


def loop_passes(passes: int, **fields: Any) -> LoopPasses:
    return LoopPasses(loop="retry", passes=passes, **{"limit": 2, **fields})


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
    at, events = BEGIN + timedelta(hours=resumed), list[RunEvent]()
    events.append(RunStarted(at=at, graph="writer", thread_id="run-1", resumed=resumed))
    for number, node in enumerate(nodes):
        events.append(NodeStarted(at=at, node=node, task_id=f"{prefix}{number}", visit=1))
        at += timedelta(seconds=1)
        if calls and number in calls:
            call = calls[number]
            asked = ModelCalled(
                at=at, node=node, model="m", messages=[], reply="", seconds=0.5, input_tokens=call["tokens"],
                output_tokens=0, cost=call["cost"],
            )  # fmt: skip
            events.append(asked)
        events.append(NodeFinished(at=at, node=node, task_id=f"{prefix}{number}", visit=1, seconds=1.0, update={}))
        following = [*nodes[number + 1 : number + 2]]
        events.append(StateSaved(at=at, step=number, checkpoint_id=f"{prefix}{number}", next=following))
    events.append(RunFinished(at=at, seconds=float(len(nodes)), stop_reason=None))
    return events
