"""What a usage costs, by the package that keeps the prices."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from loopwright.models import Usage, UsageRecorder
from loopwright.models.prices import kept_prices

MILLION = Usage(calls=1, input_tokens=1_000_000, output_tokens=500_000)


def test_kept_prices() -> None:
    pytest.importorskip("genai_prices")
    prices = kept_prices()
    one = prices("gpt-4.1-mini", Usage(calls=1, input_tokens=1_000_000, output_tokens=0))
    assert one is not None and one > 0
    assert prices("no-such-model", MILLION) is None
    assert kept_prices("no-such-provider")("gpt-4.1-mini", MILLION) is None


def test_kept_prices_of_several_calls_are_those_of_short_prompts() -> None:
    """Together the calls are longer than what a provider charges the higher price for; none of them is."""
    pytest.importorskip("genai_prices")
    prices = kept_prices("google")
    short = prices("gemini-2.5-pro", Usage(calls=1, input_tokens=100_000, output_tokens=10))
    many = prices("gemini-2.5-pro", Usage(calls=10, input_tokens=1_000_000, output_tokens=100))
    long = prices("gemini-2.5-pro", Usage(calls=1, input_tokens=1_000_000, output_tokens=100))
    assert short is not None and many is not None and long is not None
    assert many == pytest.approx(10 * short)
    assert long > many


def reply(tokens_in: int, tokens_out: int) -> AIMessage:
    total = tokens_in + tokens_out
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
    assert asked == [("big", 100), ("big", 10), ("free", 10)]
    recorder.record(reply(1, 1), model="unheard of")
    assert recorder.cost() is None
    assert UsageRecorder().cost() is None
