"""How a node is run when it is slow or fails: its timeout, its retries, and how a run goes on without it.

LangGraph repeats the node; its own policies share one counter of attempts, so here is decided whether it repeats.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from pydantic import NonNegativeFloat, NonNegativeInt

from loopwright.engine.kinds import Declared
from loopwright.engine.nodes.failures import PASSING, FailureKind, errors_in, failure_kind, retry_after
from loopwright.errors import ConfigError, GraphError, InputError, NodeFailed, NodeTimeout, unknown_name_message

HOPELESS = (
    ArithmeticError, AssertionError, AttributeError, ConfigError, GraphError, ImportError, InputError, LookupError,
    NameError, NodeTimeout, NotImplementedError, SyntaxError, TypeError, ValueError,
)  # fmt: skip
"""Errors that come again however often a node is run: wrong input and wrong code. A timeout is among them, because the
first attempt may still be running."""

LASTING: frozenset[FailureKind] = frozenset({"auth", "context_length", "not_found", "quota", "rejected"})
"""The kinds of failed requests that come again too."""


def cause_of(error: BaseException) -> BaseException:
    """What a node raised itself."""
    return error.__cause__ if type(error) is NodeFailed and error.__cause__ else error


def is_transient(error: BaseException) -> bool:
    """Whether another attempt could succeed: everything but `HOPELESS` errors and `LASTING` kinds of failures."""
    cause = cause_of(error)
    if inside := errors_in(cause):
        return all(map(is_transient, inside))
    if not isinstance(cause, Exception) or isinstance(cause, HOPELESS):
        return False
    return failure_kind(cause) not in LASTING


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry(Declared):
    """How often one kind of failure is tried again, and after which waits. Each rule counts for itself.

    Raises:
        ConfigError: If a value does not fit its field or is out of range, or a kind is unknown.
    """

    on: FailureKind | type[BaseException] | tuple[type[BaseException], ...] | Callable[[BaseException], bool]
    """Which errors: a kind by name, exception classes, or a predicate of what the node raised. A group of errors is of
    a kind or class that all in it are of."""
    retries: NonNegativeInt = 3
    """How many further attempts these errors get in one visit of the node."""
    initial_wait: NonNegativeFloat = 0.5
    """Seconds before the first retry."""
    factor: float = 2.0
    """How much longer each further wait is."""
    max_wait: NonNegativeFloat = 30.0
    """Seconds of the longest wait, without what jitter adds. A server that asks for more is not asked again."""
    jitter: Literal["added", "full", False] = "full"
    """How chance changes a wait, so that many runs do not retry in step: up to a second more, anything from nothing to
    the whole wait, or not at all."""
    retry_after: bool = True
    """Whether to wait at least as long as the server asks, by ``Retry-After`` and the like."""
    name: str = ""
    """What events call the rule; by default the kind, the classes, or the predicate's name."""

    def __post_init__(self) -> None:
        if isinstance(self.on, str) and self.on not in get_args(FailureKind):
            raise ConfigError(unknown_name_message("kind of failure", self.on, get_args(FailureKind)))
        if isinstance(self.on, list | set):
            object.__setattr__(self, "on", tuple(cast("list[Any]", self.on)))
        if not self.name:
            object.__setattr__(self, "name", _name(self.on))
        Declared.__post_init__(self, lambda problem: ConfigError(f"retry rule {self.name!r}: {problem}"))
        if self.factor < 1:
            raise ConfigError(f"retry rule {self.name!r}: factor is {self.factor}, not 1 or more")

    def matches(self, error: BaseException) -> bool:
        """Whether this rule is for an error that the node raised."""
        if isinstance(self.on, str):
            return failure_kind(error) == self.on
        if not isinstance(self.on, type | tuple):
            return self.on(error)
        return isinstance(error, self.on) or {*map(self.matches, errors_in(error))} == {True}

    def wait(self, attempt: int, asked: float = 0.0, chance: float = 0.0) -> float:
        """Seconds before the retry that follows the failure of number `attempt`, from 1, of this rule.

        The server asks to wait at least `asked` seconds; `chance` is a random number from 0 to 1, for the jitter.
        """
        wait = self.max_wait
        with suppress(OverflowError):  # after a thousand attempts
            wait = min(wait, self.initial_wait * self.factor ** (attempt - 1))
        if self.jitter == "full":
            return min(self.max_wait, asked + chance * wait)
        return max(asked, wait) + (chance if self.jitter == "added" else 0.0)

    def asked(self, error: BaseException) -> float:
        """Seconds that the server asks to wait before the next attempt; 0 if it does not, or nobody listens."""
        return (retry_after(error) or 0.0) if self.retry_after else 0.0

    def objection(self, error: BaseException) -> str:
        """Why an error that the node raised is not tried again however many retries are left; empty if it is."""
        if (asked := self.asked(error)) <= self.max_wait:
            return ""
        return f"the server asks to wait {asked:.4g} s, and max_wait of retry rule {self.name!r} is {self.max_wait:g} s"

    @property
    def max_seconds(self) -> float:
        """The longest that all waits of one visit take together."""
        longest = (self.wait(n, self.max_wait if self.retry_after else 0.0, 1.0) for n in range(1, self.retries + 1))
        return sum(longest, 0.0)


