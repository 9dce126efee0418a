"""One test for every part of ``rag-retry-mechanism.md``; the first line of a docstring is the part's title."""

import asyncio
import logging
from typing import get_type_hints

import pytest
from knowledge import BRIDGES, passage_of, rag
from search_server import closed_port, searching
from shapes import edges_of

from loopwright.engine import arun
from loopwright.engine.events.schema import LoopDecided
from loopwright.testing import ManualClock, ScriptedChatModel, always
from loopwright.workflows.rag import (
    Defaults,
    GraphState,
    LogMessages,
    RouteDecision,
    ask,
    build_graph,
    decide_to_generate,
    grade_generation_vs_context_and_question,
    query_transformation,
)
from loopwright.workflows.rag.schemas import AnswerGrade

DOCUMENT = "rag-retry-mechanism.md"

BITCOIN = "What is the price of Bitcoin today?"
ROUND = ["query_transformation", "knowledge_graph_retrieval", "nodes_and_edges_grading"]
ANSWERED = ["answer_generation", "generation_grading"]
RELEVANT = [passage_of(BRIDGES[0])]
NOT_USEFUL, NOT_SUPPORTED = AnswerGrade(supported=True, useful=False), AnswerGrade(supported=False, useful=True)


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [line for record in caplog.records if (line := record.getMessage()).startswith("---")]


def never_useful() -> ScriptedChatModel:
    """A grader that finds every answer supported, and none useful."""
    return always({"unsupported": [], "useful": False, "reason": "it does not say"})


def test_kg_loop():
    """KG Loop

    An empty store and no web: the loop ends after its bound, and the answer says what was not there."""
    result = ask(BITCOIN, services=rag())
    assert result.path.count("query_transformation") == 3
    assert result.status == "abstained" and result.answer.abstained
    assert "No web search engine is configured" in result.answer.text


def test_answer_loop():
    """Answer Loop

    A grader that never finds the answer useful."""
    result = ask("Who designed the Tower Bridge?", services=rag(BRIDGES, generation_grading=never_useful()))
    assert result.path.count("query_transformation") == 3
    assert result.path.count("answer_generation") <= 4
    assert result.status == "best_effort"


def test_added_retry_tracking_to_state():
    """Added Retry Tracking to State"""
    assert get_type_hints(GraphState)["retry_count"] is int
    final = asyncio.run(build_graph(services=rag()).ainvoke({"question": BITCOIN, "retry_count": 0}))
    assert final["retry_count"] == 3
    assert final["question"] == BITCOIN


def test_added_configuration_constant():
    """Added Configuration Constant"""
    assert Defaults.MAX_RETRY_COUNT == 3


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_updated_query_transformation(count, caplog):
    """Updated Query Transformation

    The query is what is searched next; the question itself is never overwritten."""
    update = asyncio.run(query_transformation({"question": BITCOIN, "retry_count": count}))
    assert update["retry_count"] == count + 1
    assert update["query"] != BITCOIN
    assert "question" not in update
    assert logged(caplog) == [f"---RETRY COUNT: {count + 1}/3---"]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"documents": []}, RouteDecision.QUERY_TRANSFORMATION),
        ({"documents": [], "retry_count": 2}, RouteDecision.QUERY_TRANSFORMATION),
        ({"documents": [], "retry_count": 3}, RouteDecision.WEB_SEARCH),
        ({"documents": [], "retry_count": 4}, RouteDecision.WEB_SEARCH),
        ({"documents": [], "retry_count": 3, "max_retry_count": 5}, RouteDecision.QUERY_TRANSFORMATION),
        ({"documents": [], "max_retry_count": 0}, RouteDecision.WEB_SEARCH),
        ({"documents": RELEVANT}, RouteDecision.ANSWER_GENERATION),
        ({"documents": RELEVANT, "retry_count": 3}, RouteDecision.ANSWER_GENERATION),
    ],
)
def test_enhanced_decision_logic(state, expected):
    """Enhanced Decision Logic

    The same for the answer: a spent bound ends the run, and its status says that it is a best effort."""
    assert decide_to_generate({"question": "?", **state}) is expected
    of_answer = {
        "question": "?",
        "retry_count": state.get("retry_count", 0),
        "max_retry_count": state.get("max_retry_count"),
    }
    spent = of_answer["retry_count"] >= (3 if of_answer["max_retry_count"] is None else of_answer["max_retry_count"])
    decided = grade_generation_vs_context_and_question({**of_answer, "answer_grade": NOT_USEFUL})
    assert decided is (RouteDecision.USEFUL if spent else RouteDecision.NOT_USEFUL)
    decided = grade_generation_vs_context_and_question({**of_answer, "answer_grade": NOT_SUPPORTED})
    assert decided is RouteDecision.NOT_SUPPORTED
    assert grade_generation_vs_context_and_question({"question": "?"}) is RouteDecision.USEFUL


