"""Budgets: how many model calls, tokens, how much money and time a run or a loop may take.

What may be spent (`Budget`), what was spent (`Spent`) and what a model was asked (`Usage`) are separate values. Nothing
here touches LangGraph.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias, get_args

from langchain_core.messages import AIMessage, BaseMessage
from pydantic import NonNegativeFloat, NonNegativeInt

from loopwright.engine.kinds import Declared
from loopwright.errors import GraphError


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Spent model calls and tokens. Values add with ``+``; ``Usage()`` is zero."""

    calls: int = 0
    """Model calls that were sent, the failed ones too."""
    input_tokens: int = 0
    """Tokens of the prompts, as the providers counted them."""
    output_tokens: int = 0
    """Tokens of the replies, as the providers counted them."""
    total_tokens: int = 0
    """All tokens, as the providers counted them: input plus output, or more."""
    unmetered_calls: int = 0
    """Calls whose tokens are unknown. If it is not 0, the token counts are lower bounds."""
    failed_calls: int = 0
    """Calls that ended in an exception instead of a reply; their tokens are unknown, so they are unmetered too."""

    def __post_init__(self) -> None:  # not every provider gives a total
        object.__setattr__(self, "total_tokens", max(self.total_tokens, self.input_tokens + self.output_tokens))

    def __add__(self, other: Usage) -> Usage:
        names = (field.name for field in fields(self))
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in names})

    @classmethod
    def of(cls, message: BaseMessage) -> Usage:
        """The usage of one reply; without ``usage_metadata`` it is one call with unknown tokens."""
        metadata = message.usage_metadata if isinstance(message, AIMessage) else None
        if metadata is None:
            return cls(calls=1, unmetered_calls=1)
        return cls(calls=1, **{name: metadata[name] for name in ("input_tokens", "output_tokens", "total_tokens")})


PriceTable: TypeAlias = Callable[[str, Usage], float | None]
"""Gives the price of a usage of a model, in a currency of its own choice; None if it does not know the model."""

Resource = Literal["model_calls", "tokens", "money", "seconds"]
"""What a budget can limit."""

Spent: TypeAlias = dict[str, float]
"""Resource -> how much of it was spent, in plain JSON that every checkpointer can keep; what is missing is 0."""

CLOSED, UNPRICED, BEYOND, RUN_ID = "closed", "unpriced", "beyond", "run"
"""The keys beside the resources that say that the run's budget is spent and its fallback is on, how many calls had no
price, for the budgets of loops, that a recorded call went beyond, and a number that names the run."""

