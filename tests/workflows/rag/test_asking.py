"""Asking in other words, stand-alone questions and complexity, on any text; routes and direct answers, in six languages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from knowledge import BRIDGES, passage_of

from loopwright.workflows.rag.question.forms import lexicon_of
from loopwright.workflows.rag.question.rewriting import widened
from loopwright.workflows.rag.question.routing import direct_answer, route_of
from loopwright.workflows.rag.question.standalone import standalone_question
from loopwright.workflows.rag.question.words import complexity_of, normal_form
from loopwright.workflows.rag.schemas import Complexity

FOUND = [passage_of(each) for each in BRIDGES]


def all_queries(question: str) -> list[str]:
    queries = [question]
    while (step := widened(question, queries, lexicon=lexicon_of(FOUND), nearest=FOUND)) is not None:
        queries.append(step[1])
        assert len(queries) < 200
    return queries[1:]


def test_every_way_to_ask_is_another_one_and_the_first_widen() -> None:
    queries = all_queries("When was the Brookyln Bridge opend?")
    assert len({normal_form(query) for query in queries}) == len(queries) >= 3
    assert "brooklyn" in queries[0] and "open" in queries[0]
    assert all(len(normal_form(query)) >= len(normal_form(queries[0])) for query in queries[:2])
    assert widened("Hamlet?", ["Hamlet?"]) is None and widened("", []) is None


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("And her deputy?", " (Halden, founded, Ada King)"), ("Since when?", " (Halden, founded)"),
        ("And the street?", " (Halden, founded, Ada King)"), ("And in Bern?", " (Halden, founded)"),
        ("When?", " (Halden, founded, Ada King)"), ("Und wer ist Hauswart?", " (Halden, founded)"),
        ("How many are there?", " (Halden, founded, Ada King)"), ("谁?", " (Halden, founded, Ada King)"),
        ("How much is a chain?", ""), ("How many parking spaces are there?", ""), ("Gibt es Parkplätze?", ""), ("长城有多长?", ""),
    ],
)  # fmt: skip
def test_a_question_of_a_chat_takes_up_what_was_named_only_where_it_refers_to_it(question: str, added: str) -> None:
    turns = ["Who founded Halden?", "Ada King did. [1]", "thank you", "You are welcome."]
    assert standalone_question(question, turns) == standalone_question(question, turns[:2]) == question + added
    other = [*turns, "And Bern?", "Head: Bo Kern\nDeputy: none. West Bern has one."]
    assert standalone_question("Since when does he lead it?", other) == "Since when does he lead it? (Bern, Bo Kern)"


@given(st.text(alphabet="Who what 's of the Ann Lee, in? “»กำลัง谁的中国 1+%(\n", max_size=200), st.text(max_size=40))
def test_any_text_can_be_asked(question: str, other: str) -> None:
    assert complexity_of(question) in Complexity
    assert standalone_question(question, [other, question]).strip() or not question.strip()
    assert widened(question, [other], lexicon=lexicon_of(FOUND), nearest=FOUND) is None or question.strip()
    assert route_of(question, [other]) in ("direct_answer", "web_search", "knowledge_graph_retrieval")
    assert direct_answer(question)


GREETINGS = ["Hello", "Good morning!", "danke schön", "merci beaucoup", "Muchas gracias", "ขอบคุณมากค่ะ", "谢谢"]
ABOUT_ITSELF = ["Who are you?", "What can you do?", "are you a robot?", "Wer bist du?", "คุณคือใคร", "你是谁？", "help"]


@pytest.mark.parametrize("question", [*GREETINGS, *ABOUT_ITSELF])
def test_small_talk_and_questions_about_itself_need_no_documents(question: str) -> None:
    assert route_of(question) == "direct_answer" and direct_answer(question)


def test_a_greeting_is_answered_in_its_language() -> None:
    assert direct_answer("Guten Morgen").startswith("Hallo")
    assert direct_answer("สวัสดีค่ะ").startswith("สวัสดี") and direct_answer("您好").startswith("你好")
    assert direct_answer("Gracias") == "De nada."
    assert "Loopwright" in direct_answer("What are you?")


@pytest.mark.parametrize(
    "question",
    [
        "What is the price of Bitcoin today?", "Hello, who wrote Hamlet?", "What is 12 Monkeys?",
        "What happened on 9/11?", "1914-1918", "Thank you for the Music was written by whom?",
        "ราคาบิตคอยน์วันนี้เท่าไหร่", "谁写了《红楼梦》？", "",
    ],
)  # fmt: skip
def test_everything_else_is_looked_up_in_the_graph_first(question: str) -> None:
    assert route_of(question) == "knowledge_graph_retrieval"


def test_the_web_alone_means_the_last_question_of_a_chat() -> None:
    assert route_of("Search the web") == "direct_answer"
    assert direct_answer("Search the web").endswith("?")
    assert route_of("Search the web for it", ["Who won the 2022 World Cup?", "I don't know"]) == "web_search"
