"""How a node is run when it is slow or fails: its timeout, its retries, and how a run goes on without it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from loopwright.errors import ConfigError, GraphError, InputError, NodeFailed, NodeTimeout

HOPELESS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ConfigError,
    GraphError,
    ImportError,
    InputError,
    LookupError,
    NameError,
    NodeTimeout,
    NotImplementedError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""Errors that come again however often a node is run: wrong input and wrong code. A timeout is among them, because the
first attempt may still be running."""


def is_transient(error: BaseException) -> bool:
    """Whether another attempt could succeed: everything but `HOPELESS` errors.

    Args:
        error: What a node raised, or the `NodeFailed` around it.
    """
    cause = error.__cause__ if type(error) is NodeFailed and error.__cause__ else error
    return isinstance(cause, Exception) and not isinstance(cause, HOPELESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class GiveUp:
    """How a run goes on without a node that failed for good."""

    goto: str
    """Where control goes: a node, or END."""
    when: Callable[[Mapping[str, Any]], bool] = lambda _state: True
    """Whether to go on at all, from the node's input; where it says no, the error is raised."""
    update: Callable[[Mapping[str, Any], str], dict[str, Any]] = lambda _state, message: {"error": message}
    """What to write to the state, from the node's input and the error in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePolicy:
    """How one node is run."""

    timeout: float | None = None
    """Seconds for one attempt; None waits for ever."""
    retries: int = 0
    """How many further attempts a transient error gets."""
    initial_wait: float = 0.5
    """Seconds before the first retry."""
    factor: float = 2.0
    """How much longer each further wait is."""
    max_wait: float = 30.0
    """Seconds of the longest wait."""
    jitter: bool = True
    """Whether up to a second is added to each wait at random, so that many runs do not retry in step."""
    retry_on: Callable[[BaseException], bool] = is_transient
    """Which errors are transient."""
    give_up: GiveUp | None = None
    """How to go on when the node failed for good; None raises the error."""
    max_model_calls: int | None = None
    """How many chat-model calls one attempt makes at most, for the certificate; None if unknown."""
    debug: bool = False
    """Whether to log every visit's input, duration and update."""

    def wait(self, attempt: int) -> float:
        """Seconds between the given failed attempt (from 1) and the next, without jitter."""
        return min(self.max_wait, self.initial_wait * self.factor ** (attempt - 1))

    @property
    def max_seconds(self) -> float | None:
        """The longest that one visit can take, retries and waits included; None without a timeout."""
        if self.timeout is None:
            return None
        waits = sum(self.wait(attempt) + self.jitter for attempt in range(1, self.retries + 1))
        return self.timeout * (self.retries + 1) + waits
