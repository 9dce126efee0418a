"""One test for every part of ``reflect-and-replan-wiring.md``; the first line of a docstring is the part's title.

The requirement's mocked searches are a real, empty conference here.
"""

import asyncio
import re
from functools import cache
from unittest.mock import patch

import pytest
from conferences import assistant, empty_conference, sample_services
from page_code import ShownRun, recorded, shown
from shapes import edges_of

from loopwright.engine import BoundedGraph, arun
from loopwright.engine.events.schema import LoopDecided, NodeStarted
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.assistant import ChatResult, Services, build_graph, chat
from loopwright.workflows.assistant.graph import should_retry
from loopwright.workflows.assistant.nodes import (
    _LLM_NODES,
    _NODE_PROMPT_KEYS,
    _PIPELINE_NODES,
    NODES,
    PROGRESS_MESSAGES,
)
from loopwright.workflows.assistant.workflow import AssistantWorkflow

DOCUMENT = "reflect-and-replan-wiring.md"

SETTINGS = "loopwright.workflows.assistant.graph.settings"
QUESTION = "Which talks are about underwater basket weaving?"
REWRITE = {
    "reasoning": "The programme says it in other words.",
    "strategy": "rewrite",
    "message": "Let me try other words.",
    "queries": [{"table": "sessions", "query_text": "wickerwork below the surface"}],
}


def asked(text: str) -> dict:
    return {"messages": [("user", text)]}


def rewriting(*texts: str) -> ScriptedChatModel:
    """A model that rewrites the query in other words each time."""
    replies = [{**REWRITE, "queries": [{"table": "sessions", "query_text": text}]} for text in texts]
    return ScriptedChatModel(*replies)


REFLECT, RELAX = "reflect_and_replan", "relax_and_retry"


def unanswerable(retry: str) -> Services:
    """A conference without an answer, and one of the two retries."""
    return empty_conference(rewriting("wickerwork", "baskets"), reflection_enabled=retry == REFLECT)


@cache
def ran(retry: str) -> ChatResult:
    """What comes of the question there."""
    return chat(QUESTION, services=unanswerable(retry))


@cache
def reflecting() -> BoundedGraph:
    return build_graph(services=sample_services())


@cache
def on_the_page() -> dict[tuple[str, str], ShownRun]:
    """What the page shows of a run of each variant: before its retry, when that begins, and at the end."""
    moments: dict[tuple[str, str], tuple] = {}
    for retry in (REFLECT, RELAX):
        run = recorded(AssistantWorkflow(unanswerable(retry)), {"message": QUESTION})
        begins = run.first("node_started", retry)
        moments |= {
            (retry, "unborn"): (run, 0),
            (retry, "before"): (run, begins - 1),
            (retry, "begun"): (run, begins),
            (retry, "ended"): (run, run.events[-1]["seq"]),
        }
    return dict(zip(moments, shown([*moments.values()]), strict=True))


def indicator(page: ShownRun) -> tuple[str, str] | None:
    """The node and the text of the retry indicator, if there is one."""
    found = re.search(r'data-testid="retry-indicator" data-node="(\w+)".*?</button>', page.html, re.DOTALL)
    return found and (found[1], " ".join(re.sub(r"<[^>]*>", " ", found[0].partition(">")[2]).split()))


def test_current_flow():
    """Current Flow (to preserve as fallback)"""
    assert ran(RELAX).path[-6:] == (
        "relax_and_retry", "check_results", "relax_and_retry", "check_results", "generate_response", "evaluate"
    )  # fmt: skip
    assert ran(RELAX).path.count("execute_queries") == 1


def test_new_flow():
    """New Flow (reflection enabled)"""
    again = ("reflect_and_replan", "execute_queries", "check_results")
    assert ran(REFLECT).path[-8:] == (*again, *again, "generate_response", "evaluate")


def test_new_conditional_should_retry():
    """New Conditional: `should_retry`"""
    assert should_retry({"messages": []}) == "generate_response"
    assert should_retry({"messages": [], "needs_retry": False}) == "generate_response"
    for enabled, goto in ((True, "reflect_and_replan"), (False, "relax_and_retry")):
        with patch(SETTINGS) as settings:
            settings.reflection_enabled = enabled
            assert should_retry({"messages": [], "needs_retry": True}) == goto
            assert should_retry({"messages": [], "needs_retry": False}) == "generate_response"


