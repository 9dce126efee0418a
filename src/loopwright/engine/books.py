"""The books of a run: the channels in which the engine keeps what was spent, and how their writes are merged.

They are ordinary channels of the graph, so they survive resume, fork and time travel without help. Only the stop reason
is shown to the graph's user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

from langgraph.channels import LastValue

from loopwright.engine.budgets import NOTHING_SPENT, merge_spent
from loopwright.engine.loops import Loop, Spend

LEDGER = "loop_ledger"
"""The hidden channel of what every loop has spent."""

REQUESTS = "loop_requests"
"""The hidden channel of who asked, for loops whose fallback depends on the source."""

SPENT = "loop_spent"
"""The hidden channel of what the run has spent on models."""

HIDDEN = (LEDGER, REQUESTS, SPENT)
"""The channels that no stream and no result shows."""

STOP_REASON = "stop_reason"
"""The state key that says which bound was reached."""

NO_STOP: dict[str, Any] = {}
"""Written to the stop reason when a new input arrives."""

THE_RUN = "run"
"""The ``loop`` of the stop reason for a run's own budget."""

OF_THE_RUN = ""
"""The ledger's entry that is no loop's: it names the structure of the graph, and begins a new ledger when written."""


class StopReason(TypedDict):
    """Why a loop did not go round again, or a run not on; the value of the state key ``stop_reason``."""

    loop: str
    """The loop's name; ``run`` for the run's budget, ``recursion_limit`` for LangGraph's own step limit."""
    outcome: Literal["exhausted", "stalled", "over_budget"]
    """Whether the bound was reached, no progress was made, or the budget was spent."""
    limit: float
    """The limit in force: passes, or for a spent budget the resource's limit."""
    spent: float
    """Passes granted before the refused one, or how much of the resource was spent."""
    reason: str
    """Why the refused pass was wanted; for a run's budget, what of it was spent."""
    step: int
    """The superstep of the refusal."""
    source: NotRequired[str]
    """The source whose own limit was reached, where it was not the loop's."""
    rule: NotRequired[str]
    """The stall rule that found no progress."""
    resource: NotRequired[str]
    """What was spent of a budget: model_calls, tokens, money or seconds."""


def merge_ledger(old: Mapping[str, Spend], new: Mapping[str, Any]) -> dict[str, Spend]:
    """Reduce two ledgers: a count never falls, unless a new run starts.

    Args:
        old: The ledger so far.
        new: One gate's entry, or the entry that begins a new ledger.
    """
    if OF_THE_RUN in new:
        return dict(new)
    merged = dict(old)
    for name, spend in new.items():
        if name not in merged or _order(spend) >= _order(merged[name]):
            merged[name] = spend
    return merged


def _order(spend: Spend) -> tuple[int, int, int]:
    return spend.get("pass_of", 0), spend["spent"], spend["refused"]


def merge_requests(old: Mapping[str, list[str]], new: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Reduce two sets of requests: join the sources per loop; an empty list clears a loop's."""
    merged = {name: list(sources) for name, sources in old.items()}
    for name, sources in new.items():
        merged[name] = sorted({*merged.get(name, []), *sources}) if sources else []
    return merged


class _Merged(LastValue[Any]):
    """A channel that merges the writes of a superstep into its value, cheap to copy."""

    merge: ClassVar[Callable[[Any, Any], Any]]

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        if not values:
            return False
        merged = self.value if self.is_available() else {}
        for value in values:
            merged = type(self).merge(merged, value)
        self.value = merged
        return True


class Ledger(_Merged):
    """What every loop has spent."""

    merge = staticmethod(merge_ledger)


class Requests(_Merged):
    """Who asked."""

    merge = staticmethod(merge_requests)


class Spending(_Merged):
    """What the run has spent on models."""

    merge = staticmethod(merge_spent)


class Owned(LastValue[Any]):
    """A state key that the engine writes; of several writes in one superstep the last one counts."""

    def __init__(self, typ: Any, key: str = "") -> None:
        super().__init__(typ, key)
        self.value = typ()

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        return super().update(values[-1:])


class StopReasons(LastValue[Any]):
    """The channel of the stop reason: those of one superstep become a list, and a later one replaces an earlier one.

    `NO_STOP` clears. None changes nothing: a bounded subgraph that came to its own end returns it.
    """

    def get(self) -> Any:
        """The stop reason, or None."""
        return self.value if self.is_available() else None

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        if not values or all(value is None for value in values):
            return False
        stops = [stop for value in values for stop in (value if isinstance(value, list) else [value]) if stop]
        self.value = stops if len(stops) > 1 else stops[0] if stops else None
        return True


def no_requests(loops: Sequence[Loop]) -> dict[str, Any]:
    """What to write so that nobody counts as having asked; nothing, where no loop tells its sources apart.

    Args:
        loops: The graph's loops.
    """
    asked = {loop.name: list[str]() for loop in loops if loop.asks_by_source}
    return {REQUESTS: asked} if asked else {}


def fresh_books(loops: Sequence[Loop], *, structure: str, metered: bool) -> dict[str, Any]:
    """What a new input writes beside itself: new ledgers, no stop reason, visible counters and histories at zero.

    Args:
        loops: The graph's loops.
        structure: The hash of the graph's structure, by which a resume knows the graph again.
        metered: Whether what the run spends on models is counted.
    """
    books: dict[str, Any] = {LEDGER: {OF_THE_RUN: {"graph": structure}}, STOP_REASON: NO_STOP}
    if metered:
        books[SPENT] = NOTHING_SPENT
    books |= no_requests(loops)
    for loop in loops:
        if loop.counter and loop.counter_by == "engine":
            books[loop.counter] = 0
        if loop.history:
            books[loop.history] = []
    return books
