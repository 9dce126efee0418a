"""Asking in other words, stand-alone questions and complexity, on any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowledge import BRIDGES, passage_of

from loopwright.workflows.rag.question.complexity import complexity_of
from loopwright.workflows.rag.question.forms import lexicon_of
from loopwright.workflows.rag.question.rewriting import widened
from loopwright.workflows.rag.question.routing import direct_answer, route_of
from loopwright.workflows.rag.question.standalone import standalone_question
from loopwright.workflows.rag.question.words import normal_form
from loopwright.workflows.rag.schemas import Complexity

FOUND = [passage_of(each) for each in BRIDGES]


def all_queries(question: str) -> list[str]:
    queries = [question]
    while (step := widened(question, queries, lexicon=lexicon_of(FOUND), nearest=FOUND)) is not None:
        queries.append(step.query)
        assert len(queries) < 200
    return queries[1:]


def test_every_way_to_ask_is_another_one_and_the_first_widen() -> None:
    queries = all_queries("When was the Brookyln Bridge opend?")
    assert len({normal_form(query) for query in queries}) == len(queries) >= 3
    assert "brooklyn" in queries[0] and "open" in queries[0]
    assert all(len(normal_form(query)) >= len(normal_form(queries[0])) for query in queries[:2])


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("And her deputy?", " (Halden, founded)"),
        ("Since when?", " (Halden, founded)"),
        ("How many are there?", " (Halden, founded)"),
        ("谁?", " (Halden, founded)"),
        ("How much is a chain?", ""),
        ("How many parking spaces are there?", ""),
        ("Gibt es Parkplätze?", ""),
        ("长城有多长?", ""),
    ],
)
def test_a_question_of_a_chat_takes_up_what_was_named_only_where_it_refers_to_it(question: str, added: str) -> None:
    assert standalone_question(question, ["Who founded Halden?", "Ada did."]) == question + added


def test_where_no_way_is_left_it_says_so() -> None:
    assert widened("Hamlet?", ["Hamlet?"]) is None
    assert widened("", []) is None


@given(st.text(alphabet="Who what 's of the Ann Lee, in? “»กำลัง谁的中国 1+%(\n", max_size=200), st.text(max_size=40))
def test_any_text_can_be_asked(question: str, other: str) -> None:
    assert complexity_of(question) in Complexity
    assert standalone_question(question, [other, question]).strip() or not question.strip()
    assert widened(question, [other], lexicon=lexicon_of(FOUND), nearest=FOUND) is None or question.strip()
    assert route_of(question, [other]) in ("direct_answer", "web_search", "knowledge_graph_retrieval")
    assert direct_answer(question)