def test_file_graph():
    """File: `src/agent/graph.py`

    Of the two variants the configured one is wired."""
    assert ("reflect_and_replan", "execute_queries") in edges_of(reflecting())
    assert "relax_and_retry" not in reflecting().builder.nodes
    mechanical = build_graph(services=sample_services(reflection_enabled=False))
    assert ("relax_and_retry", "check_results") in edges_of(mechanical)
    assert "reflect_and_replan" not in mechanical.builder.nodes


def test_important_the_loop():
    """Important: The Loop

    The node counts, and the gate bounds the wish: 2 by default, whatever the node says."""
    services = empty_conference(reflect_and_replan=rewriting("a", "b", "c", "d", "e"))
    assert services.config.assistant.max_retry_count == 2
    assert chat(QUESTION, services=services).retry_count == 2

    async def forgetful(state):
        return {"retry_count": 0, "planned_queries": state["planned_queries"]}

    graph = build_graph(services=services, nodes={"reflect_and_replan": forgetful})
    run = asyncio.run(arun(graph, asked(QUESTION)))
    assert run.path.count("reflect_and_replan") == 2


def test_visual_flow():
    """Visual Flow (Updated)"""
    reader = sample_services({"update_profile": ScriptedChatModel({"interests": ["compilers"]})})
    result = chat("I like compilers. Which sessions suit me?", services=reader)
    assert result.path[:6] == (
        "fetch_data", "update_profile", "generate_acknowledgment", "plan_queries", "execute_queries", "check_results"
    )  # fmt: skip
    assert result.path[-2:] == ("generate_response", "evaluate")
    assert "update_profile" not in chat("Which keynotes are there?", services=sample_services()).path


def test_pipeline_nodes_set():
    """`_PIPELINE_NODES` Set

    Derived from the nodes' declarations; nothing is listed twice."""
    assert _PIPELINE_NODES == {
        "fetch_data", "update_profile", "generate_acknowledgment", "plan_queries", "execute_queries", "check_results",
        "relax_and_retry", "reflect_and_replan", "generate_response", "evaluate",
    }  # fmt: skip


def test_llm_nodes_set():
    """`_LLM_NODES` Set"""
    assert _LLM_NODES == {
        "plan_queries", "generate_response", "evaluate", "update_profile", "generate_acknowledgment",
        "reflect_and_replan",
    }  # fmt: skip


def test_node_prompt_keys_mapping():
    """`_NODE_PROMPT_KEYS` Mapping"""
    assert _NODE_PROMPT_KEYS["reflect_and_replan"] == "reflect_and_replan"
    for key in _NODE_PROMPT_KEYS.values():
        assert Services.prompts().get(key).text


def test_progress_messages():
    """`PROGRESS_MESSAGES`"""
    assert PROGRESS_MESSAGES["reflect_and_replan"] is None
    assert set(PROGRESS_MESSAGES) == set(NODES)


@pytest.mark.timeout(600)
def test_pipeline_flow_and_node_meta():
    """`pipeline.js` — `PIPELINE_FLOW` and `NODE_META`

    Derived from the graph that ran, which has one of the two retries."""
    first = ["fetch_data", "update_profile", "generate_acknowledgment", "plan_queries", "execute_queries"]
    last = ["generate_response", "evaluate"]
    for retry, meta in (
        (REFLECT, {"label": "Reflect & Replan", "icon": "🤔", "hasLlm": True}),
        (RELAX, {"label": "Relax & retry", "icon": NODES[RELAX].icon, "hasLlm": False}),
    ):
        page = on_the_page()[retry, "ended"]
        assert page.flow == [*first, "check_results", retry, *last]
        assert page.meta[retry] == meta
        assert set(page.meta) == set(page.flow)
        assert {node for node, each in page.meta.items() if each["hasLlm"]} == _LLM_NODES & set(page.flow)


@pytest.mark.timeout(600)
def test_workflow_graph():
    """`WorkflowGraph.svelte`

    Each variant shows its own retry once it has begun, and neither before."""
    for retry, label in ((REFLECT, "🤔 Reflect &amp; Replan"), (RELAX, "🔁 Relax &amp; retry")):
        assert indicator(on_the_page()[retry, "unborn"]) is None
        assert indicator(on_the_page()[retry, "before"]) is None
        node, text = indicator(on_the_page()[retry, "begun"])
        assert node == retry
        assert text.endswith(label)
        node, text = indicator(on_the_page()[retry, "ended"])
        assert node == retry
        assert re.search(rf"{label} ×2 \([\d.]+ m?s\)$", text)