def _name(on: Any) -> str:
    if isinstance(on, tuple):
        return ", ".join(getattr(kind, "__name__", repr(kind)) for kind in cast("tuple[Any, ...]", on))
    return on if isinstance(on, str) else getattr(on, "__name__", repr(on))


def usual_retries(retries: int = 3, **options: Any) -> tuple[Retry, ...]:
    """One rule for each kind of failure that passes by itself: connection, rate limit, server error, timeout.

    Each kind gets so many retries; the options are the other fields of `Retry`, for all of them.
    """
    return tuple(Retry(on=kind, retries=retries, **options) for kind in sorted(PASSING))


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp(Declared):
    """How a run goes on without a node that failed for good."""

    goto: str
    """Where control goes: a node, or END."""
    when: Callable[[Mapping[str, Any]], bool] = lambda _state: True
    """Whether to go on at all, from the node's input; where it says no, the error is raised."""
    update: Callable[[Mapping[str, Any], str], dict[str, Any]] = lambda _state, message: {"error": message}
    """What to write to the state, from the node's input and the error in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePolicy(Declared):
    """How one node is run."""

    timeout: NonNegativeFloat | None = None
    """Seconds for one attempt; None waits for ever."""
    retries: int | Sequence[Retry] = 0
    """How many further attempts transient errors get, all kinds together; or rules, each of which counts for itself.
    The first rule that matches an error decides."""
    give_up: GiveUp | None = None
    """How to go on when the node failed for good; None raises the error."""
    max_model_calls: NonNegativeInt | None = None
    """How many chat-model calls one attempt makes at most, for the certificate; None if unknown."""
    debug: bool = False
    """Whether to log every visit's input, duration and update."""

    @property
    def rules(self) -> tuple[Retry, ...]:
        """The rules in force."""
        if isinstance(self.retries, Collection):
            return tuple(self.retries)
        return (Retry(on=is_transient, retries=self.retries, name="transient"),) if self.retries else ()

    @property
    def max_attempts(self) -> int:
        """How often one visit runs the node at most."""
        return 1 + sum(rule.retries for rule in self.rules)

    @property
    def max_seconds(self) -> float | None:
        """The longest that one visit can take, retries and waits included; None without a timeout."""
        waits = sum(rule.max_seconds for rule in self.rules)
        return None if self.timeout is None else self.timeout * self.max_attempts + waits


# The retries of one visit


class TryAgain(Exception):
    """The node is to be run again; never leaves LangGraph's loop of attempts."""


@dataclass(frozen=True, slots=True)
class Granted:
    """A further attempt."""

    rule: Retry
    """The rule that grants it."""
    wait: float
    """Seconds to wait before it."""
    asked: float
    """Seconds that the server asked to wait, 0 if it did not."""


class Visit:
    """The retries of one visit of a node; the visit around it, `outer`, sees the errors that this one lets pass."""

    def __init__(self, policy: NodePolicy, outer: Visit | None = None) -> None:
        self._rules = policy.rules
        self._outer = outer
        self._spent: Counter[int] = Counter()

    def grant(self, error: BaseException) -> Granted | None:
        """Count a failure, and say whether another attempt follows."""
        position = self._position(error)
        if position is None:
            return None
        self._spent[position] += 1
        rule = self._rules[position]
        asked = rule.asked(cause_of(error))
        return Granted(rule, rule.wait(self._spent[position], asked, random.random()), asked)

    def grants(self, error: BaseException) -> bool:
        """Whether another attempt would follow; nothing is counted."""
        return self._position(error) is not None or bool(self._outer and self._outer.grants(error))

    def _position(self, error: BaseException) -> int | None:
        cause = cause_of(error)
        position = next((n for n, rule in enumerate(self._rules) if rule.matches(cause)), None)
        if position is None or self._spent[position] >= self._rules[position].retries:
            return None
        return None if self._rules[position].objection(cause) else position


current_visit: ContextVar[Visit | None] = ContextVar("loopwright_visit", default=None)
"""The visit of the innermost node with a policy that runs this code."""


def will_retry(error: BaseException) -> bool:
    """Whether the node that runs this code is tried again after a wait, should it let the error pass; outside, never.

    Who has another way out, such as a second model, takes it only when this says no.
    """
    visit = current_visit.get()
    return visit is not None and visit.grants(error)


def objection(policy: NodePolicy, error: BaseException) -> str:
    """Why retries that are left would not be used for an error; empty if nothing speaks against it."""
    cause = cause_of(error)
    return next((rule.objection(cause) for rule in policy.rules if rule.matches(cause)), "")
