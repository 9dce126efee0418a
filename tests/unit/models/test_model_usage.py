"""Usage adds up, per node and per model, and says what it does not know."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.messages import AIMessage

from loopwright.models import Usage, UsageRecorder


def reply(tokens_in: int, tokens_out: int, total: int | None = None) -> AIMessage:
    total = tokens_in + tokens_out if total is None else total
    return AIMessage(
        "x", usage_metadata={"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": total}
    )


def test_text_says_what_is_unknown():
    assert str(Usage.of(reply(10, 5))) == "1 call(s), 15 tokens: 10 in, 5 out"
    both = Usage.of(reply(10, 5)) + Usage.of(AIMessage("x"))
    assert str(both) == "2 call(s), at least 15 tokens: 10 in, 5 out (1 call(s) with unknown tokens)"


def test_recorder_keeps_nodes_and_models_apart():
    recorder = UsageRecorder()
    assert recorder.total() == Usage()
    assert recorder.record(reply(1, 2), node="plan", model="big") == Usage.of(reply(1, 2))
    recorder.record(reply(10, 20), node="plan", model="small")
    recorder.record(reply(100, 200), node="sum", model="small")
    recorder.record_failure(node="sum", model="big")
    recorder.record(reply(5, 5), model="small")
    assert recorder.by_node()["plan"] == Usage(calls=2, input_tokens=11, output_tokens=22, total_tokens=33)
    assert recorder.by_node()["sum"].failed_calls == 1
    assert recorder.by_node()[None].calls == 1
    assert recorder.by_model()["small"].total_tokens == 340
    assert sum(recorder.by_model().values(), Usage()) == sum(recorder.by_node().values(), Usage()) == recorder.total()
    assert list(recorder.entries()) == [
        ("plan", "big"),
        ("plan", "small"),
        ("sum", "small"),
        ("sum", "big"),
        (None, "small"),
    ]


def test_no_count_is_lost_between_threads():
    recorder = UsageRecorder()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: recorder.record(reply(i, 1), node=f"n{i % 3}", model="m"), range(4000)))
    total = recorder.total()
    assert (total.calls, total.input_tokens, total.output_tokens) == (4000, sum(range(4000)), 4000)


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
