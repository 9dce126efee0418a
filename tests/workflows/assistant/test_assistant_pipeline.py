"""One message answered, and many at the same time: what they share, and what holds where something fails or an input is bad."""

import asyncio
import sqlite3
import threading
from typing import Any

import pytest
from conferences import empty_conference, sample_services, shared_sample
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from loopwright.engine import arun
from loopwright.errors import InputError, NodeTimeout
from loopwright.models import ModelRegistry
from loopwright.testing import ScriptedChatModel, always
from loopwright.workflows.assistant import AssistantConfig, Services, achat, astream_chat, build_graph, chat
from loopwright.workflows.assistant.nodes.searching import execute_queries
from loopwright.workflows.assistant.schemas import PlannedQuery, Profile, Table
from loopwright.workflows.assistant.sources.catalogue import current

ODD = "Which sessions are about quantum yodelling?"


@pytest.fixture
def services():
    with sample_services() as opened:
        yield opened


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


async def test_a_second_question_on_a_thread_starts_anew(services):
    graph = build_graph(services=services, checkpointer=InMemorySaver())
    await arun(graph, {"messages": [("user", ODD)]}, thread_id="t")
    state = (await arun(graph, {"messages": [("user", QUESTION)]}, thread_id="t")).state
    assert state["retry_count"] == 0
    assert state["thinking_updates"] == []
    assert state.get("stop_reason") is None
    assert state["status"] == "answered"
    assert len(state["messages"]) == 4


async def test_earlier_messages_are_the_conversation(services):
    graph = build_graph(services=services, checkpointer=InMemorySaver())
    first, follow = ("user", "Which talks about wolves are there?"), ("user", "Who speaks in the first one?")
    shown = (await arun(graph, {"messages": [first]}, thread_id="t")).state
    on_thread = (await arun(graph, {"messages": [follow]}, thread_id="t")).state
    sent = (await arun(build_graph(services=services), {"messages": [*shown["messages"], follow]})).state
    assert on_thread["history"][1].referenced_ids == tuple(shown["referenced_ids"])
    talk = services.search.catalogue.records[shown["referenced_ids"][0]]
    for state in (on_thread, sent):
        assert any(name in state["response_text"] for name in talk.values("speaker"))
    for said in ("forget everything about me", "and on Sunday?"):
        last = (await arun(graph, {"messages": [("user", said)]}, thread_id="t")).state
    assert [turn.text for turn in last["history"]] == ["Of you I keep nothing: no user id was given."]


async def test_what_came_near_is_kept_over_all_plans_and_told_once(services):
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


QUESTION = f"Which sessions are about {current(shared_sample()).of_table(Table.SESSIONS)[0].title}?"
NODES = [
    "update_profile", "generate_acknowledgment", "plan_queries", "reflect_and_replan", "generate_response", "evaluate",
]  # fmt: skip


async def test_profiles_that_change_at_the_same_time_lose_nothing():
    topics = ["pottery", "salt", "glass", "ropes", "maps", "kites"]
    reader = ScriptedChatModel(*({"interests": [topic]} for topic in topics))
    with sample_services({"update_profile": reader}) as services:
        context = {"user_id": "ada"}
        messages = [f"I'm interested in {topic}." for topic in topics]
        await asyncio.gather(*(achat(each, user_context=context, services=services) for each in messages))
        assert sorted((await services.memory.profile("ada")).interests) == sorted(topics)


async def test_a_profile_that_is_given_for_one_question_is_not_kept():
    with sample_services({"update_profile": always({"interests": ["salt"]})}) as services:
        await services.memory.keep_profile(Profile(user_id="ada", name="Ada", interests=("glass",)))
        given = {"user_id": "somebody else", "name": "Once", "interests": ["ropes"]}
        asked = {"messages": [("user", "I'm into salt.")], "user_context": {"user_id": "ada", "profile": given}}
        state = await build_graph(services=services).ainvoke(asked)
        assert (state["profile"].name, state["profile"].interests) == ("Once", ("ropes", "salt"))
        kept = await services.memory.profile("ada")
        assert (kept.name, kept.interests) == ("Ada", ("glass", "salt"))
        assert await services.memory.profile("somebody else") is None


def test_what_a_model_reads_of_a_person_is_bounded():
    said = {"interests": [f"topic {number}" for number in range(500)]}
    with sample_services({"update_profile": always(said)}) as services:
        chat("I'm interested in salt.", user_context={"user_id": "ada"}, services=services)
        profile = asyncio.run(services.memory.profile("ada"))
    assert len(profile.interests) == 20


def test_a_memory_that_is_locked_costs_time_but_no_answer(tmp_path):
    place = tmp_path / "memory.db"
    context = {"user_id": "ada", "conversation_id": "one"}
    with sample_services(memory=f"sqlite:{place}", timeout={"memory": 0.2}) as services:
        chat(QUESTION, user_context=context, services=services)
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        result = chat(f"I'm interested in salt. {QUESTION}", user_context=context, services=services)
        other.execute("ROLLBACK")
        other.close()
    assert result.status in ("answered", "partial")
    assert result.referenced_ids


def test_services_that_are_closed_while_chats_run_end_them(tmp_path):
    services = sample_services({"plan_queries": always("?", delay=30)}, memory=f"sqlite:{tmp_path / 'memory.db'}")
    ended = []

    def ask():
        try:
            chat(QUESTION, services=services, user_context={"user_id": "ada"})
        except BaseException as error:
            ended.append(type(error).__name__)

    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    while len(services.models.chat("plan_queries").calls) < 6:
        threading.Event().wait(0.01)
    services.close()
    for thread in threads:
        thread.join(timeout=20)
    assert ended == ["CancelledError"] * 6
    assert chat("Thank you!", services=services).status == "answered"
    services.close()


@pytest.mark.matrix(4)
@pytest.mark.parametrize("section", [{}, {"reflection_enabled": False}, {"max_retry_count": 0}])
@pytest.mark.parametrize("reply", [None, ValueError("?"), "no JSON", {"missing": ["all"], "unsupported": ["all"]}])
async def test_no_run_takes_more_steps_or_calls_than_its_certificate_says(section, reply):
    models = {} if reply is None else {node: always(reply) for node in NODES}
    with sample_services(models, **section) as services:
        graph = build_graph(services=services)
        given = {"messages": [("user", f"I'm interested in salt. {ODD}")], "user_context": {"user_id": "ada"}}
        steps = [chunk["step"] async for chunk in graph.astream(given, stream_mode="debug")]
        assert graph.certificate.max_supersteps is not None
        assert max(steps) <= graph.certificate.max_supersteps
        assert sum(len(model.calls) for model in models.values()) <= (graph.certificate.max_model_calls or 0)


async def test_a_run_that_reaches_its_step_limit_is_an_error_event():
    config = AssistantConfig.load(None, {"langgraph": {"recursion_limit": 4}}, {})
    with Services(config, ModelRegistry(), given_store=shared_sample()) as services:
        events = [event async for event in astream_chat(QUESTION, services=services)]
    assert events[-1].event == "error"


async def test_a_search_that_takes_too_long_is_an_error_and_not_nothing_found():
    with sample_services(timeout={"search": 1e-6}) as services:
        services.search.run(PlannedQuery(table=Table.SESSIONS, query_text="tides"))
        query = "What should I see about tides, and who can I talk to, at which stands?"
        with pytest.raises(NodeTimeout, match="execute_queries"):
            await achat(query, services=services)
