"""Declarations of loops, and the pure decision that a gate makes from one.

A `Loop` says once where a graph goes round and how often. Everything else (the gate, the fallback route, the log lines,
the diagram's label, the proof) is derived from it. Nothing here touches LangGraph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict, cast

from pydantic import BaseModel

from loopwright.errors import LoopDeclarationError

END = "__end__"
"""The exit, as LangGraph spells it."""

RUN = "run"
"""The scope of a loop whose passes are counted over the whole run."""


Decision = Literal["granted", "exhausted", "stalled"]
"""What a gate answers: another pass, no more passes, or no use in another pass."""


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 0 up; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLimit:
    """A limit that the caller puts into the state, under a ceiling that nobody can lift."""

    key: str
    """The state key that holds the limit; read once, at the loop's first request, then frozen for the run."""
    default: int
    """The limit where the key is missing or None."""
    ceiling: int
    """The most that is ever granted, whatever the state says; the proof counts with it."""

    def resolve(self, state: Mapping[str, Any]) -> int:
        """The limit that this state asks for, from 0 to the ceiling.

        Args:
            state: The graph's state.

        Raises:
            ValueError: If the key holds something that is not a whole number.
        """
        value = state.get(self.key)
        if value is None:
            value = self.default
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"the limit in state key {self.key!r} must be a whole number, not {value!r}")
        return max(0, min(value, self.ceiling))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """How a loop notices that it goes round without getting anywhere."""

    key: Callable[[Any], Any]
    """What must change from one request to the next, for example the plan; compared by content."""
    route: str | None = None
    """Where control goes then; None takes the loop's `exhausted` route."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """How long a gate waits before it grants a pass: ``initial * factor ** passes``, at most ``maximum``."""

    initial: float = 0.5
    """Seconds before the first pass."""
    factor: float = 2.0
    """How much longer each further wait is."""
    maximum: float = 30.0
    """Seconds of the longest wait."""

    def seconds(self, spent: int) -> float:
        """The wait before the pass that follows `spent` granted ones."""
        return min(self.maximum, self.initial * self.factor**spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMessages:
    """A loop's log lines, as templates over ``{loop} {reason} {spent} {limit} {target}``."""

    granted: tuple[str, ...] = ("Loop {loop}: pass {spent}/{limit} into {target} granted: {reason}",)
    """INFO lines for a granted pass; ``spent`` includes it."""
    exhausted: str = "Loop {loop}: limit {limit} reached, {spent} passes spent; the refused pass wanted: {reason}"
    """The WARNING when the bound is reached."""
    stalled: str = "Loop {loop}: no progress since the last of {spent} passes; the refused pass wanted: {reason}"
    """The WARNING when the loop makes no progress."""
    evicted: str = "Loop {loop}: history is full, its oldest entry was dropped"
    """The WARNING for each history entry that is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """One loop: where it goes round, how often, and where it goes instead when that is used up.

    ``limit=N`` grants exactly N passes, 0 none. A refused pass is neither counted nor written to the history. Requests
    of one superstep are one pass.

    Raises:
        LoopDeclarationError: If the fields contradict each other.
    """

    name: str
    """Names the gate node (``loop.NAME``), the events and the log lines."""
    target: str
    """The node that a granted pass enters."""
    sources: tuple[str, ...]
    """The nodes whose edges into `target` go round."""
    limit: int | StateLimit
    """How many passes are granted per scope."""
    exhausted: str | Mapping[str, str] = END
    """Where control goes when the bound is reached: a node, END, or one of these for each source."""
    scope: str = RUN
    """``"run"``, or the name of an outer loop: then every pass of that loop starts a new count."""
    counter: str | None = None
    """A state key that shows the count; the ledger decides, not this."""
    counter_by: Literal["engine", "node"] = "engine"
    """Who writes the counter: the gate, or one of the graph's own nodes (then the gate leaves it alone)."""
    history: str | None = None
    """A state key that receives one line for each granted pass, written by the gate alone."""
    history_entry: str = "[Iteration {spent}] {reason}"
    """The template of a history line."""
    history_limit: int = 10
    """How many history lines are kept; the oldest go first."""
    reason: Callable[[Any], str | None] | None = None
    """Reads from the state why a pass is wanted."""
    stall: Stall | None = None
    """How the loop notices that it makes no progress; None never looks."""
    backoff: Backoff | None = None
    """How long the gate waits before a pass; None does not wait."""
    messages: LoopMessages = field(default_factory=LoopMessages)
    """The log lines."""

    def __post_init__(self) -> None:
        if isinstance(self.sources, str):
            object.__setattr__(self, "sources", (self.sources,))
        object.__setattr__(self, "sources", tuple(dict.fromkeys(self.sources)))
        for problem in self._problems():
            raise LoopDeclarationError(self.name, problem)

    def _problems(self) -> list[str]:
        problems: list[str] = []
        if not self.name or self.name[0] == "." or any(character in self.name for character in ":|\n"):
            problems.append("the name must not be empty, begin with a dot, nor hold ':', '|' or a line break")
        if not self.sources:
            problems.append("name at least one source: a node whose edge into the target goes round")
        counts = [self.limit.default, self.limit.ceiling] if isinstance(self.limit, StateLimit) else [self.limit]
        if any(
            isinstance(count, bool) or not isinstance(count, int) or count < 0 for count in cast("list[Any]", counts)
        ):
            problems.append(f"limit must be a whole number from 0 up, not {self.limit!r}")
        if self.history_limit < 1:
            problems.append(f"history_limit must be at least 1, not {self.history_limit}")
        if self.scope == self.name:
            problems.append("a loop cannot be its own scope; name the outer loop, or 'run'")
        if not isinstance(self.exhausted, str) and set(self.exhausted) != set(self.sources):
            problems.append(f"'exhausted' by source must name exactly the sources {list(self.sources)}")
        return problems

    @property
    def gate(self) -> str:
        """The name of the gate node."""
        return f"loop.{self.name}"

    @property
    def ceiling(self) -> int:
        """The most passes that one scope can ever grant."""
        return self.limit.ceiling if isinstance(self.limit, StateLimit) else self.limit

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Every node (or END) that a refused pass can enter, each once."""
        routes = [self.exhausted] if isinstance(self.exhausted, str) else list(self.exhausted.values())
        if self.stall and self.stall.route:
            routes.append(self.stall.route)
        return tuple(dict.fromkeys(routes))

    @property
    def limit_text(self) -> str:
        """The limit in words, for diagrams."""
        if isinstance(self.limit, StateLimit):
            return f"{self.limit.key}, at most {self.limit.ceiling}"
        return str(self.limit)


class Spend(TypedDict):
    """What one loop has used up: its entry in the ledger, in plain JSON that every checkpointer can keep and show."""

    spent: int
    """Passes granted in this scope."""
    limit: int
    """The limit, frozen at the scope's first request."""
    refused: int
    """Requests refused in this scope."""
    total: NotRequired[int]
    """Passes granted in the whole run; never falls, so that an inner loop can tell every outer pass from all others."""
    pass_of: NotRequired[int]
    """The outer loop's total when this count began, for a scoped loop."""
    mark: NotRequired[str]
    """Hash of what the stall rule compares, at the last granted request."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate decided."""

    decision: Decision
    """The answer."""
    spend: Spend
    """The ledger's entry after the decision."""


