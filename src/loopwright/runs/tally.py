"""Keeps a run's record up to date with its events: the path, what each loop did, what was asked of models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from loopwright.engine.events.schema import (
    LoopDecided,
    ModelCalled,
    NodeFinished,
    NodeStarted,
    RunEvent,
    RunFinished,
    RunStarted,
    StateSaved,
)
from loopwright.engine.gate import is_engine_node
from loopwright.runs.schemas import LoopPasses, RunRecord, UsageRow


@dataclass
class _Spent:
    """What was asked of models."""

    calls: int = 0
    input: int = 0
    output: int = 0
    unmetered: int = 0
    cost: float | None = 0.0

    def add(self, call: ModelCalled) -> None:
        self.calls += 1
        self.input += call.input_tokens or 0
        self.output += call.output_tokens or 0
        self.unmetered += call.input_tokens is None
        self.cost = None if self.cost is None or call.cost is None else self.cost + call.cost


@dataclass
class _Looped:
    """What one loop did."""

    limit: int = 0
    passes: int = 0
    refused: Literal["exhausted", "stalled", "over_budget"] | None = None
    seconds: float = 0.0
    spent: _Spent = field(default_factory=_Spent)
    last: LoopDecided | None = None
    """The last decision."""
    before: dict[str, Any] | None = None
    """How it stood before that one; None once a process that is killed does not take it back any more."""


class Tally:
    """The figures of one run, from the events that are kept of it."""

    def __init__(self) -> None:
        self._spent = _Spent()
        self._usage: dict[tuple[str | None, str], _Spent] = {}
        self._loops: dict[str, _Looped] = {}
        self._path: list[str] = []
        self._tasks: set[str] = set()
        self._stop_reason: str | None = None
        self._pass: tuple[_Looped, datetime] | None = None
        """The loop whose pass goes on, and since when."""
        self._last: datetime | None = None

    def see(self, event: RunEvent) -> bool:
        """Take in an event.

        Args:
            event: An event of the run's log; they are given in order.

        Returns:
            Whether any figure changed.
        """
        changed = True
        match event:
            case RunStarted():
                self._go_on(event.at)
            case NodeStarted() if not is_engine_node(event.node) and event.task_id not in self._tasks:
                self._tasks.add(event.task_id)
                self._path.append(event.node)
            case ModelCalled():
                self._count(event)
            case LoopDecided():
                self._decided(event)
            case NodeFinished() | StateSaved():
                self._keep(event)
                changed = False
            case RunFinished():
                self._stop_reason = _name(event.stop_reason)
            case _:
                changed = False
        self._last = event.at
        return changed

    def figures(self) -> dict[str, Any]:
        """The fields of a `RunRecord` that follow from the events so far."""
        loops = [self._figures_of(name, loop) for name, loop in self._loops.items()]
        rows = [
            UsageRow(
                node=node, model=model, calls=spent.calls, input_tokens=spent.input, output_tokens=spent.output,
                unmetered_calls=spent.unmetered, cost=spent.cost,
            )
            for (node, model), spent in self._usage.items()
        ]  # fmt: skip
        return {
            "path": (*self._path,), "usage": (*rows,), "loops": (*loops,),
            "passes": {loop.loop: loop.passes for loop in loops}, "stop_reason": self._stop_reason,
            "model_calls": self._spent.calls, "tokens": self._spent.input + self._spent.output,
            "unmetered_calls": self._spent.unmetered, "cost": self._spent.cost,
        }  # fmt: skip

    def _figures_of(self, name: str, loop: _Looped) -> LoopPasses:
        seconds = loop.seconds
        if self._pass and self._pass[0] is loop and self._last:
            seconds += _seconds(self._pass[1], self._last)
        return LoopPasses(
            loop=name, passes=loop.passes, limit=loop.limit, refused=loop.refused, seconds=seconds,
            tokens=loop.spent.input + loop.spent.output, cost=loop.spent.cost,
        )  # fmt: skip

    def _go_on(self, at: datetime) -> None:
        # While the run was cut off, no time passed in it.
        if self._pass and self._last:
            loop, since = self._pass
            loop.seconds += _seconds(since, self._last)
            self._pass = loop, at
        self._stop_reason = None
        for loop in self._loops.values():
            if loop.before is not None:
                # No checkpoint holds what it decided last, so the ledger does not know of it.
                vars(loop).update(loop.before, before=None, last=None)
                self._pass = None if self._pass and self._pass[0] is loop else self._pass

    def _keep(self, event: NodeFinished | StateSaved) -> None:
        for loop in self._loops.values():
            last = loop.last
            if last and (
                event.step >= last.step if isinstance(event, StateSaved) else event.node == f"loop.{last.loop}"
            ):
                loop.before = None

    def _count(self, call: ModelCalled) -> None:
        self._spent.add(call)
        self._usage.setdefault((call.node, call.model), _Spent()).add(call)
        if self._pass:
            self._pass[0].spent.add(call)

    def _decided(self, event: LoopDecided) -> None:
        if self._pass:
            loop, since = self._pass
            loop.seconds += _seconds(since, event.at)
            self._pass = None
        loop = self._loops.setdefault(event.loop, _Looped())
        if loop.last and loop.last.step == event.step and loop.before is not None:
            vars(loop).update(loop.before)  # a gate that was cut off decides again: that is one decision
        loop.before = {"limit": loop.limit, "passes": loop.passes, "refused": loop.refused}
        loop.last, loop.limit = event, event.limit
        if event.decision != "granted":
            loop.refused = event.decision
        elif event.spent:  # a target's first visit may be granted, too, and is no pass
            loop.passes += 1
            self._pass = loop, event.at


def with_figures(record: RunRecord, tally: Tally, **more: Any) -> RunRecord:
    """A record with the figures as they are now.

    Args:
        record: The record.
        tally: Has the figures.
        **more: Other fields that changed.
    """
    return record.model_copy(update={**tally.figures(), **more})


def _seconds(since: datetime, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds())


def _name(stop: Mapping[str, Any] | list[dict[str, Any]] | None) -> str | None:
    """The loop or budget whose bound was reached; of several in one superstep the first."""
    first = stop[0] if isinstance(stop, list) and stop else stop
    return str(first["loop"]) if isinstance(first, Mapping) and first.get("loop") else None
