"""Declarations of loops, and the pure decision that a gate makes from one.

A `Loop` says once where a graph goes round and how often. Everything else (the gate, the fallback route, the log lines,
the diagram's label, the proof) is derived from it. Nothing here touches LangGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from loopwright.engine.budgets import Budget, Overspent, Spent, overspent, since
from loopwright.engine.progress import Plateau, Stall
from loopwright.errors import LoopDeclarationError

END = "__end__"
"""The exit, as LangGraph spells it."""

RUN = "run"
"""The scope of a loop whose passes are counted over the whole run."""


Decision = Literal["granted", "exhausted", "stalled", "over_budget"]
"""What a gate answers: another pass, no more passes, no use in another pass, or nothing left to spend on one."""

StallRule: TypeAlias = Stall | Plateau
"""A rule that notices a lack of progress."""


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 0 up; True and False are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLimit:
    """A limit that comes from the state, under a ceiling that nobody can lift."""

    key: str | Callable[[Mapping[str, Any]], int | None]
    """The state key that holds the limit, or a function that computes it from the state (by how hard the question is,
    say); read once, at the loop's first request, then frozen for its scope."""
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
        value: Any = self.key(state) if callable(self.key) else state.get(self.key)
        if value is None:
            value = self.default
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"the limit from {self.origin} must be a whole number, not {value!r}")
        return max(0, min(value, self.ceiling))

    @property
    def origin(self) -> str:
        """Where the limit comes from, in words."""
        if isinstance(self.key, str):
            return f"state key {self.key!r}"
        return f"function {getattr(self.key, '__name__', self.key)!r}"


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
    """A loop's log lines, as templates over ``{loop} {reason} {spent} {limit} {target} {why}``."""

    granted: tuple[str, ...] = ("Loop {loop}: pass {spent}/{limit} into {target} granted: {reason}",)
    """INFO lines for a granted pass; ``spent`` includes it."""
    exhausted: str | Mapping[str, str] = (
        "Loop {loop}: limit {limit} reached, {spent} passes spent; the refused pass wanted: {reason}"
    )
    """The WARNING when the bound is reached; one for each source where they differ."""
    stalled: str = "Loop {loop}: no progress after {spent} passes ({why}); the refused pass wanted: {reason}"
    """The WARNING when the loop makes no progress."""
    over_budget: str = "Loop {loop}: budget spent after {spent} passes ({why}); the refused pass wanted: {reason}"
    """The WARNING when the loop's budget is spent; ``{why}`` says of what."""
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
    source_limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """The most passes of a scope that a source gets, where it gets fewer than `limit`: source -> passes."""
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
    stall: StallRule | Sequence[StallRule] | None = None
    """How the loop notices that it makes no progress: a rule, or several of which the first to find none counts."""
    budget: Budget | None = None
    """What its passes may spend in a scope, counted from the first request; None lets the run's budget alone count."""
    backoff: Backoff | None = None
    """How long the gate waits before a pass; None does not wait."""
    messages: LoopMessages = field(default_factory=LoopMessages)
    """The log lines."""

    def __post_init__(self) -> None:
        if isinstance(self.sources, str):
            object.__setattr__(self, "sources", (self.sources,))
        object.__setattr__(self, "sources", tuple(dict.fromkeys(self.sources)))
        rules = (self.stall,) if isinstance(self.stall, Stall | Plateau) else tuple(self.stall or ())
        object.__setattr__(self, "stall", rules)
        for problem in self._problems():
            raise LoopDeclarationError(self.name, problem)

    def _problems(self) -> list[str]:
        problems: list[str] = []
        if not self.name or self.name[0] == "." or any(character in self.name for character in ":|\n"):
            problems.append("the name must not be empty, begin with a dot, nor hold ':', '|' or a line break")
        if not self.sources:
            problems.append("name at least one source: a node whose edge into the target goes round")
        counts = [self.limit.default, self.limit.ceiling] if isinstance(self.limit, StateLimit) else [self.limit]
        if not all(map(is_count, counts)):
            problems.append(f"limit must be a whole number from 0 up, not {self.limit!r}")
        if self.history_limit < 1:
            problems.append(f"history_limit must be at least 1, not {self.history_limit}")
        if self.scope == self.name:
            problems.append("a loop cannot be its own scope; name the outer loop, or 'run'")
        for what, by_source in (("exhausted", self.exhausted), ("messages.exhausted", self.messages.exhausted)):
            if not isinstance(by_source, str) and set(by_source) != set(self.sources):
                problems.append(f"{what!r} by source must name exactly the sources {list(self.sources)}")
        for source, count in self.source_limits.items():
            if source not in self.sources:
                problems.append(f"'source_limits' names {source!r}, which is none of the sources {list(self.sources)}")
            elif not is_count(count):
                problems.append(f"the limit of source {source!r} must be a whole number from 0 up, not {count!r}")
        names = [rule.name for rule in self.stall_rules]
        if len(set(names)) < len(names):
            problems.append(f"two stall rules have one name: {names}; each keeps its notes under its name")
        return problems

    @property
    def gate(self) -> str:
        """The name of the gate node."""
        return f"loop.{self.name}"

    @property
    def asks_by_source(self) -> bool:
        """Whether it matters which source asks for a pass."""
        return bool(self.source_limits) or not (
            isinstance(self.exhausted, str) and isinstance(self.messages.exhausted, str)
        )

    @property
    def ceiling(self) -> int:
        """The most passes that one scope can ever grant."""
        return self.limit.ceiling if isinstance(self.limit, StateLimit) else self.limit

    @property
    def stall_rules(self) -> tuple[StallRule, ...]:
        """The rules that notice a lack of progress."""
        return cast("tuple[StallRule, ...]", self.stall)

    @property
    def own_routes(self) -> tuple[str, ...]:
        """The nodes (or END) that only a stall or a spent budget leads to, each once."""
        routes = [rule.route for rule in self.stall_rules] + [self.budget.exhausted if self.budget else None]
        return tuple(dict.fromkeys(route for route in routes if route))

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Every node (or END) that a refused pass can enter, each once."""
        routes = [self.exhausted] if isinstance(self.exhausted, str) else list(self.exhausted.values())
        return tuple(dict.fromkeys([*routes, *self.own_routes]))

    @property
    def limit_text(self) -> str:
        """The limit in words, for diagrams."""
        if isinstance(self.limit, StateLimit):
            key = self.limit.key if isinstance(self.limit.key, str) else getattr(self.limit.key, "__name__", "computed")
            return f"{key}, at most {self.limit.ceiling}"
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
    notes: NotRequired[dict[str, list[Any]]]
    """Stall rule -> what it noted at the last granted requests of this scope."""
    by_source: NotRequired[dict[str, int]]
    """Source -> passes that were granted to it in this scope, for a loop with limits by source."""
    began: NotRequired[Spent]
    """What the run had spent at this scope's first request, for a loop with a budget."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate decided."""

    decision: Decision
    """The answer."""
    spend: Spend
    """The ledger's entry after the decision."""
    rule: StallRule | None = None
    """The stall rule that found no progress."""
    overspent: Overspent | None = None
    """What the loop's budget lacks."""
    source: str | None = None
    """The source whose own limit is reached."""
    closing: bool = False
    """Whether it is the run's budget that is spent, and its fallback on."""

    @property
    def why(self) -> str:
        """What a refusal that is not the limit's rests on; empty for others."""
        if self.closing:
            return "the run's budget is spent"
        return self.rule.name if self.rule else str(self.overspent or "")


