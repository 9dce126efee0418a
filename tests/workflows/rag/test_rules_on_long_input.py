"""The rules end on long input of the kinds that make patterns and loops slow."""

from __future__ import annotations

import pytest

from loopwright.retrieval.names import entity_key, find_mentions
from loopwright.retrieval.records import Evidence
from loopwright.workflows.files.rst import as_markdown
from loopwright.workflows.rag.answer.citations import cite
from loopwright.workflows.rag.answer.reader import extract_answer
from loopwright.workflows.rag.answer.sentences import sentence_spans

LENGTH = 20_000


def long(piece: str) -> str:
    return piece * (LENGTH // len(piece))


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    "piece", [":a:", "[1", "1", "1,", "1,111,", "1999 1 ", ".", '."', " ", "(", "(ab)", "The ", "A of "]
)
def test_every_rule_ends_on_a_repeated_piece(piece: str) -> None:
    text = f"x{long(piece)}x"
    evidence = [Evidence(id="a", title="a", text=text)]
    assert sentence_spans(text)[0][0] == 0
    assert as_markdown(text).startswith("x")
    assert cite(text, evidence).citations == ()
    assert extract_answer("How many days?", evidence).confidence <= 1
    assert entity_key(text).startswith("x")
    assert all(len(mention.name) <= 200 for mention in find_mentions(text))


def test_a_long_title_in_a_long_text_is_no_name() -> None:
    assert find_mentions(long("x "), title=f"{long('x ')}y") == []


def test_a_long_question_about_both_ends() -> None:
    evidence = [Evidence(id=name, title=name, text=f"{name} is a city.") for name in ("Alpha", "Beta")]
    assert extract_answer(f"Are Alpha and Beta both {long('a')}!", evidence).confidence <= 1
