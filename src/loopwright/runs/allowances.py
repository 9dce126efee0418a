"""What runs may spend together, per day, thread or key of the input: set aside before each call, settled after it.

It is kept in the run history, where each change is one transaction: however many processes share a history, what is set
aside and spent together stays within an allowance. What a process had set aside when it was killed stays counted, since
nobody knows what became of its calls.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from loopwright.config import Allowance
from loopwright.database import storable
from loopwright.engine.budget.budget import Overspent, PriceTable, Usage
from loopwright.runs.live import patiently
from loopwright.runs.schemas import Charge, RunRecord
from loopwright.runs.store.history import RunStore

_USD = 10**12
"""Dollars are counted in so many parts: whole numbers add up."""

_LONGEST = 250
"""A key with more characters is kept by its digest: an entry of PostgreSQL's ordered index holds 2,704 bytes."""


@dataclass(eq=False)
class RunAllowances:
    """The allowances of one run, as its meter asks for them; see `loopwright.engine.budget.meter.Allowance`."""

    store: RunStore
    """Where they are kept."""
    allowances: Sequence[Allowance]
    """All that there are."""
    record: RunRecord
    """The run."""
    price: PriceTable | None
    """What models cost."""
    patience: float
    """Seconds to wait for a database that is gone."""
    _set_aside: dict[UUID, list[Charge]] = field(default_factory=dict[UUID, list[Charge]], init=False)

    def reserve(self, call: UUID, model: str, prompt_tokens: int, reply_tokens: int | None) -> Overspent | None:
        """Set aside what a call may take."""
        charges: list[Charge] = []
        for allowance in self.allowances:
            reply = allowance.reply_tokens if reply_tokens is None else reply_tokens
            usage = Usage(calls=1, input_tokens=prompt_tokens, output_tokens=reply, total_tokens=prompt_tokens + reply)
            cost = self._cost(model, usage)
            if allowance.usd is not None and cost is None:
                told = f"no price is known for model {model!r}, so an allowance in dollars does not let it be called"
                return Overspent("money", allowance.usd, 0, told)
            limits = {"model_calls": allowance.model_calls, "tokens": allowance.tokens, "usd": _parts(allowance.usd)}
            given = {name: limit for name, limit in limits.items() if limit is not None}
            charges.append(Charge(self._key(allowance.per), _amounts(usage, cost), given))
        if refused := self._charge(charges):
            return _told(*refused)
        self._set_aside[call] = charges
        return None

    def settle(self, call: UUID, model: str, usage: Usage | None) -> None:
        """Count what a call took instead of what was set aside for it."""
        took = _amounts(usage or Usage(), self._cost(model, usage) if usage else 0.0)
        known = self._set_aside.pop(call, None)
        if known is None:
            self._charge([Charge(self._key(allowance.per), took) for allowance in self.allowances])
            return
        took["model_calls"] = 1  # it was sent, whatever became of it
        self._charge(
            [Charge(one.key, {name: took[name] - amount for name, amount in one.amounts.items()}) for one in known]
        )

    def _cost(self, model: str, usage: Usage) -> float | None:
        return self.price(model, usage) if self.price else None

    def _key(self, per: str) -> str:
        if per == "day":
            return f"day {datetime.now(UTC):%Y-%m-%d}"
        value: Any = self.record.input
        for part in per.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        value = thread_of(self.record) if per == "thread" else value
        key = storable(f"{per} {value if isinstance(value, str) else json.dumps(value, sort_keys=True)}")
        return key if len(key) <= _LONGEST else f"{key[:100]}~{hashlib.sha256(key.encode()).hexdigest()}"

    def _charge(self, charges: Sequence[Charge]) -> tuple[Charge, str, int] | None:
        return patiently(lambda: self.store.charge(charges), self.patience)


def thread_of(record: RunRecord) -> str:
    """The first run of those that go on from one another."""
    return (record.parent.thread or record.parent.run_id) if record.parent else record.id


def _parts(usd: float | None) -> int | None:
    return None if usd is None else round(usd * _USD)


def _amounts(usage: Usage, cost: float | None) -> dict[str, int]:
    return {"model_calls": usage.calls, "tokens": usage.total_tokens, "usd": _parts(cost) or 0}


def _told(charge: Charge, name: str, taken: int) -> Overspent:
    unit, resource = (_USD, "money") if name == "usd" else (1, name)
    limit, spent, more = (each / unit for each in (charge.limits[name], taken, charge.amounts[name]))
    words = {"model_calls": "model calls", "tokens": "tokens", "usd": "dollars"}[name]
    note = f"of the allowance for {charge.key}, {spent:g} of {limit:g} {words} are spent or set aside, and a call"
    return Overspent(resource, limit, spent, f"{note} may take {more:g}")
