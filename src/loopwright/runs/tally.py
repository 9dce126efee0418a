"""Keeps a run's record up to date with its events: the path, what each loop did, what was asked of models."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from loopwright.engine.events.reasons import stops_of
from loopwright.engine.events.schema import (
    LoopDecided,
    ModelCalled,
    NodeFinished,
    NodeStarted,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSaved,
)
from loopwright.runs.schemas import LoopPasses, UsageRow


@dataclass
class _Spent:
    """What was asked of models."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unmetered_calls: int = 0
    cost: float | None = 0.0

    def add(self, call: ModelCalled) -> None:
        self.calls += 1
        self.input_tokens += call.input_tokens or 0
        self.output_tokens += call.output_tokens or 0
        self.unmetered_calls += call.input_tokens is None
        self.cost = None if self.cost is None or call.cost is None else self.cost + call.cost


@dataclass
class _Looped:
    """What one loop did."""

    limit: int = 0
    decided: dict[tuple[str, int], bool] = field(default_factory=dict[tuple[str, int], bool])
    """The visit around it and the superstep of each decision -> whether it granted a pass."""
    refused: Literal["exhausted", "stalled", "over_budget"] | None = None
    seconds: float = 0.0
    spent: _Spent = field(default_factory=_Spent)
    last: LoopDecided | None = None
    """The last decision."""
    before: dict[str, Any] | None = None
    """How it stood before that one; None once a process that is killed does not take it back any more."""

    @property
    def passes(self) -> int:
        return sum(self.decided.values())


class Tally:
    """The figures of one run, from the events that are kept of it."""

    def __init__(self) -> None:
        self._run = _Looped()
        self._usage: dict[tuple[str | None, str], _Spent] = {}
        self._loops: dict[str, _Looped] = {}
        self._path: dict[str, str] = {}  # task -> its node, in the order in which they began
        self._stop_reason: str | None = None
        self._open: list[_Looped] = []
        """The loops whose passes go on, each within the one before; what is used counts for the run and the last."""
        self._last: datetime | None = None
        self._ended = False

    def see(self, event: RunEvent) -> None:
        """Take in an event of the run's log; they are given in order."""
        # While the run stood still, no time passed in it.
        if self._last and not self._ended and not isinstance(event, RunStarted):
            passed = max(0.0, (event.at - self._last).total_seconds())
            for each in (self._run, *self._open[-1:]):
                each.seconds += passed
        self._ended = isinstance(event, RunFinished | RunFailed) or (self._ended and not isinstance(event, RunStarted))
        match event:
            case RunStarted():
                self._go_on()
            case NodeStarted():
                self._path.setdefault(event.task_id, event.node)
            case ModelCalled():
                for each in (self._run, *self._open[-1:]):
                    each.spent.add(event)
                self._usage.setdefault((event.node, event.model), _Spent()).add(event)
            case LoopDecided():
                self._decided(event)
            case NodeFinished() | StateSaved():
                self._keep(event)
            case RunFinished():
                # Of several in one superstep the first.
                self._stop_reason = next((stop["loop"] for stop in stops_of(event.stop_reason)), None)
            case _:
                pass
        self._last = max(event.at, self._last or event.at)

    def figures(self) -> dict[str, Any]:
        """The fields of a `RunRecord` that follow from the events so far."""
        loops = [
            LoopPasses(
                loop=name, passes=loop.passes, limit=loop.limit, refused=loop.refused, seconds=loop.seconds,
                tokens=loop.spent.input_tokens + loop.spent.output_tokens, cost=loop.spent.cost,
            )
            for name, loop in self._loops.items()
        ]  # fmt: skip
        rows = [UsageRow(node=node, model=model, **vars(used)) for (node, model), used in self._usage.items()]
        spent = self._run.spent
        return {
            "path": (*self._path.values(),), "usage": (*rows,), "loops": (*loops,),
            "passes": {loop.loop: loop.passes for loop in loops}, "stop_reason": self._stop_reason,
            "seconds": self._run.seconds, "model_calls": spent.calls, "unmetered_calls": spent.unmetered_calls,
            "tokens": spent.input_tokens + spent.output_tokens, "cost": spent.cost,
        }  # fmt: skip

    def _go_on(self) -> None:
        self._stop_reason = None
        for loop in self._loops.values():
            # No checkpoint holds what it decided last, so the ledger does not know of it. Of a graph inside a node none
            # is told of: what such a one decides again counts once by its superstep.
            if loop.before is not None and loop.last and not loop.last.within:
                loop.decided.pop(("", loop.last.step), None)
                vars(loop).update(loop.before, before=None, last=None)
                self._open = [each for each in self._open if each is not loop]

    def _keep(self, event: NodeFinished | StateSaved) -> None:
        for loop in self._loops.values():
            last = loop.last
            if last and (
                event.step >= last.step if isinstance(event, StateSaved) else event.node == f"loop.{last.loop}"
            ):
                loop.before = None
        # With its visit, a graph inside a node ends, and the pass that goes on in it.
        if isinstance(event, NodeFinished):
            self._open = [loop for loop in self._open if not loop.last or loop.last.within != event.task_id]

    def _decided(self, event: LoopDecided) -> None:
        self._open = [loop for loop in self._open if event.within and loop.last and loop.last.within != event.within]
        loop = self._loops.setdefault(event.loop, _Looped())
        place = event.within, event.step
        if place in loop.decided and loop.before is not None and not event.within:
            vars(loop).update(loop.before)  # a gate that was cut off decides again: that is one decision
        loop.before = None if event.kept else {"limit": loop.limit, "refused": loop.refused}
        loop.last, loop.limit = event, event.limit
        # A target's first visit may be granted, too, and is no pass.
        loop.decided[place] = event.decision == "granted" and event.spent > 0
        if event.decision != "granted":
            loop.refused = event.decision
        elif event.spent:
            self._open.append(loop)
