"""Counts the retries of one visit of a node, each rule for itself.

LangGraph repeats the node; its own policies share one counter of attempts, so whether it repeats is decided here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from langgraph.types import RetryPolicy

from loopwright.engine.policies import NodePolicy, Retry, cause_of


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
    """The retries of one visit of a node.

    Args:
        policy: How the node is run.
        outer: The visit of the node inside which this one runs; it sees the errors that this one lets pass.
    """

    def __init__(self, policy: NodePolicy, outer: Visit | None = None) -> None:
        self._rules = policy.rules
        self._random = policy.random
        self._outer = outer
        self._spent: Counter[int] = Counter()

    def grant(self, error: BaseException) -> Granted | None:
        """Count a failure, and say whether another attempt follows.

        Args:
            error: What the node raised, or the `NodeFailed` around it.
        """
        position = self._position(error)
        if position is None:
            return None
        self._spent[position] += 1
        rule = self._rules[position]
        asked = rule.asked(cause_of(error))
        return Granted(rule, rule.wait(self._spent[position], asked, self._random()), asked)

    def grants(self, error: BaseException) -> bool:
        """Whether another attempt would follow; nothing is counted."""
        return self._position(error) is not None or bool(self._outer and self._outer.grants(error))

    def _position(self, error: BaseException) -> int | None:
        cause = cause_of(error)
        position = next((n for n, rule in enumerate(self._rules) if rule.matches(cause)), None)
        if position is None or self._spent[position] >= self._rules[position].retries:
            return None
        return None if self._rules[position].objection(cause) else position


_visit: ContextVar[Visit | None] = ContextVar("loopwright_visit", default=None)


def current_visit() -> Visit | None:
    """The visit of the innermost node with a policy that runs this code."""
    return _visit.get()


@contextmanager
def visiting(visit: Visit | None) -> Generator[None]:
    """Let `will_retry` know the visit while its node runs."""
    token = _visit.set(visit)
    try:
        yield
    finally:
        _visit.reset(token)


def will_retry(error: BaseException) -> bool:
    """Whether the node that runs this code is tried again after a wait, should it let the error pass.

    Who has another way out, such as a second model, takes it only when this says no.

    Args:
        error: What the node is about to raise.

    Returns:
        False outside of a node, too.
    """
    visit = _visit.get()
    return visit is not None and visit.grants(error)


def objection(policy: NodePolicy, error: BaseException) -> str:
    """Why retries that are left would not be used for an error; empty if nothing speaks against it."""
    cause = cause_of(error)
    return next((rule.objection(cause) for rule in policy.rules if rule.matches(cause)), "")


def repeating(policy: NodePolicy) -> RetryPolicy | None:
    """LangGraph's policy that repeats a node as often as `TryAgain` says; the waits are over by then."""
    if not policy.rules:
        return None
    return RetryPolicy(
        initial_interval=0.0, backoff_factor=1.0, max_interval=0.0, jitter=False, max_attempts=policy.max_attempts,
        retry_on=TryAgain,
    )  # fmt: skip
