"""What becomes of a chat model's replies: the rules stand wherever a small model says nothing, or what is not so."""

from __future__ import annotations

import pytest
from assistant_answers import SOURDOUGH

from loopwright.workflows.assistant.answering import EvaluationReply, evaluation_of
from loopwright.workflows.assistant.conference.sample import sample_store
from loopwright.workflows.assistant.config import AssistantSection
from loopwright.workflows.assistant.nodes.planning import PlanReply
from loopwright.workflows.assistant.reflecting import ReflectionReply, reflection_of, shown_search
from loopwright.workflows.assistant.schemas import Evaluation, Filters, PlannedQuery, Reflection, Table, Understanding
from loopwright.workflows.assistant.searching import Search

CONFIG = AssistantSection()
RULES = Understanding(
    standalone="Whom should I meet about bees?",
    intent="people on a topic",
    query_mode="hybrid",
    tables=(Table.ATTENDEES, Table.SPEAKERS),
    topic="bees",
)
OWN = Reflection(reasoning="By rules.", strategy="relax", message="By rules.", queries=())


def test_a_plan_takes_what_the_model_says_and_leaves_the_rest_to_the_rules() -> None:
    reply = PlanReply(standalone="x", tables=[Table.SPEAKERS, Table.SPEAKERS], topic=" wild\nbees ")
    made = reply.over(RULES, list(Table))
    assert (made.tables, made.topic) == ((Table.SPEAKERS,), "wild bees")
    assert (made.standalone, made.intent, made.query_mode) == (RULES.standalone, RULES.intent, "hybrid")


def test_a_plan_has_no_tables_that_the_conference_lacks() -> None:
    reply = PlanReply(standalone="x", tables=[Table.ATTENDEES, Table.SESSIONS])
    assert reply.over(RULES, [Table.SESSIONS, Table.SPEAKERS]).tables == (Table.SESSIONS,)
    assert reply.over(RULES, [Table.SPEAKERS]).tables == RULES.tables


def test_a_plan_that_looks_everywhere_leaves_the_tables_to_the_rules() -> None:
    reply = PlanReply(standalone="x", tables=list(Table))
    assert reply.over(RULES, list(Table)).tables == RULES.tables


def test_where_every_word_sets_a_filter_the_rules_say_where_to_look_and_for_what() -> None:
    timed = RULES.model_copy(update={"topic": "", "filters": Filters(days=("2027-04-17",))})
    reply = PlanReply(standalone="x", tables=[Table.EXHIBITORS], topic="Sunday morning", intent="what is on")
    made = reply.over(timed, list(Table))
    assert (made.tables, made.topic, made.intent) == (RULES.tables, "", "what is on")


def replanned(query: dict[str, object], message: str = "Let me look again.") -> Reflection:
    reply = ReflectionReply.model_validate({"reasoning": "Why.", "message": message, "queries": [query]})
    tried = [[PlannedQuery(table=Table.SESSIONS, query_text="bees")]]
    return reflection_of(reply, RULES, tried, OWN, CONFIG)


@pytest.mark.parametrize(
    ("query", "strategy"),
    [
        ({"table": "sessions", "query_text": "Bees", "score_threshold": 0.25}, "relax"),
        ({"table": "sessions", "query_text": "apiculture"}, "rewrite"),
        ({"table": "sessions", "query_text": "bees", "search_mode": "faceted"}, "pivot"),
        ({"table": "exhibitors", "query_text": "bees"}, "pivot"),
        ({"table": "exhibitors", "query_text": "apiculture"}, "pivot"),
    ],
)
def test_the_strategy_is_told_from_the_searches(query: dict[str, object], strategy: str) -> None:
    assert replanned(query).strategy == strategy


@pytest.mark.parametrize(
    "message", ["", "  ", "I need to look in another table.", "Let me lower the score_threshold.", "A faceted search."]
)
def test_a_message_about_the_machinery_is_said_in_plain_words(message: str) -> None:
    said = replanned({"table": "sessions", "query_text": "apiculture"}, message).message
    assert said == 'There is too little so far, so I look for "apiculture".'


def test_a_model_is_not_shown_what_is_there_by_chance() -> None:
    with sample_store() as store:
        search = Search(store)
        understanding = RULES.model_copy(update={"topic": "weather forecasts", "tables": (Table.SESSIONS,)})
        query = PlannedQuery(table=Table.SESSIONS, query_text="weather forecasts")
        outcome = search.run(query)
        shown = shown_search(understanding, [outcome], [[query]], search)
        assert any(each.score < 0.2 for each in outcome.near_misses)
    assert all(line == "none" or float(line.split()[1]) >= 0.2 for line in shown["near"].splitlines())
    assert shown["tried"].startswith('- sessions "weather forecasts", threshold 0.35: ')


def test_alternatives_of_time_and_place_are_shown_on_one_line() -> None:
    either = (Filters(days=("2027-04-17",), rooms=("Janson", "UD2")), Filters(speakers=("Ana\nReis",)))
    with sample_store() as store:
        shown = shown_search(RULES.model_copy(update={"filters": Filters(any_of=either)}), [], [], Search(store))
    assert shown["filters"] == "any of (days 2027-04-17; rooms Janson, UD2) or (speakers Ana Reis)"


def test_a_model_that_objects_to_the_records_own_words_is_not_believed() -> None:
    own = Evaluation(quality_score=1.0, confidence_score=0.6, faithfulness_score=1.0)
    reply = EvaluationReply(
        met=["on sourdough"],
        supported=["it is in Hall 2"],
        unsupported=[
            "it is on Sat 4 May at 10:00",
            "it is about sourdough at home",
            "Ana Reis won a prize",
            "it is at 14:00",
        ],
        advice="Leave out the prize.",
    )
    found = evaluation_of(reply, own, [SOURDOUGH])
    assert found.issues == ("unsupported: Ana Reis won a prize", "unsupported: it is at 14:00")
    assert found.faithfulness_score == 0.6 and found.feedback == "Leave out the prize."


def test_advice_without_a_fault_is_dropped() -> None:
    own = Evaluation(quality_score=1.0, confidence_score=0.6, faithfulness_score=1.0)
    reply = EvaluationReply(
        met=["on sourdough"], supported=["it is in Hall 2"], advice="Say whether a stand sells flour."
    )
    assert evaluation_of(reply, own, [SOURDOUGH]).feedback == ""
