"""How each node is run, and how the run goes on when one failed for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopwright.engine import GiveUp, NodePolicy, Retry, usual_retries
from loopwright.errors import BackendError
from loopwright.models import ModelRegistry
from loopwright.workflows.rag.config import RAGConfig

BACKEND = "backend"
"""What events call a further attempt after the knowledge store or the search engine failed."""


def node_policies(config: RAGConfig, models: ModelRegistry) -> dict[str, NodePolicy]:
    """The policy of every node.

    A failing store or search engine has retries of its own, apart from those of chat models. Without the knowledge
    graph the run fails; without the web, the answer is written from what is there, and says so.

    Args:
        config: The configuration.
        models: The chat model of each node, for the most calls that a node makes.
    """
    settings, pipeline = config.rag, config.pipeline
    waits: dict[str, Any] = {
        "initial_wait": pipeline.retry.initial_wait,
        "factor": pipeline.retry.factor,
        "max_wait": pipeline.retry.max_wait,
    }
    backend = Retry(on=_passes, retries=settings.limits.backend_error, name=BACKEND, **waits)
    k = settings.retrieval.k
    passages = max(k.one_hop, k.multi_hop, k.comparison)
    # Node -> whose models it asks, and how often.
    asks = {
        "route_question": {"route_question": 1},
        "nodes_and_edges_grading": {"nodes_and_edges_grading": passages, "next_hop": 1},
        "query_transformation": {"query_transformation": 1},
        "web_grading": {"web_grading": settings.web.max_results},
        "answer_generation": {"answer_generation": 1},
        "generation_grading": {"generation_grading": 1},
    }
    give_up = GiveUp(goto="__end__", update=_failed) if config.langgraph.graceful_errors else None

    def policy(node: str, timeout: float, rules: tuple[Retry, ...], instead: GiveUp | None = give_up) -> NodePolicy:
        calls = sum(times * len(models.models_of(whose)) for whose, times in asks.get(node, {}).items())
        return NodePolicy(
            timeout=timeout,
            retries=rules,
            give_up=instead,
            max_model_calls=calls * (settings.repairs + 1),
            debug=config.langgraph.debug_mode,
        )

    for_models = usual_retries(pipeline.max_retry_attempts, **waits)
    seconds = settings.timeout
    return {
        "route_question": policy("route_question", seconds.model, for_models),
        "direct_answer": policy("direct_answer", seconds.model, ()),
        "knowledge_graph_retrieval": policy("knowledge_graph_retrieval", seconds.retrieval, (backend,)),
        "nodes_and_edges_grading": policy("nodes_and_edges_grading", seconds.model, (*for_models, backend)),
        "next_hop": policy("next_hop", seconds.model, ()),
        "query_transformation": policy("query_transformation", seconds.model, for_models),
        "web_search": policy(
            "web_search", seconds.web, (backend,), GiveUp(goto="answer_generation", update=_without_web)
        ),
        "web_grading": policy("web_grading", seconds.model, for_models),
        "answer_generation": policy("answer_generation", seconds.model, for_models),
        "generation_grading": policy("generation_grading", seconds.model, for_models),
    }


def _passes(error: BaseException) -> bool:
    return isinstance(error, BackendError) and error.transient


def _failed(_state: Mapping[str, Any], message: str) -> dict[str, Any]:
    """An end that is none of the honest ones: what an earlier question or pass left behind is no answer to this."""
    return {"error": message, "status": "failed"}


def _without_web(_state: Mapping[str, Any], message: str) -> dict[str, Any]:
    return {"error": message, "web_note": f"The web search failed: {message}", "retrieved": [], "grades": []}
