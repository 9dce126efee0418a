"""Usage adds up, per node and per model, and says what it does not know."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from loopwright.models import UsageRecorder


def reply(tokens_in: int, tokens_out: int, total: int | None = None) -> AIMessage:
    total = tokens_in + tokens_out if total is None else total
    return AIMessage(
        "x", usage_metadata={"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": total}
    )


def test_cost():
    prices = {"big": 0.01, "free": 0.0}
    asked = []

    def price(model, usage):
        asked.append((model, usage.total_tokens))
        return prices[model] * usage.total_tokens if model in prices else None

    recorder = UsageRecorder(price)
    assert recorder.cost() == 0.0
    recorder.record(reply(60, 40), node="a", model="big")
    recorder.record(reply(10, 0), node="b", model="big")
    recorder.record(reply(10, 0), node="b", model="free")
    assert recorder.cost() == pytest.approx(1.1)
    assert asked == [("big", 110), ("free", 10)]
    recorder.record(reply(1, 1), model="unheard of")
    assert recorder.cost() is None
    assert UsageRecorder().cost() is None