def test_updated_workflow_graph():
    """Updated Workflow Graph"""
    graph = build_graph()
    assert ("nodes_and_edges_grading", "loop.transform") in edges_of(graph)
    assert ("nodes_and_edges_grading", "answer_generation") in edges_of(graph)
    (transform,) = (loop for loop in graph.topology().loops if loop.name == "transform")
    assert transform.target == "query_transformation"
    assert transform.fallback_of("nodes_and_edges_grading") == "web_search"


def test_after_with_retry_limits():
    """After (With Retry Limits)

    Web results are graded too, and an answer from them is graded like any other."""
    graph = build_graph()
    assert graph.certificate.bounded
    assert {
        ("__start__", "route_question"),
        ("route_question", "web_search"),
        ("route_question", "knowledge_graph_retrieval"),
        ("knowledge_graph_retrieval", "nodes_and_edges_grading"),
        ("query_transformation", "knowledge_graph_retrieval"),
        ("web_search", "web_grading"),
        ("web_grading", "answer_generation"),
        ("answer_generation", "generation_grading"),
        ("generation_grading", "__end__"),
    } <= edges_of(graph)
    of_answer = {
        (loop.name, loop.target, loop.fallback_of("generation_grading"))
        for loop in graph.topology().loops
        if "generation_grading" in loop.sources
    }
    assert of_answer == {
        ("transform", "query_transformation", "__end__"),
        ("regenerate", "answer_generation", "__end__"),
    }


def test_knowledge_graph_has_no_relevant_documents():
    """Knowledge Graph Has No Relevant Documents

    The rows of the table: three times transform, retrieve, grade, and then the web."""
    price = "The price of Bitcoin is 64,000 dollars today."
    with searching() as server:
        server.results = [{"title": "Bitcoin", "url": "https://example.com/b", "content": price}]
        result = ask(BITCOIN, services=rag(web=server.url))
    first = ["route_question", "knowledge_graph_retrieval", "nodes_and_edges_grading"]
    assert list(result.path) == [*first, *ROUND, *ROUND, *ROUND, "web_search", "web_grading", *ANSWERED]
    assert len(set(result.queries)) == 4
    assert result.status == "answered"
    assert [citation.evidence_id for citation in result.answer.citations] == ["https://example.com/b"]
    assert result.stop_reason["loop"] == "transform"
    assert (result.stop_reason["spent"], result.stop_reason["limit"]) == (3, 3)


def test_answer_never_addresses_question():
    """Answer Never Addresses Question

    The rows of the table; where it counts three generations and the code three transformations, the code decides."""
    graders = {"nodes_and_edges_grading": ScriptedChatModel({"relevant": True}, repeat_last=True)}
    services = rag(BRIDGES, generation_grading=never_useful(), **graders)
    result = ask("Who designed the Tower Bridge?", services=services)
    first = ["route_question", "knowledge_graph_retrieval", "nodes_and_edges_grading"]
    assert list(result.path) == [*first, *ANSWERED, *([*ROUND, *ANSWERED] * 3)]
    assert result.status == "best_effort"
    assert "Horace Jones" in result.answer.text
    assert result.stop_reason["outcome"] == "exhausted"


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_adjusting_max_retries(limit, monkeypatch):
    """Adjusting Max Retries

    By the constant, for one run, or in the configuration."""
    with monkeypatch.context() as changed:
        changed.setattr(Defaults, "MAX_RETRY_COUNT", limit)
        assert ask(BITCOIN, services=rag()).path.count("query_transformation") == limit
    assert ask(BITCOIN, services=rag(), max_retry_count=limit).path.count("query_transformation") == limit
    transformations = dict.fromkeys(("one_hop", "multi_hop", "comparison"), limit)
    services = rag(limits={"transformations": transformations})
    assert ask(BITCOIN, services=services).path.count("query_transformation") == limit


