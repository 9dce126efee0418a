"""Probabilities of words out of token log-probabilities, in the forms that LangChain hands on."""

from __future__ import annotations

import math

import pytest
from langchain_core.messages import AIMessage

from loopwright.errors import ConfigError
from loopwright.models.logprobs import word_probabilities

WORDS = ("Bad", "Poor", "Fair", "Good", "Excellent")


def message(tokens: list[tuple[str, dict[str, float]]], ollama: bool = False) -> AIMessage:
    """A reply of tokens, each with what else was likely."""
    entries = [
        {"token": text, "logprob": math.log(listed.get(text, 1.0)), "top_logprobs": [
            {"token": token, "logprob": math.log(p)} for token, p in listed.items()
        ]}
        for text, listed in tokens
    ]  # fmt: skip
    text = "".join(token for token, _ in tokens)
    return AIMessage(text, response_metadata={"logprobs": entries if ollama else {"content": entries, "refusal": None}})


def reply(listed: dict[str, float], chosen: str = "Good", before: str = '{"answer": "', after: str = '"}') -> AIMessage:
    return message([(before, {}), (chosen, listed), (after, {})])


def test_the_place_is_the_value_of_the_field():
    other = {"Good": 0.2, "Bad": 0.8}
    tokens = [
        ('{"', {}),
        ("note", {}),
        ('":"', {}),
        ("Good", other),
        ('","answer', {}),
        ('": "', {}),
        ("Fair", {"Fair": 1.0}),
        ('"}', {}),
    ]
    assert word_probabilities(message(tokens), "answer", WORDS)["Fair"] == 1
    assert word_probabilities(message(tokens), "note", WORDS)["Bad"] == pytest.approx(0.8)


def test_a_quote_in_the_same_token_is_passed_over():
    tokens = [('{"answer":', {}), ('"Good', {'"Good': 0.7, '"Fair': 0.3}), ('"}', {})]
    found = word_probabilities(message(tokens), "answer", WORDS)
    assert (found["Good"], found["Fair"]) == (pytest.approx(0.7), pytest.approx(0.3))


@pytest.mark.parametrize(
    "unusable",
    [
        AIMessage('{"answer": "Good"}'),
        AIMessage("", response_metadata={"logprobs": None}),
        AIMessage("", response_metadata={"logprobs": {"content": None}}),
        AIMessage("", response_metadata={"logprobs": [{"token": 3}, "x", None]}),
        reply({"Good": 0.5, "Fair": 0.2}),
        reply({"Good": 0.5, "Unable": 0.5}),
        reply({"Good": 0.5, "": 0.5}),
        message([('{"other": "', {}), ("Good", {"Good": 1.0}), ('"}', {})]),
        message([('{"answer": "', {"x": 1.0})]),
        message([('{"answer": ', {}), ("3", {"3": 1.0}), ("}", {})]),
    ],
)
def test_nothing_is_made_up(unusable):
    assert word_probabilities(unusable, "answer", WORDS) is None


def test_words_that_begin_alike_are_refused():
    with pytest.raises(ConfigError, match="same letter"):
        word_probabilities(reply({"Good": 1.0}), "answer", ("Good", "Great"))