def test_preserving_original_plan():
    """Preserving Original Plan

    The first plan is kept beside the last one."""
    result = ran(REFLECT)
    assert len(result.original_planned_queries) >= 1
    assert "wickerwork" not in {query.query_text for query in result.original_planned_queries}
    assert [query.query_text for query in result.queries][-2:] == ["wickerwork", "baskets"]


@pytest.mark.parametrize(("enabled", "goto"), [(True, "reflect_and_replan"), (False, "relax_and_retry")])
def test_conditional_edge(enabled, goto):
    """Unit Test: Conditional Edge"""
    with patch(SETTINGS) as settings:
        settings.reflection_enabled = enabled
        assert should_retry({"messages": [], "needs_retry": True, "retry_count": 0}) == goto


def test_full_loop():
    """Integration Test: Full Loop"""
    result = ran(REFLECT)
    assert result.path.count("reflect_and_replan") == 2
    assert [update.retry_count for update in result.thinking_updates] == [1, 2]
    assert [update.strategy for update in result.thinking_updates] == ["rewrite", "rewrite"]
    assert result.status == "nothing_found"
    assert result.stop_reason["loop"] == "reflect"


def test_node_is_registered():
    """`reflect_and_replan` node registered in graph builder"""
    assert "reflect_and_replan" in reflecting().builder.nodes


def test_should_retry_routes_to_reflection():
    """`should_retry` routes to `reflect_and_replan` when `reflection_enabled=True`"""
    run = chat(QUESTION, services=empty_conference(reflection_enabled=True))
    assert "reflect_and_replan" in run.path
    assert "relax_and_retry" not in run.path


def test_should_retry_routes_to_mechanical():
    """`should_retry` routes to `relax_and_retry` when `reflection_enabled=False`"""
    assert "relax_and_retry" in ran(RELAX).path
    assert "reflect_and_replan" not in ran(RELAX).path


def test_edge_to_execute_queries():
    """`reflect_and_replan` → `execute_queries` edge exists"""
    assert ("reflect_and_replan", "execute_queries") in edges_of(reflecting())


def test_loop_terminates():
    """Loop terminates within `max_retry_count` iterations

    For every limit, in both variants, sync and async, and as the certificate says before the run."""
    for limit in (0, 3):
        for enabled in (True, False):
            services = empty_conference(
                reflection_enabled=enabled,
                max_retry_count=limit,
                reflect_and_replan=rewriting(*(f"other words {n}" for n in range(limit + 2))),
            )
            retry = "reflect_and_replan" if enabled else "relax_and_retry"
            assert chat(QUESTION, services=services).path.count(retry) == limit
            graph = build_graph(services=services)
            assert graph.certificate.bounded
            assert asyncio.run(arun(graph, asked(QUESTION))).path.count(retry) <= limit


def test_tables_include_the_node():
    """`_PIPELINE_NODES`, `_LLM_NODES`, `_NODE_PROMPT_KEYS` include new node"""
    for table in (_PIPELINE_NODES, _LLM_NODES, _NODE_PROMPT_KEYS):
        assert "reflect_and_replan" in table


@pytest.mark.timeout(600)
def test_the_page_knows_the_node():
    """DevTools `NODE_META` and `PIPELINE_FLOW` include new node"""
    page = on_the_page()[REFLECT, "unborn"]
    assert REFLECT in page.flow
    assert page.meta[REFLECT]["label"] == "Reflect & Replan"
    assert REFLECT not in on_the_page()[RELAX, "unborn"].flow


@pytest.mark.timeout(600)
def test_the_page_shows_the_reflection():
    """DevTools `WorkflowGraph.svelte` shows reflect indicator"""
    shown_at = {moment: indicator(on_the_page()[REFLECT, moment]) for moment in ("unborn", "before", "begun", "ended")}
    assert [found and found[0] for found in shown_at.values()] == [None, None, REFLECT, REFLECT]
    assert "(" not in shown_at["begun"][1], "it has no duration before it ended"


def test_mechanical_path_still_works():
    """Existing `relax_and_retry` path still works when `reflection_enabled=False`

    A node that is visited three times is reported three times."""
    services = empty_conference(reflection_enabled=False)
    run = asyncio.run(arun(assistant(services), asked(QUESTION)))
    checks = [event.visit for event in run.events if isinstance(event, NodeStarted) and event.node == "check_results"]
    assert checks == [1, 2, 3]
    decisions = [event.decision for event in run.events if isinstance(event, LoopDecided)]
    assert decisions == ["granted", "granted", "exhausted"]
    assert run.state["query_results"] == {} or not any(run.state["query_results"].values())
