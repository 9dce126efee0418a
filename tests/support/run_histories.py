"""What tests of the run history share: runs, graphs, events."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from loopwright.diagram.shown import ShownGraph, ShownNode
from loopwright.engine.proof.certificate import Certificate
from loopwright.runs.schemas import Channel, Parent, RunRecord
from loopwright.runs.store import KeptEvent, NewEvents
from loopwright.workflows.api import Outcome

BEGIN = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def shown(name: str = "g") -> ShownGraph:
    """A graph with one node of its own name."""
    node = ShownNode(name=name, kind="node", label=f"Node {name} ✓", max_runs=3)
    return ShownGraph(name=name, nodes=(node,), edges=(), loops=(), certificate=Certificate(bounded=True))


def a_run(id: str = "r1", *, minute: float = 0, answer: str | None = None, **fields: Any) -> RunRecord:
    """A run that began so many minutes after `BEGIN`; finished unless it says otherwise."""
    given: dict[str, Any] = {"workflow": "w", "title": "", "status": "finished", "input": {}}
    given["started_at"] = BEGIN + timedelta(minutes=minute)
    given["outcome"] = None if answer is None else Outcome(answer=answer)
    return RunRecord(id=id, **given | fields)


def forked_from(id: str) -> Parent:
    return Parent(run_id=id, checkpoint_id="c", step=2, kind="fork", edited=("queries",))


def kept(numbers: Iterable[int]) -> list[KeptEvent]:
    return [KeptEvent(seq, f"name{seq % 3}", f'{{"type":"name{seq % 3}","n":{seq}}}') for seq in numbers]


def news(id: str, numbers: Iterable[int], channel: Channel = "run", epoch: int = 0) -> NewEvents:
    return NewEvents(id, channel, kept(numbers), epoch)