def test_monitoring_retries(caplog):
    """Monitoring Retries"""
    ask(BITCOIN, services=rag())
    assert logged(caplog)[:4] == [
        "---RETRY COUNT: 1/3---",
        "---RETRY COUNT: 2/3---",
        "---RETRY COUNT: 3/3---",
        "---MAX RETRIES REACHED: 3/3. FALLING BACK TO WEB SEARCH---",
    ]


def test_infinite_loop_prevention():
    """Test infinite loop prevention"""
    path = ask(BITCOIN, services=rag(BRIDGES)).path
    assert path.count("query_transformation") == 3
    assert path.index("web_search") > max(i for i, node in enumerate(path) if node == "query_transformation")


def test_retry_logging(caplog):
    """Test retry logging"""
    with caplog.at_level(logging.INFO):
        ask("Who designed the Tower Bridge?", services=rag(BRIDGES, generation_grading=never_useful()))
    assert LogMessages.RETRY_COUNT_INFO.format(1, 3) in logged(caplog)
    assert logged(caplog)[-1] == "---MAX RETRIES REACHED: 3/3. ACCEPTING BEST-EFFORT ANSWER---"


def test_fallback_mechanisms():
    """Test fallback mechanisms

    The loop that the requirement leaves unbounded as well: an answer that is never supported."""
    assert "web_search" in ask(BITCOIN, services=rag()).path
    writer = ScriptedChatModel("The Tower Bridge was designed by a whale.", repeat_last=True)
    result = ask("Who designed the Tower Bridge?", services=rag(BRIDGES, answer_generation=writer))
    assert result.path.count("answer_generation") == 1 + Defaults.MAX_REGENERATIONS
    assert result.status == "best_effort"
    assert result.stop_reason["loop"] == "regenerate"
    assert "whale" in writer.calls[-1].text.partition("Nothing bears out")[2].partition("Passages:")[0]


def test_exponential_backoff():
    """Exponential Backoff"""
    services = rag(backoff={"initial_wait": 1.0, "factor": 2.0, "max_wait": 3.0})
    with ManualClock() as clock:
        run = asyncio.run(arun(build_graph(services=services), {"question": BITCOIN}))
    granted = [event for event in run.events if isinstance(event, LoopDecided) and event.decision == "granted"]
    assert [event.waited for event in granted] == [1.0, 2.0, 3.0]
    assert clock.now() == 6.0


@pytest.mark.parametrize("kind", ["nothing_relevant", "not_useful", "not_supported", "backend_error"])
def test_retry_strategies(kind):
    """Retry Strategies"""
    if kind == "backend_error":
        down = f"http://127.0.0.1:{closed_port()}"
        services = rag(web=down, limits={kind: 1}, pipeline={"retry": {"initial_wait": 0.01}})
        result = ask(BITCOIN, services=services)
        assert (result.retries.backend_error, result.status) == (1, "abstained")
        return
    writer = ScriptedChatModel("A whale designed it.", repeat_last=True)
    roles = {
        "nothing_relevant": {},
        "not_useful": {"generation_grading": never_useful()},
        "not_supported": {"answer_generation": writer},
    }
    services = rag(() if kind == "nothing_relevant" else BRIDGES, limits={kind: 1}, **roles[kind])
    question = BITCOIN if kind == "nothing_relevant" else "Who designed the Tower Bridge?"
    result = ask(question, services=services)
    assert getattr(result.retries, kind) == 1


def test_metrics_collection():
    """Metrics Collection"""
    retries = ask(BITCOIN, services=rag()).retries
    assert (retries.nothing_relevant, retries.not_useful, retries.not_supported) == (3, 0, 0)
    assert (retries.refused, retries.gained, retries.backend_error) == (1, 0, 0)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What is the price of Bitcoin today?", 1),
        ("In which country was the director of the film Alien born?", 2),
        ("Which is older, the Forth Bridge or the Brooklyn Bridge?", 0),
    ],
)
def test_dynamic_limits(question, expected):
    """Dynamic Limits

    Under the declared ceiling, whatever the configuration says."""
    transformations = {"one_hop": 1, "multi_hop": 2, "comparison": 0}
    result = ask(question, services=rag(limits={"transformations": transformations}))
    assert result.path.count("query_transformation") == expected
    everything = dict.fromkeys(transformations, 99)
    services = rag(limits={"transformations": everything}, langgraph={"max_iterations": 2})
    assert ask(question, services=services).path.count("query_transformation") == 2
