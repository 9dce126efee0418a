"""The graph "AdaptiveRAG": wiring only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from langgraph.graph import END, START, StateGraph

from loopwright.engine import Backoff, BoundedGraph, Loop, LoopMessages, Stall, StateLimit, normalised
from loopwright.engine.guarding import add_node
from loopwright.errors import unknown_name_message
from loopwright.workflows.compiling import compiled
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.constants import Defaults, LogMessages, RouteDecision
from loopwright.workflows.rag.nodes import NODES
from loopwright.workflows.rag.policies import node_policies
from loopwright.workflows.rag.reasons import retry_limit, why_another_hop, why_regenerated, why_transformed
from loopwright.workflows.rag.routes import route_of_question, wish_after_answer, wish_after_grading
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import GraphState, QuestionInput

NAME = "AdaptiveRAG"

GRADING, GENERATION, VERDICTS = "nodes_and_edges_grading", "answer_generation", "generation_grading"
RETRIEVAL, TRANSFORMATION, WEB = "knowledge_graph_retrieval", "query_transformation", "web_search"


def loops_of(config: RAGConfig) -> list[Loop]:
    """The loops ``transform``, ``regenerate`` and ``hops``.

    Args:
        config: Gives their limits.
    """
    limits, backoff = config.rag.limits, config.rag.backoff
    own = {GRADING: limits.nothing_relevant, VERDICTS: limits.not_useful}
    shown = ("{spent}", "{limit}")
    transform = Loop(
        name="transform",
        target=TRANSFORMATION,
        sources=(GRADING, VERDICTS),
        limit=StateLimit(key=retry_limit, default=Defaults.MAX_RETRY_COUNT, ceiling=config.langgraph.max_iterations),
        source_limits={source: limit for source, limit in own.items() if limit is not None},
        exhausted={GRADING: WEB, VERDICTS: END},
        counter="retry_count",
        counter_by="node",
        reason=why_transformed,
        stall=Stall(key=lambda state: normalised(state.get("query", "")), remembers=config.langgraph.max_iterations),
        backoff=Backoff(initial=backoff.initial_wait, factor=backoff.factor, maximum=backoff.max_wait)
        if backoff.initial_wait
        else None,
        messages=LoopMessages(
            exhausted={
                GRADING: LogMessages.MAX_RETRIES_REACHED.format(*shown),
                VERDICTS: LogMessages.MAX_RETRIES_BEST_EFFORT.format(*shown),
            },
            stalled="Query transformation stopped after {spent}/{limit}: no query is left that was not tried. {reason}",
        ),
    )
    regenerate = Loop(
        name="regenerate",
        target=GENERATION,
        sources=(VERDICTS,),
        limit=limits.not_supported,
        exhausted=END,
        counter="regeneration_count",
        reason=why_regenerated,
        messages=LoopMessages(exhausted=LogMessages.MAX_REGENERATIONS_REACHED.format(*shown)),
    )
    hops = Loop(
        name="hops",
        target="next_hop",
        sources=(GRADING,),
        limit=limits.hops,
        exhausted=GENERATION,
        reason=why_another_hop,
    )
    return [transform, regenerate, hops]


def build_graph(
    config: RAGConfig | None = None,
    *,
    services: Services | None = None,
    nodes: Mapping[str, Callable[..., Any]] | None = None,
    **compile_options: Any,
) -> BoundedGraph:
    """Build and compile the workflow.

    Args:
        config: The configuration; by default the embedded one.
        services: The models, the knowledge store and the web search; by default those of the configuration.
        nodes: Other functions for some of the nodes.
        **compile_options: As for LangGraph's ``compile``, for example ``checkpointer``.

    Returns:
        The compiled graph, proven bounded. Its nodes are async: run it with `loopwright.arun` or ``ainvoke``.

    Raises:
        ValueError: If `nodes` names a node that the graph does not have.
    """
    services = services or Services.of(config or RAGConfig())
    config = config or services.config
    for name in nodes or {}:
        if name not in NODES:
            raise ValueError(unknown_name_message("node", name, NODES))
    builder = StateGraph(GraphState, input_schema=QuestionInput)
    policies = node_policies(config, services.models)
    for name, function in NODES.items():
        own = (nodes or {}).get(name)
        add_node(builder, name, own or partial(function, services=services), policies[name])
    builder.add_edge(START, "route_question")
    builder.add_conditional_edges("route_question", route_of_question)
    builder.add_edge("direct_answer", END)
    builder.add_edge(RETRIEVAL, GRADING)
    builder.add_conditional_edges(GRADING, wish_after_grading)
    builder.add_edge("next_hop", RETRIEVAL)
    builder.add_edge(TRANSFORMATION, RETRIEVAL)
    builder.add_edge(WEB, "web_grading")
    builder.add_edge("web_grading", GENERATION)
    builder.add_edge(GENERATION, VERDICTS)
    after_answer: Mapping[Any, str] = {
        RouteDecision.USEFUL.value: END,
        RouteDecision.NOT_USEFUL.value: TRANSFORMATION,
        RouteDecision.NOT_SUPPORTED.value: GENERATION,
    }
    builder.add_conditional_edges(VERDICTS, wish_after_answer, dict(after_answer))
    compile_options.setdefault("name", NAME)
    return compiled(builder, loops_of(config), config, **compile_options)