UNITS: dict[str, str] = {"model_calls": "model calls", "tokens": "tokens", "money": "of money", "seconds": "seconds"}
"""Resource -> its name in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Declared):
    """How much a run, or the passes of one loop, may spend; at least one resource is limited.

    A run's budget is checked before each model call (the call that would go beyond is not sent) and, for seconds, when
    a superstep ends. A loop's budget is checked when the loop asks for a pass, against what was spent since it first
    asked. Tokens and money of calls in flight are known when they end, so these can go over by what one call takes.

    Raises:
        GraphError: If the fields contradict each other.
    """

    model_calls: NonNegativeInt | None = None
    """Calls of chat models, the failed ones too."""
    tokens: NonNegativeInt | None = None
    """Tokens in and out, as the providers count them."""
    money: NonNegativeFloat | None = None
    """Money, in the currency of `price`."""
    seconds: NonNegativeFloat | None = None
    """Seconds in which the run is at work; the time between an interrupt and its answer does not count."""
    exhausted: str | None = None
    """The node (or END) that a run enters when its budget is spent; None is END. A loop has its own `exhausted`."""
    reserve: float = 0.1
    """The part of each limit of a run's budget that is kept for the fallback's own answer, of model calls rounded up;
    without a fallback nothing is kept, and neither of a single call."""
    price: PriceTable | None = None
    """What a usage of a model costs; needed for `money`."""

    def __post_init__(self) -> None:
        if not self.limits:
            raise GraphError(f"a Budget needs at least one limit: {', '.join(get_args(Resource))}")
        Declared.__post_init__(self)
        if math.inf in self.limits.values():
            raise GraphError(f"the Budget limits nothing by {math.inf}: leave out what is not limited")
        if not 0 <= self.reserve < 1:
            raise GraphError(f"the Budget's reserve is {self.reserve!r}: give a part of the whole, from 0 to below 1")
        if self.money is not None and self.price is None:
            raise GraphError(
                "the Budget limits money and has no price: give price=..., for example models.prices.kept_prices()"
            )

    @property
    def limits(self) -> dict[str, float]:
        """Resource -> its limit, where there is one."""
        given = {resource: getattr(self, resource) for resource in get_args(Resource)}
        return {resource: limit for resource, limit in given.items() if limit is not None}

    def limits_before_fallback(self, end: str) -> dict[str, float]:
        """Resource -> how much of it the run may spend before its fallback is entered; where that is `end`, all."""
        if self.exhausted in (None, end):
            return self.limits
        kept = {resource: limit * self.reserve for resource, limit in self.limits.items()}
        if self.model_calls:
            kept["model_calls"] = min(math.ceil(kept["model_calls"]), self.model_calls - 1)
        return {resource: limit - kept[resource] for resource, limit in self.limits.items()}

    def limits_of_fallback(self, spent: Mapping[str, float]) -> dict[str, float]:
        """Resource -> how much the run may have spent, by the notes of `at_closing`, when its fallback ends.

        What was kept for the fallback is there for it also where calls in flight went over; model calls never do.
        """
        limits = self.limits
        for resource in limits.keys() - {"model_calls"}:
            left = spent.get(f"{CLOSED} {resource}", 0) + limits[resource] * self.reserve
            limits[resource] = max(limits[resource], left)
        return limits


@dataclass(frozen=True, slots=True)
class Overspent:
    """The resource of a budget that is used up."""

    resource: str
    """Which one."""
    limit: float
    """How much of it there was."""
    spent: float
    """How much of it is spent."""
    note: str = ""
    """Why, if it was not simply used up."""

    def __str__(self) -> str:
        return self.note or f"{self.spent:g} of {self.limit:g} {UNITS[self.resource]} spent"


def overspent(limits: Mapping[str, float], spent: Mapping[str, float]) -> Overspent | None:
    """The first resource of which nothing is left, if there is one."""
    for resource, limit in limits.items():
        unpriced = resource == "money" and spent.get(UNPRICED)
        if unpriced or spent.get(resource, 0) >= limit:
            note = "no price is known for a model, so its cost cannot be bounded" if unpriced else ""
            return Overspent(resource, limit, spent.get(resource, 0), note)
    return None


def new_run() -> Spent:
    """What names a run that begins, beside what it spends."""
    return {RUN_ID: secrets.randbits(53)}


def added(one: Mapping[str, float], other: Mapping[str, float]) -> Spent:
    """The sum of two amounts."""
    return {resource: one.get(resource, 0) + other.get(resource, 0) for resource in {**one, **other}}


def since(total: Mapping[str, float], start: Mapping[str, float]) -> Spent:
    """What was spent after `start`."""
    return {resource: amount - start.get(resource, 0) for resource, amount in total.items()}


def at_closing(total: Mapping[str, float]) -> Spent:
    """What is noted beside the amounts when the fallback begins: that it does, and what was spent until then."""
    return {CLOSED: 1, **{f"{CLOSED} {resource}": total.get(resource, 0) for resource in get_args(Resource)}}


def merge_spent(old: Mapping[str, float], new: Mapping[str, float]) -> Spent:
    """Reduce two totals in the channel: the larger one counts.

    Every node writes the run's total when it ends, so the order of the writes does not matter, and nothing is lost
    where one of them is. What only names a run begins it; what another one spent comes out of a cache.
    """
    if new.get(RUN_ID) == old.get(RUN_ID):
        return larger(old, new)
    return dict(old if new.keys() - {RUN_ID} else new)


def larger(old: Mapping[str, float], new: Mapping[str, float]) -> Spent:
    """Of two totals, the larger amount of each resource."""
    return {**old, **{resource: amount for resource, amount in new.items() if amount > old.get(resource, 0)}}
