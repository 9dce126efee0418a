"""Declarations of loops, and the pure decision that a gate makes from one.

A `Loop` says once where a graph goes round and how often. Everything else (the gate, the fallback route, the log lines,
the diagram's label, the proof) is derived from it. Nothing here touches LangGraph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, cast

from pydantic import NonNegativeFloat, NonNegativeInt, PositiveInt

from loopwright.engine.budget.budget import Budget, Overspent, Spent, overspent, since
from loopwright.engine.budget.patience import StallRule
from loopwright.engine.kinds import Declared, fits
from loopwright.errors import GraphError, LoopDeclarationError

END = "__end__"
"""The exit, as LangGraph spells it."""

RUN = "run"
"""The scope of a loop whose passes are counted over the whole run."""

Decision = Literal["granted", "exhausted", "stalled", "over_budget"]
"""What a gate answers: another pass, no more passes, no use in another pass, or nothing left to spend on one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLimit(Declared):
    """A limit that comes from the state, under a ceiling that nobody can lift."""

    key: str | Callable[[Any], int | None]
    """The state key that holds the limit, or a function that computes it from the state (by how hard the question is,
    say); read once, at the loop's first request, then frozen for its scope."""
    default: NonNegativeInt
    """The limit where the key is missing or None; at most `ceiling`. A default of the state's own field goes before."""
    ceiling: NonNegativeInt
    """The most that is ever granted, whatever the state says; the proof counts with it."""

    def asked(self, state: Mapping[str, Any], view: Any = None) -> int:
        """The limit that this state asks for, perhaps above the ceiling; what is no whole number is a `ValueError`.

        The view is the state as a class of the graph's own, whose fields have their defaults before they are written.
        """
        value: Any = self.key(state if view is None else view) if callable(self.key) else state.get(self.key)
        if value is None and isinstance(self.key, str) and view is not state:
            value = getattr(view, self.key, None)
        if value is None:
            value = min(self.default, self.ceiling)
        if not fits(value, NonNegativeInt):
            raise ValueError(f"the limit from {self.origin} must be a whole number from 0 up, not {value!r}")
        return int(value)

    @property
    def origin(self) -> str:
        """Where the limit comes from, in words."""
        if isinstance(self.key, str):
            return f"state key {self.key!r}"
        return f"function {getattr(self.key, '__name__', self.key)!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff(Declared):
    """How long a gate waits before it grants a pass: ``initial * factor ** passes``, at most ``maximum``."""

    initial: NonNegativeFloat = 0.5
    """Seconds before the first pass."""
    factor: NonNegativeFloat = 2.0
    """How much longer each further wait is."""
    maximum: NonNegativeFloat = 30.0
    """Seconds of the longest wait."""

    def seconds(self, spent: int) -> float:
        """The wait before the pass that follows `spent` granted ones."""
        try:
            return min(self.maximum, self.initial * self.factor**spent)
        except OverflowError:  # more than a thousand passes
            return self.maximum

    def total(self, passes: int) -> float:
        """The seconds of all waits before so many passes."""
        found = 0.0
        for spent in range(passes):
            wait = self.seconds(spent)
            if wait == self.maximum and self.factor >= 1:  # no wait grows beyond it
                return found + wait * (passes - spent)
            found += wait
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMessages(Declared):
    """A loop's log lines, as templates over ``{loop} {reason} {spent} {limit} {target} {why} {wanted}``.

    ``{wanted}`` is the reason as the end of a sentence, and empty where none is known.
    """

    granted: tuple[str, ...] = ("Loop {loop}: pass {spent}/{limit} into {target}{wanted}",)
    """INFO lines for a granted pass; ``spent`` includes it."""
    exhausted: str | Mapping[str, str] = "Loop {loop}: limit of {limit} passes reached{wanted}"
    """The WARNING when the bound is reached; one for each source where they differ."""
    stalled: str = "Loop {loop}: no progress after {spent} passes ({why}){wanted}"
    """The WARNING when the loop makes no progress."""
    over_budget: str = "Loop {loop}: budget spent after {spent} passes ({why}){wanted}"
    """The WARNING when the loop's budget is spent; ``{why}`` says of what."""
    evicted: str = "Loop {loop}: history is full, its oldest entry was dropped"
    """The WARNING for each history entry that is dropped."""

    def __post_init__(self) -> None:
        if isinstance(self.granted, str):
            object.__setattr__(self, "granted", (self.granted,) if self.granted else ())
        Declared.__post_init__(self)
        words = {"spent": 1, "limit": 1, **dict.fromkeys(("loop", "reason", "target", "why", "wanted"), "word")}
        for name in LoopMessages.__annotations__:
            told: Any = getattr(self, name)
            for text in told.values() if isinstance(told, Mapping) else (told,) if isinstance(told, str) else told:
                try:
                    text.format(**words)
                except (AttributeError, LookupError, TypeError, ValueError) as error:
                    raise GraphError(f"LoopMessages: {name} is {text!r} ({error}): its words are {[*words]}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(Declared):
    """One loop: where it goes round, how often, and where it goes instead when that is used up.

    ``limit=N`` grants exactly N passes, 0 none. A refused pass is neither counted nor written to the history. Requests
    of one superstep are one pass.

    Raises:
        LoopDeclarationError: If a value does not fit its field, or the fields contradict each other.
    """

    name: str
    """Names the gate node (``loop.NAME``), the events and the log lines."""
    target: str
    """The node that a granted pass enters."""
    sources: tuple[str, ...]
    """The nodes whose edges into `target` go round."""
    limit: NonNegativeInt | StateLimit
    """How many passes are granted per scope."""
    exhausted: str | Mapping[str, str] = END
    """Where control goes when a pass is refused: a node, END, or one of these for each source. The state's
    ``stop_reason`` says why it was."""
    source_limits: Mapping[str, NonNegativeInt] = field(default_factory=dict[str, int])
    """The most passes of a scope that a source gets, where it gets fewer than `limit`: source -> passes."""
    scope: str = RUN
    """``"run"``, or the name of an outer loop: then every pass of that loop starts a new count."""
    counter: str | None = None
    """A state key that shows the count; the ledger decides, not this."""
    counter_by: Literal["engine", "node"] = "engine"
    """Who writes the counter: the gate, or one of the graph's own nodes (then the gate leaves it alone)."""
    history: str | None = None
    """A state key that receives a line for each granted pass, ``[Iteration 2] reason``, written by the gate alone."""
    history_limit: PositiveInt = 10
    """How many history lines are kept; the oldest go first."""
    first_free: bool = False
    """Whether a pass is let through uncounted as long as the target has not run: for a cycle with several entrances,
    where the target may be reached for the first time along one of these edges."""
    reason: Callable[[Any], str | None] | None = None
    """Reads from the state why a pass is wanted; None takes the tool calls that the last message asks for, if any."""
    stall: StallRule | Sequence[StallRule] | None = None
    """How the loop notices that it makes no progress: a rule, or several of which the first to find none counts."""
    budget: Budget | None = None
    """What its passes may spend in a scope, counted from the first request; None lets the run's budget alone count."""
    backoff: Backoff | None = None
    """How long the gate waits before a pass; None does not wait."""
    warn_at: NonNegativeInt = 0
    """From so many passes left on, a message in the state key ``messages`` tells the model how many; 0 tells nothing,
    and so does a gate behind a model whose tool calls are not answered yet."""
    messages: LoopMessages = field(default_factory=LoopMessages)
    """The log lines."""

    def __post_init__(self) -> None:
        with suppress(TypeError):  # what holds no names is refused below
            sources = (self.sources,) if isinstance(self.sources, str) else self.sources
            object.__setattr__(self, "sources", tuple(dict.fromkeys(sources)))
        rules = tuple(self.stall or ()) if isinstance(self.stall, Sequence | None) else (self.stall,)
        object.__setattr__(self, "stall", rules)
        for problem in self._problems():
            raise LoopDeclarationError(self.name, problem)

    def _problems(self) -> Iterator[str]:
        for rule in self.stall_rules:
            if callable(rule) and (isinstance(rule, type) or not hasattr(rule, "look")):
                yield f"stall is {rule!r}: give a rule; what makes one is called: {getattr(rule, '__name__', '')}(...)"
        Declared.__post_init__(self, lambda problem: LoopDeclarationError(self.name, problem))
        if not self.name or self.name[0] == "." or any(character in self.name for character in ":|\n"):
            yield "the name must not be empty, begin with a dot, nor hold ':', '|' or a line break"
        if isinstance(self.limit, StateLimit) and self.limit.key == "":
            yield "the key of its StateLimit is empty: give the name of a state key, or a function"
        if not self.sources:
            yield "name at least one source: a node whose edge into the target goes round"
        if self.scope == self.name:
            yield "a loop cannot be its own scope; name the outer loop, or 'run'"
        for what, by_source in (("exhausted", self.exhausted), ("messages.exhausted", self.messages.exhausted)):
            if not isinstance(by_source, str) and set(by_source) != set(self.sources):
                yield f"{what!r} by source must name exactly the sources {list(self.sources)}"
        for source in self.source_limits.keys() - {*self.sources}:
            yield f"'source_limits' names {source!r}, which is none of the sources {list(self.sources)}"
        names = [rule.name for rule in self.stall_rules]
        if len(set(names)) < len(names):
            yield f"two stall rules have one name: {names}; each keeps its notes under its name"
        if self.budget and self.budget.exhausted:
            yield f"its budget names exhausted={self.budget.exhausted!r}: give the loop's own, or a 'fallback'"

    @property
    def gate(self) -> str:
        """The name of the gate node."""
        return f"loop.{self.name}"

    @property
    def asks_by_source(self) -> bool:
        """Whether it matters which source asks for a pass."""
        told = self.exhausted, self.messages.exhausted
        return bool(self.source_limits) or not all(isinstance(each, str) for each in told)

    @property
    def ceiling(self) -> int:
        """The most passes that one scope can ever grant."""
        return self.limit.ceiling if isinstance(self.limit, StateLimit) else self.limit

    @property
    def stall_rules(self) -> tuple[StallRule, ...]:
        """The rules that notice a lack of progress."""
        return cast("tuple[StallRule, ...]", self.stall)

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Every node (or END) that a refused pass can enter, each once."""
        return tuple(dict.fromkeys(map(self.fallback_of, self.sources)))

    def fallback_of(self, source: str) -> str:
        """The node (or END) that a pass enters which is refused to one source."""
        return self.exhausted if isinstance(self.exhausted, str) else self.exhausted[source]

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
    asked: NotRequired[int]
    """The limit that the state asked for, where the ceiling cut it."""
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
    marks: NotRequired[dict[str, Any]]
    """State key -> a short mark of its value at the last granted pass, where no reason is known otherwise."""
    began: NotRequired[Spent]
    """What the run had spent at this scope's first request, for a loop with a budget."""


class Verdict(NamedTuple):
    """What a gate decided; a tuple, as one is made for every pass."""

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
    first_visit: bool = False
    """Whether the target has not run before, so that the pass is not counted."""
    closing: bool = False
    """Whether it is the run's budget that is spent, and its fallback on."""
    entitled: Sequence[str] = ()
    """Of a loop with limits by source, the sources that get the pass."""

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
        view: The state as the graph's own schema, for the loop's callables.
        ledger: What every loop has spent so far in this run; the verdict has the loop's new entry.
        spent: What the run has spent so far on models, for a loop with a budget.
        asked: The sources that ask, for a loop with limits by source.

    Raises:
        LoopDeclarationError: If the state holds a limit that is not a whole number.
    """
    outer = 0 if loop.scope == RUN else ledger.get(loop.scope, {}).get("total", 0)
    entry = ledger.get(loop.name)
    if entry is None or entry.get("pass_of", 0) != outer:
        entry = begun(loop, state, view, spent, total=entry.get("total", 0) if entry else 0, pass_of=outer)
    if entry["limit"] > loop.ceiling:
        # The limit is frozen, but a run that goes on under a declaration with a lower one keeps to that, and says so.
        entry = cast("Spend", {**entry, "limit": loop.ceiling})
    if entry["spent"] >= entry["limit"]:
        return Verdict("exhausted", refused(entry))
    passes = entry.get("by_source", {})
    entitled = [source for source in asked if passes.get(source, 0) < loop.source_limits.get(source, loop.ceiling)]
    if loop.source_limits and not entitled:
        return Verdict("exhausted", refused(entry), source=asked[0])
    if loop.budget and (lacking := overspent(loop.budget.limits, since(spent or {}, entry.get("began", {})))):
        return Verdict("over_budget", refused(entry), overspent=lacking)
    granted = cast("Spend", {**entry, "spent": entry["spent"] + 1, "total": entry.get("total", 0) + 1})
    if loop.source_limits:
        granted["by_source"] = {**passes, **{source: passes.get(source, 0) + 1 for source in entitled}}
    if loop.stall_rules:
        notes = entry.get("notes", {})
        looks = {rule.name: rule.look(view, notes.get(rule.name, [])) for rule in loop.stall_rules}
        for rule in loop.stall_rules:
            if looks[rule.name].stalled:
                return Verdict("stalled", refused(entry), rule=rule)
        granted["notes"] = {name: look.notes for name, look in looks.items()}
    return Verdict("granted", granted, entitled=entitled)


def begun(
    loop: Loop, state: Mapping[str, Any], view: Any, spent: Spent | None = None, *, total: int = 0, pass_of: int = 0
) -> Spend:
    """A loop's entry in the ledger at the first request of its scope, which freezes the limit; see `decide`."""
    try:
        asked = loop.limit if isinstance(loop.limit, int) else loop.limit.asked(state, view)
    except ValueError as error:
        raise LoopDeclarationError(loop.name, str(error)) from error
    entry = Spend(spent=0, total=total, limit=min(asked, loop.ceiling), refused=0, pass_of=pass_of)
    if asked > loop.ceiling:
        entry["asked"] = asked
    if loop.budget:
        entry["began"] = spent or {}
    return entry


def refused(entry: Spend) -> Spend:
    """A loop's entry in the ledger after one more refused request."""
    return cast("Spend", {**entry, "refused": entry["refused"] + 1})
