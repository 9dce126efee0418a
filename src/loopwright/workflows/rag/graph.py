"""The graph "AdaptiveRAG": wiring only."""

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

from langgraph.graph import END, START, StateGraph

from loopwright.engine import (
    Backoff,
    BoundedGraph,
    GiveUp,
    Loop,
    LoopMessages,
    NodePolicy,
    Retry,
    Stall,
    StateLimit,
    normalised,
    usual_retries,
)
from loopwright.engine.nodes.runner import add_node
from loopwright.errors import BackendError, unknown_name_message
from loopwright.models import ModelRegistry
from loopwright.workflows.rag.config import RAGConfig
from loopwright.workflows.rag.constants import Defaults, LogMessages
from loopwright.workflows.rag.nodes import NODES
from loopwright.workflows.rag.routes import route_of_question, wish_after_answer, wish_after_grading
from loopwright.workflows.rag.services import Services
from loopwright.workflows.rag.state import (
    GraphState,
    QuestionInput,
    retry_limit,
    why_another_hop,
    why_regenerated,
    why_transformed,
)
from loopwright.workflows.runtime import compiled

BACKEND = "backend"
"""What events call a further attempt after the knowledge store or the search engine failed."""

GRADING, GENERATION, VERDICTS = "nodes_and_edges_grading", "answer_generation", "generation_grading"
RETRIEVAL, TRANSFORMATION, WEB = "knowledge_graph_retrieval", "query_transformation", "web_search"


def loops_of(config: RAGConfig, hops: bool = True) -> list[Loop]:
    """The loops ``transform`` and ``regenerate``, and where it is wired ``hops``."""
    limits, backoff = config.rag.limits, config.rag.backoff
    own = {GRADING: limits.nothing_relevant, VERDICTS: limits.not_useful}
    shown = ("{spent}", "{limit}")
    waits = Backoff(initial=backoff.initial_wait, factor=backoff.factor, maximum=backoff.max_wait)
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
        backoff=waits if backoff.initial_wait else None,
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
    next_hop = Loop(
        name="hops",
        target="next_hop",
        sources=(GRADING,),
        limit=limits.hops,
        exhausted=GENERATION,
        reason=why_another_hop,
    )
    return [transform, regenerate, *([next_hop] if hops else [])]


def build_graph(
    config: RAGConfig | None = None,
    *,
    services: Services | None = None,
    nodes: Mapping[str, Callable[..., Any]] | None = None,
    **compile_options: Any,
) -> BoundedGraph:
    """Build and compile the workflow, of the embedded configuration and its services where no others are given.

    Nodes are other functions for some of the graph's; the options are those of LangGraph's ``compile``, for example
    ``checkpointer``.

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
    # What leads on takes a chat model: without one this loop has no pass to make, and is no part of the graph.
    hops = bool(services.models.models_of("next_hop")) and not services.is_small("next_hop")
    for name, function in NODES.items():
        own = (nodes or {}).get(name)
        if hops or name != "next_hop":
            add_node(builder, name, own or partial(function, services=services), policies[name])
    builder.add_edge(START, "route_question")
    builder.add_conditional_edges("route_question", route_of_question)
    builder.add_edge("direct_answer", END)
    builder.add_edge(RETRIEVAL, GRADING)
    builder.add_conditional_edges(GRADING, wish_after_grading, [GENERATION, TRANSFORMATION, *["next_hop"] * hops])
    if hops:
        builder.add_edge("next_hop", RETRIEVAL)
    builder.add_edge(TRANSFORMATION, RETRIEVAL)
    builder.add_edge(WEB, "web_grading")
    builder.add_edge("web_grading", GENERATION)
    builder.add_edge(GENERATION, VERDICTS)
    ends: dict[Hashable, str] = {"useful": END, "not_useful": TRANSFORMATION, "not_supported": GENERATION}
    builder.add_conditional_edges(VERDICTS, wish_after_answer, ends)
    compile_options.setdefault("name", "AdaptiveRAG")
    return compiled(builder, loops_of(config, hops), config, **compile_options)


def node_policies(config: RAGConfig, models: ModelRegistry) -> dict[str, NodePolicy]:
    """The policy of every node."""
    settings, pipeline, retry = config.rag, config.pipeline, config.pipeline.retry
    waits: dict[str, Any] = {"initial_wait": retry.initial_wait, "factor": retry.factor, "max_wait": retry.max_wait}
    backend = Retry(
        on=lambda error: isinstance(error, BackendError) and error.transient,
        retries=settings.limits.backend_error, name=BACKEND, **waits,
    )  # fmt: skip
    k = settings.retrieval.k
    passages = max(k.one_hop, k.multi_hop, k.comparison)
    # Node -> whose models it asks, and how often.
    asks = {node: {node: 1} for node in RAGConfig.model_nodes if node != "next_hop"}
    asks |= {GRADING: {GRADING: passages, "next_hop": 1}, "web_grading": {"web_grading": settings.web.max_results}}
    give_up = GiveUp(goto="__end__", update=_failed) if config.langgraph.graceful_errors else None
    for_models = usual_retries(pipeline.max_retry_attempts, **waits)
    rules = dict.fromkeys(asks, for_models) | {RETRIEVAL: (backend,), GRADING: (*for_models, backend), WEB: (backend,)}
    seconds = {RETRIEVAL: settings.timeout.retrieval, WEB: settings.timeout.web}
    instead = {WEB: GiveUp(goto=GENERATION, update=_without_web)}

    def policy(node: str) -> NodePolicy:
        calls = sum(times * len(models.models_of(whose)) for whose, times in asks.get(node, {}).items())
        return NodePolicy(
            timeout=seconds.get(node, settings.timeout.model),
            retries=rules.get(node, ()),
            give_up=instead.get(node, give_up),
            max_model_calls=calls * (settings.repairs + 1),
            debug=config.langgraph.debug_mode,
        )

    return {node: policy(node) for node in NODES}


def _failed(_state: Mapping[str, Any], message: str) -> dict[str, Any]:
    """An end that is none of the honest ones: what an earlier question or pass left behind is no answer to this."""
    return {"error": message, "status": "failed"}


def _without_web(_state: Mapping[str, Any], message: str) -> dict[str, Any]:
    note = f"The web search failed: {message}"
    return {"error": message, "web_note": note, "web_searched": True, "retrieved": [], "grades": []}
