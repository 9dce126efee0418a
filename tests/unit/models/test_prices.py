"""What a usage costs, by a list of one's own or by a package that keeps one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from loopwright.errors import ConfigError, ModelError
from loopwright.models import Usage
from loopwright.models.prices import PriceList, kept_prices

LIST = {
    "currency": "EUR",
    "models": {
        "gpt-4.1*": {"input": 2, "output": 8},
        "gpt-*": {"input": 100, "output": 100},
        "gpt-4.1-mini": {"input": 0.4, "output": 1.6, "cached_input": 0.1},
        "free": {"input": 0, "output": 0},
    },
}
MILLION = Usage(calls=1, input_tokens=1_000_000, output_tokens=500_000)


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("gpt-4.1-mini", 1.2),
        ("gpt-4.1-mini-2025-04-14", 6.0),
        ("gpt-5", 150.0),
        ("free", 0.0),
        ("GPT-5", None),
        ("claude", None),
    ],
)
def test_the_exact_name_then_the_first_pattern(model: str, price: float | None) -> None:
    assert PriceList.load(LIST)(model, MILLION) == (None if price is None else pytest.approx(price))


def test_cached_tokens_of_a_reply_cost_less() -> None:
    prices = PriceList.load(LIST)
    tokens: Any = {"input_tokens": 1000, "output_tokens": 100, "total_tokens": 1100}
    plain = AIMessage("x", usage_metadata=tokens)
    cached = AIMessage("x", usage_metadata={**tokens, "input_token_details": {"cache_read": 600}})
    assert prices.of_reply("gpt-4.1-mini", plain) == pytest.approx((1000 * 0.4 + 100 * 1.6) / 1e6)
    assert prices.of_reply("gpt-4.1-mini", cached) == pytest.approx((400 * 0.4 + 600 * 0.1 + 100 * 1.6) / 1e6)
    assert prices.of_reply("gpt-4.1-nano", cached) == prices.of_reply("gpt-4.1-nano", plain), "no discount is known"


@pytest.mark.parametrize(
    ("model", "message"), [("claude", AIMessage("x")), ("gpt-5", AIMessage("x")), ("gpt-5", HumanMessage("x"))]
)
def test_a_reply_of_unknown_price(model: str, message: Any) -> None:
    assert PriceList.load(LIST).of_reply(model, message) is None


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text("models:\n  'gpt-*': {input: 2, output: 8}\n", encoding="utf-8")
    prices = PriceList.load(path)
    assert (prices.currency, prices("gpt-5", MILLION)) == ("USD", 6.0)
    assert PriceList.load(str(path)) == prices


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("models: [", "is not valid YAML"),
        ("- a", "valid dictionary"),
        ("", "valid dictionary"),
        ("modls: {}", "modls: Extra inputs are not permitted"),
        ("models: {a: {input: 1}}", r"models\.a\.output: Field required"),
        ("models: {a: {input: -1, output: 1}}", r"models\.a\.input: Input should be greater than or equal to 0"),
        ("models: {a: {input: .nan, output: 1}}", r"models\.a\.input: Input should be"),
        ("models: {a: {input: 1, output: 1, cache: 1}}", r"models\.a\.cache: Extra inputs.*: input, output, cached_input"),
        ("currency: ''", "currency: String should have at least 1 character"),
    ],
)  # fmt: skip
def test_wrong_lists_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=problem) as caught:
        PriceList.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the price list .*none\.yaml: No such file"):
        PriceList.load(tmp_path / "none.yaml")


def test_the_package_is_named_where_it_is_missing(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(
        ModelError, match=r"genai_prices cannot be imported\. Install it: pip install 'loopwright\[prices\]'"
    ):
        kept_prices()


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