def decide(
    loop: Loop,
    state: Mapping[str, Any],
    view: Any,
    ledger: Mapping[str, Spend],
    spent: Spent | None = None,
    asked: Sequence[str] = (),
) -> Verdict:
    """Grant or refuse one pass: decided before the count moves.

    Args:
        loop: The declaration.
        state: The state as a mapping, for the limit's key.
        view: The state as the graph's own schema, for the stall rules.
        ledger: What every loop has spent so far in this run.
        spent: What the run has spent so far on models, for a loop with a budget.
        asked: The sources that ask, for a loop with limits by source.

    Returns:
        The decision, and the loop's new entry in the ledger.

    Raises:
        LoopDeclarationError: If the state holds a limit that is not a whole number.
    """
    outer = 0 if loop.scope == RUN else _total(ledger.get(loop.scope))
    entry = ledger.get(loop.name)
    if entry is None or entry.get("pass_of", 0) != outer:
        entry = Spend(spent=0, total=_total(entry), limit=_limit(loop, state), refused=0, pass_of=outer)
        if loop.budget:
            entry["began"] = spent or {}
    refused = cast("Spend", {**entry, "refused": entry["refused"] + 1})
    # The limit is frozen, but a run that goes on under a declaration with a lower one keeps to that.
    if entry["spent"] >= min(entry["limit"], loop.ceiling):
        return Verdict("exhausted", refused)
    passes = entry.get("by_source", {})
    entitled = [source for source in asked if passes.get(source, 0) < loop.source_limits.get(source, loop.ceiling)]
    if loop.source_limits and not entitled:
        return Verdict("exhausted", refused, source=asked[0])
    if loop.budget and (lacking := overspent(loop.budget.limits, since(spent or {}, entry.get("began", {})))):
        return Verdict("over_budget", refused, overspent=lacking)
    granted = cast("Spend", {**entry, "spent": entry["spent"] + 1, "total": _total(entry) + 1})
    if loop.source_limits:
        granted["by_source"] = {**passes, **{source: passes.get(source, 0) + 1 for source in entitled}}
    if loop.stall_rules:
        notes = entry.get("notes", {})
        looks = {rule.name: rule.look(view, notes.get(rule.name, [])) for rule in loop.stall_rules}
        for rule in loop.stall_rules:
            if looks[rule.name].stalled:
                return Verdict("stalled", refused, rule=rule)
        granted["notes"] = {name: look.notes for name, look in looks.items()}
    return Verdict("granted", granted)


def _total(entry: Spend | None) -> int:
    return entry.get("total", 0) if entry else 0


def _limit(loop: Loop, state: Mapping[str, Any]) -> int:
    if isinstance(loop.limit, int):
        return loop.limit
    try:
        return loop.limit.resolve(state)
    except ValueError as error:
        raise LoopDeclarationError(loop.name, str(error)) from error
