"""Routes and direct answers, in six languages."""

from __future__ import annotations

import pytest

from loopwright.workflows.rag.question.routing import direct_answer, route_of

GREETINGS = ["Hello", "Good morning!", "danke schön", "merci beaucoup", "Muchas gracias", "ขอบคุณมากค่ะ", "谢谢"]
ABOUT_ITSELF = ["Who are you?", "What can you do?", "are you a robot?", "Wer bist du?", "คุณคือใคร", "你是谁？", "help"]


@pytest.mark.parametrize("question", [*GREETINGS, *ABOUT_ITSELF])
def test_small_talk_and_questions_about_itself_need_no_documents(question: str) -> None:
    assert route_of(question) == "direct_answer"
    assert direct_answer(question)


def test_a_greeting_is_answered_in_its_language() -> None:
    assert direct_answer("Guten Morgen").startswith("Hallo")
    assert direct_answer("สวัสดีค่ะ").startswith("สวัสดี")
    assert direct_answer("您好").startswith("你好")
    assert direct_answer("Gracias") == "De nada."
    assert "Loopwright" in direct_answer("What are you?")


@pytest.mark.parametrize(
    "question",
    [
        "What is the price of Bitcoin today?",
        "Hello, who wrote Hamlet?",
        "What is 12 Monkeys?",
        "What happened on 9/11?",
        "1914-1918",
        "Thank you for the Music was written by whom?",
        "ราคาบิตคอยน์วันนี้เท่าไหร่",
        "谁写了《红楼梦》？",
        "",
    ],
)
def test_everything_else_is_looked_up_in_the_graph_first(question: str) -> None:
    assert route_of(question) == "knowledge_graph_retrieval"


def test_the_web_alone_means_the_last_question_of_a_chat() -> None:
    assert route_of("Search the web") == "direct_answer"
    assert direct_answer("Search the web").endswith("?")
    assert route_of("Search the web for it", ["Who won the 2022 World Cup?", "I don't know"]) == "web_search"
