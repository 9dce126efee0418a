"""One message answered: the conversation, the profile, the modes, and what happens where something fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conferences import empty_conference, sample_services
from langchain_core.messages import HumanMessage

from loopwright.engine import arun
from loopwright.errors import InputError
from loopwright.testing import always
from loopwright.workflows.assistant import build_graph, chat
from loopwright.workflows.assistant.nodes.searching import execute_queries
from loopwright.workflows.assistant.schemas import PlannedQuery, Table
from loopwright.workflows.assistant.sources.catalogue import current

ODD = "Which sessions are about quantum yodelling?"


@pytest.fixture
def services():
    with sample_services() as opened:
        yield opened


def test_a_foreign_conversation_is_not_read(services):
    chat("Which keynotes are there?", user_context={"user_id": "ada", "conversation_id": "hers"}, services=services)
    stranger = {"user_id": "eve", "conversation_id": "hers"}
    result = chat("and on the second day?", user_context=stranger, services=services)
    assert result.error_node is None
    assert len(asyncio.run(services.memory.turns("hers", user_id="ada"))) == 2


def test_a_reflection_that_fails_is_the_one_by_rules():
    with empty_conference() as services:
        by_rules = chat(ODD, services=services)
    with empty_conference(reflect_and_replan=always(ValueError("the model is broken"))) as services:
        result = chat(ODD, services=services)
    assert result.retry_count == by_rules.retry_count > 0
    assert result.queries == by_rules.queries
    assert result.error_node == "reflect_and_replan"


@pytest.mark.parametrize(
    ("message", "context"),
    [
        ("  ", {}),
        ("x" * 10_001, {}),
        ("half a \ud800 pair", {}),
        ("hello", {"usr": "ada"}),
        ("hello", {"now": "soon"}),
        ("hello", {"user_id": "half \ud800"}),
        ("hello", {"now": "0001-01-01T00:00:00"}),
        ("hello", {"profile": {"shoe_size": 43}}),
    ],
)
def test_bad_input_is_a_clear_error(services, message, context):
    with pytest.raises(InputError):
        chat(message, user_context=context, services=services)


def test_a_second_question_on_a_thread_starts_anew(services):
    from langgraph.checkpoint.memory import InMemorySaver

    title = services.search.catalogue.of_table(Table.SESSIONS)[0].title

    async def two_questions():
        graph = build_graph(services=services, checkpointer=InMemorySaver())
        await arun(graph, {"messages": [("user", ODD)]}, thread_id="t")
        return await arun(graph, {"messages": [("user", f"Which sessions are about {title}?")]}, thread_id="t")

    state = asyncio.run(two_questions()).state
    assert state["retry_count"] == 0
    assert state["thinking_updates"] == []
    assert state.get("stop_reason") is None
    assert state["status"] == "answered"
    assert len(state["messages"]) == 4


async def test_what_came_near_is_kept_over_all_plans_and_told_once(services):
    """A later plan that finds other things, or nothing, does not forget what an earlier one came near to."""
    talk = next(each for each in current(services.store).of_table(Table.SESSIONS) if each.start)
    near = PlannedQuery(table=Table.SESSIONS, query_text=talk.title, score_threshold=1.0)
    nothing = PlannedQuery(table=Table.SESSIONS, query_text="zyxomma qwertzuiop", score_threshold=1.0)
    weak = PlannedQuery(table=Table.EXHIBITORS, query_text="repair", score_threshold=1.0)
    state: dict[str, Any] = {"messages": [HumanMessage(talk.title)]}
    for plan in ([near], [nothing, weak], [near]):
        state |= await execute_queries({**state, "planned_queries": plan}, services)
    kept = {table: [found.record.id for found in hits] for table, hits in state["near_misses"].items()}
    first = services.search.run(near)
    assert {found.record.id for found in first.near_misses} <= set(kept["sessions"])
    assert kept["exhibitors"] == [found.record.id for found in services.search.run(weak).near_misses]
    assert all(len(ids) == len(set(ids)) for ids in kept.values()), "a record that came near twice is one"
    scores = [found.score for found in state["near_misses"]["sessions"]]
    assert scores == sorted(scores, reverse=True)
