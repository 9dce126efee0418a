"""What a usage costs, by the package that keeps the prices."""

from __future__ import annotations

import pytest

from loopwright.models import Usage
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
