"""The books of a run: the channels in which the engine keeps what was spent, and how their writes are merged.

They are ordinary channels of the graph, so they survive resume, fork and time travel without help. Only the stop reason
is shown to the graph's user.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal, NotRequired, TypedDict

from langgraph.channels import LastValue

from loopwright.engine.budget.budget import Spent
from loopwright.engine.langgraph_private import MISSING
from loopwright.engine.loop import Loop, Spend

LEDGER = "loop_ledger"
"""The hidden channel of what every loop has spent."""

REQUESTS = "loop_requests"
"""The hidden channel of what waits before a gate: who asked, and for what."""

SPENT = "loop_spent"
"""The hidden channel of what the run has spent on models."""

VISITED = "loop_visited"
"""The hidden channel of the targets that have run, of loops that let a first visit pass."""

HIDDEN = frozenset((LEDGER, REQUESTS, SPENT, VISITED))
"""The channels that no stream and no result shows, and that no node of the user's may write."""

STOP_REASON = "stop_reason"
"""The state key that says which bound was reached."""

NO_STOP: dict[str, Any] = {}
"""Written to the stop reason when a new input arrives."""

OF_THE_RUN = ""
"""The ledger's entry that is no loop's: the structure of the graph, and the number of the thread's input since which it
counts. That of a later input begins a new ledger."""


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
    """Why another pass was wanted, empty if nobody knows; for a run's budget, what of it was spent."""
    step: int
    """The superstep of the refusal."""
    derived: NotRequired[bool]
    """True where the loop declares no reason and the engine read it: the tools that were asked for, or what changed."""
    asked: NotRequired[int]
    """The limit that the state asked for, where the loop's ceiling is lower."""
    source: NotRequired[str]
    """The source whose own limit was reached, where it was not the loop's."""
    rule: NotRequired[str]
    """The stall rule that found no progress."""
    resource: NotRequired[str]
    """What was spent of a budget: model_calls, tokens, money or seconds."""
    why: NotRequired[str]
    """Why a budget counts as spent of which less was used: a model without a price."""


def merge_ledger(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Reduce two ledgers, the new one a gate's entry or one that begins a run: no count falls, unless a run begins."""
    if new.get(OF_THE_RUN, {}).get("since", -1) > old.get(OF_THE_RUN, {}).get("since", -1):
        return dict(new)
    merged = dict(old)
    for name, spend in new.items():
        if name != OF_THE_RUN and (name not in merged or _order(spend) >= _order(merged[name])):
            merged[name] = spend
    return merged


def _order(spend: Spend) -> tuple[int, int, int]:
    return spend.get("pass_of", 0), spend["spent"], spend["refused"]


def merge_visited(old: Mapping[str, Any] | Sequence[str], new: Sequence[str]) -> list[str]:
    """Reduce two lists of nodes that have run; an empty one begins a new run."""
    return sorted({*old, *new}) if new else []


class Latest(LastValue[Any]):
    """The channel of a key that the engine writes: of several writes in one superstep the last one counts."""

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        return super().update(values[-1:])


class Ledger(LastValue[Any]):
    """The channel of the ledger. A `LastValue`, which is cheap to copy: LangGraph does that for every router."""

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        for value in values:
            self.value = merge_ledger({} if self.value is MISSING else self.value, value)
        return bool(values)


STAY = {"": 0}
"""Written to the requests by an update in a gate's name, which lets stand what is ahead: all of them stay."""


class Requests(LastValue[Any]):
    """The channel of what waits before the gates: what was asked in one superstep, as the gates run in the next.

    A list is added, a number takes so many from the front, and an empty write clears all. By number, since a gate that
    waits for all branches takes what it saw, while others may ask anew in the same superstep.
    """

    kept: frozenset[str] = frozenset()
    """The loops whose gates wait for all branches; of a graph's own subclass, as LangGraph copies no attributes."""

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        before: Mapping[str, list[Any]] = {} if self.value is MISSING or {} in values else self.value
        kept = before if STAY in values else self.kept
        waiting = {name: asked for name, asked in before.items() if name in kept}
        for name, asked in (each for value in values if value != STAY for each in value.items()):
            if not isinstance(asked, int):
                waiting[name] = [*waiting.get(name, []), *asked]
            elif name in kept:
                waiting[name] = waiting.get(name, [])[asked:]
        changed = bool(values or self.value is not MISSING)
        self.value = waiting or MISSING
        return changed


class StopReasons(LastValue[Any]):
    """The channel of the stop reason: those of one superstep become a list, and a later one replaces an earlier one.

    It is empty, and so absent from every result, until a bound is reached; `NO_STOP` empties it again.
    """

    def update(self, values: Sequence[Any]) -> bool:
        """Take the writes of one superstep."""
        if not values or all(value is None for value in values):
            return False
        stops = [stop for value in values for stop in (value if isinstance(value, list) else [value]) if stop]
        if NO_STOP in values:  # a new input: what it brings is an earlier run's
            stops = []
        before, self.value = self.value, stops if len(stops) > 1 else stops[0] if stops else MISSING
        return not (before is MISSING and self.value is MISSING)


def fresh_books(
    loops: Sequence[Loop], channels: Container[str], structure: str, held: Mapping[str, Any], run: Spent, given: Any
) -> dict[str, Any]:
    """What a new input writes beside itself: new ledgers, no stop reason, visible counters and histories at zero.

    `held` is what the thread's channels hold from the inputs before it, of which the ledger's number counts; `run`
    names the new run, and `given` is its input. A snapshot shows what is written to the stop reason, so that is done
    only where there is one.
    """
    since = held.get(LEDGER, {}).get(OF_THE_RUN, {}).get("since", -1) + 1
    books: dict[str, Any] = {LEDGER: {OF_THE_RUN: {"graph": structure, "since": since}}}
    if held.get(STOP_REASON) or not isinstance(given, dict) or STOP_REASON in given:
        books[STOP_REASON] = NO_STOP
    fresh: dict[str, Any] = {SPENT: run, REQUESTS: {}, VISITED: []}
    books |= {key: value for key, value in fresh.items() if key in channels}
    books |= {loop.counter: 0 for loop in loops if loop.counter and loop.counter_by == "engine"}
    return books | {loop.history: [] for loop in loops if loop.history}
