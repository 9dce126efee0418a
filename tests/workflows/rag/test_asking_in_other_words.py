"""Complexity, rewriting, stand-alone questions and next hops."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.workflows.rag.asking.asked import AnswerType, read_asked
from loopwright.workflows.rag.asking.clauses import main_terms
from loopwright.workflows.rag.asking.complexity import complexity_of
from loopwright.workflows.rag.asking.hops import next_query
from loopwright.workflows.rag.asking.rewriting import rewrite
from loopwright.workflows.rag.asking.routing import direct_answer, route_of
from loopwright.workflows.rag.asking.standalone import standalone_question
from loopwright.workflows.rag.asking.words import normal_form
from loopwright.workflows.rag.schemas import Complexity, Evidence

DATA = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "qa"


def passage(title: str, text: str) -> Evidence:
    return Evidence(id=title, title=title, text=text)


def all_rewrites(question: str) -> list[str]:
    queries = [question]
    while (query := rewrite(question, queries)) != queries[-1]:
        queries.append(query)
        assert len(queries) < 60
    return queries[1:]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote Hamlet?", Complexity.ONE_HOP),
        ("How many vacation days do employees get?", Complexity.ONE_HOP),
        ("Who directed the film in which Tom Hanks played Captain Miller?", Complexity.MULTI_HOP),
        ("Which band was formed first, The Exies or Circus Diablo?", Complexity.COMPARISON),
        ("Are Alien and Blade Runner both directed by Ridley Scott?", Complexity.COMPARISON),
        ("เมืองหลวงของประเทศไทยคืออะไร", Complexity.ONE_HOP),
        ("ผู้กำกับภาพยนตร์เรื่องพี่มากเกิดที่จังหวัดของใคร", Complexity.MULTI_HOP),
        ("กรุงเทพหรือเชียงใหม่ใหญ่กว่ากัน", Complexity.COMPARISON),
        ("中国的首都是哪里？", Complexity.ONE_HOP),
        ("《红楼梦》的作者的父亲是谁？", Complexity.MULTI_HOP),
        ("北京和上海哪个更大？", Complexity.COMPARISON),
    ],
)
def test_complexity_is_read_from_the_wording(question: str, expected: Complexity) -> None:
    assert complexity_of(question) is expected


@pytest.mark.skipif(not DATA.exists(), reason="the shared questions are not here")
@pytest.mark.parametrize(("name", "least"), [("hotpotqa", 0.8), ("musique", 0.8)])
def test_complexity_agrees_with_the_labels_of_public_questions(name: str, least: float) -> None:
    questions = [json.loads(line) for line in (DATA / f"{name}.questions.jsonl").read_text("utf-8").splitlines()]
    right = sum(
        complexity_of(each["question"])
        is (Complexity.COMPARISON if each["type"] == "comparison" else Complexity.MULTI_HOP)
        for each in questions
    )
    assert right / len(questions) >= least


def test_bitcoin_is_asked_for_in_at_least_three_other_ways() -> None:
    rewrites = all_rewrites("What is the price of Bitcoin today?")
    assert len(rewrites) >= 3
    assert len({normal_form(query) for query in rewrites}) == len(rewrites)
    assert all("bitcoin" in query.casefold() for query in rewrites[:3])
    assert "today" not in rewrites[1]
    assert any("cost" in query for query in rewrites)


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("ราคาบิตคอยน์วันนี้เท่าไหร่", "ราคาบิตคอยน์"),
        ("เมืองหลวงของประเทศไทยคืออะไร", "เมืองหลวงของประเทศไทย"),
        ("谁写了《红楼梦》？", "红楼梦"),
        ("今天比特币的价格是多少？", "比特币 价格"),
    ],
)
def test_thai_and_chinese_question_words_are_dropped(question: str, wanted: str) -> None:
    assert wanted in all_rewrites(question)


def test_a_nested_clause_and_a_comparison_are_taken_apart() -> None:
    assert "film Alien director" in all_rewrites("When was the director of the film Alien born?")
    parts = all_rewrites("Which band was formed first, The Exies or Circus Diablo?")
    assert any("Exies" in query and "Diablo" not in query for query in parts)
    assert any("Diablo" in query and "Exies" not in query for query in parts)


def test_nothing_new_gives_the_last_query_again() -> None:
    assert rewrite("Hamlet?", ["Hamlet?"]) == "Hamlet?"
    assert rewrite("", []) == ""
    assert rewrite("Who wrote Hamlet?", []) == "wrote Hamlet"


def test_what_was_missed_and_what_the_graph_calls_it_steer_the_next_query() -> None:
    question = "How fast does the Falcon engine burn kerosene?"
    assert rewrite(question, [question], ['no passage mentions "kerosene"']) == "kerosene"
    tried = [question, "fast Falcon engine burn kerosene"]
    assert "Merlin 1D" in rewrite(question, tried, names=["Merlin 1D"])


CURIE = ["Who was Marie Curie?", "Marie Curie was a physicist who was born in Warsaw. [1]"]


@pytest.mark.parametrize(
    ("question", "history", "expected"),
    [
        ("and when was she born?", CURIE, "When was Marie Curie born?"),
        ("What is her husband's name?", CURIE, "What is Marie Curie's husband's name?"),
        ("And Pierre Curie?", ["When was Marie Curie born?", "1867"], "When was Pierre Curie born?"),
        ("What is the population there?", CURIE, "What is the population in Warsaw?"),
        ("Who directed it?", ['When was "The Matrix" released?', "1999"], "Who directed The Matrix?"),
        ("แล้วเขาเกิดเมื่อไหร่", ["สุนทรภู่คือใคร", "กวี"], "สุนทรภู่เกิดเมื่อไหร่"),
        ("她什么时候出生？", ["玛丽·居里是谁？", "物理学家。"], "玛丽·居里什么时候出生？"),
        ("那出生在哪里？", ["鲁迅是谁？", "作家。"], "鲁迅出生在哪里？"),
        ("Who wrote Hamlet?", CURIE, "Who wrote Hamlet?"),
        ("and when was she born?", [], "and when was she born?"),
        ("Is it true that water is wet?", CURIE, "Is it true that water is wet?"),
    ],
)
def test_a_follow_up_stands_alone(question: str, history: list[str], expected: str) -> None:
    assert standalone_question(question, history) == expected


def test_the_next_hop_takes_the_bridge_and_what_is_still_open() -> None:
    question = "What is the native language of the person who broke the salt law in India in 1930?"
    found = [passage("Salt March", "The salt law was broken in India in 1930 by Mahatma Gandhi at Dandi.")]
    query = next_query(question, found, [question])
    assert query is not None
    assert "Gandhi" in query
    assert "language" in query
    assert next_query(question, found, [question, query]) != query


def test_the_next_hop_of_a_comparison_is_the_thing_that_is_missing() -> None:
    question = "Which magazine was published first, Guitar World or Science News?"
    found = [passage("Guitar World", "Guitar World is a magazine published since July 1980.")]
    query = next_query(question, found, [question])
    assert query is not None
    assert query.startswith("Science News")
    both = [*found, passage("Science News", "Science News was first published in 1922.")]
    assert next_query(question, both, [question]) is None


def test_no_hop_where_one_step_or_one_passage_answers() -> None:
    assert next_query("Who wrote Hamlet?", [passage("Hamlet", "Hamlet is by William Shakespeare.")], []) is None
    nested = "When was the director of the film Alien born?"
    assert next_query(nested, [], [nested]) is None
    covered = passage("Alien", "Ridley Scott, director of the film Alien, was born in 1937.")
    assert next_query(nested, [covered], [nested]) is None


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who wrote Hamlet?", AnswerType.PERSON),
        ("Which city hosted it?", AnswerType.PLACE),
        ("In what year did it end?", AnswerType.DATE),
        ("How many people live there?", AnswerType.NUMBER),
        ("Is Paris in France?", AnswerType.YES_NO),
        ("Who is older, Ann or Bob?", AnswerType.CHOICE),
        ("What is photosynthesis?", AnswerType.DEFINITION),
        ("Why is the sky blue?", AnswerType.EXPLANATION),
        ("What song did she sing?", AnswerType.THING),
        ("ใครแต่งพระอภัยมณี", AnswerType.PERSON),
        ("เขาเกิดเมื่อไหร่", AnswerType.DATE),
        ("ร้านนี้เปิดวันอาทิตย์ไหม", AnswerType.YES_NO),
        ("北京有多少人口？", AnswerType.NUMBER),
        ("为什么天是蓝的？", AnswerType.EXPLANATION),
    ],
)
def test_the_kind_of_answer_is_read(question: str, kind: AnswerType) -> None:
    assert read_asked(question).type is kind


def test_the_main_clause_leaves_out_what_only_describes() -> None:
    asked = main_terms("When did the state where Pocahontas Mounds is located become part of the United States?")
    assert "becom" in asked
    assert "pocahonta" not in asked
    assert main_terms("What did Marie Curie discover?") == {"discov"}


@given(st.text(alphabet="Who what 's of the Ann Lee, in? “»กำลัง谁的中国 1+%(\n", max_size=200), st.text(max_size=40))
def test_any_text_can_be_asked(question: str, other: str) -> None:
    found = [passage("Ann Lee", f"{other} Ann Lee was in {question}.")]
    assert complexity_of(question) in Complexity
    assert read_asked(question).type in AnswerType
    assert standalone_question(question, [other, question]).strip() or not question.strip()
    assert isinstance(rewrite(question, [other], [other], [other]), str)
    query = next_query(question, found, [question])
    assert query is None or normal_form(query) != normal_form(question)
    assert route_of(question, [other]) in ("direct_answer", "web_search", "knowledge_graph_retrieval")
    assert direct_answer(question)