def decide(loop: Loop, state: Mapping[str, Any], view: Any, ledger: Mapping[str, Spend]) -> Verdict:
    """Grant or refuse one pass: decided before the count moves.

    Args:
        loop: The declaration.
        state: The state as a mapping, for the limit's key.
        view: The state as the graph's own schema, for the stall rule.
        ledger: What every loop has spent so far in this run.

    Returns:
        The decision, and the loop's new entry in the ledger.

    Raises:
        LoopDeclarationError: If the state holds a limit that is not a whole number.
    """
    outer = 0 if loop.scope == RUN else _total(ledger.get(loop.scope))
    entry = ledger.get(loop.name)
    if entry is None or entry.get("pass_of", 0) != outer:
        entry = Spend(spent=0, total=_total(entry), limit=_limit(loop, state), refused=0, pass_of=outer)
    if entry["spent"] >= entry["limit"]:
        return Verdict("exhausted", _changed(entry, refused=entry["refused"] + 1))
    granted = _changed(entry, spent=entry["spent"] + 1, total=_total(entry) + 1)
    if loop.stall:
        mark = fingerprint(loop.stall.key(view))
        if mark == entry.get("mark"):
            return Verdict("stalled", _changed(entry, refused=entry["refused"] + 1))
        granted["mark"] = mark
    return Verdict("granted", granted)


def _total(entry: Spend | None) -> int:
    return entry.get("total", 0) if entry else 0


def _changed(entry: Spend, **changes: int) -> Spend:
    return cast("Spend", {**entry, **changes})


def _limit(loop: Loop, state: Mapping[str, Any]) -> int:
    if isinstance(loop.limit, int):
        return loop.limit
    try:
        return loop.limit.resolve(state)
    except ValueError as error:
        raise LoopDeclarationError(loop.name, str(error)) from error


def fingerprint(value: Any) -> str:
    """A hash of a value's content: equal content gives equal hashes in every process.

    Args:
        value: Anything that JSON or pydantic can write; the rest goes by its ``repr``.
    """
    try:
        text = json.dumps(value, sort_keys=True, default=_plain)
    except (TypeError, ValueError):  # keys that JSON cannot write or sort, or a value that holds itself
        text = repr(value)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(cast("set[object]", value), key=repr)
    return repr(value)
