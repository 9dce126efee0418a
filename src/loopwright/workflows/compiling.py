"""Compiling a workflow's graph as its configuration says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.graph import StateGraph

from loopwright.engine import BoundedGraph, Loop, bounded
from loopwright.engine.config import EngineConfig
from loopwright.engine.debugging import enable_debug_log
from loopwright.engine.diagram import save_mermaid


def compiled(
    builder: StateGraph[Any, Any, Any], loops: Sequence[Loop], config: EngineConfig, **options: Any
) -> BoundedGraph:
    """Bound and compile a workflow; its step limit, debug log and diagram as configured.

    Args:
        builder: The wired graph.
        loops: Its loops.
        config: The engine's sections.
        **options: As for LangGraph's ``compile``.

    Raises:
        GraphError: If the graph cannot be bounded.
    """
    graph = bounded(builder, loops, **options)
    if config.langgraph.recursion_limit:
        graph = graph.limited_to(config.langgraph.recursion_limit)
    if config.langgraph.debug_mode:
        enable_debug_log(config.langgraph.log_dir)
    if config.langgraph.save_graph_visualization:
        save_mermaid(graph.topology(), config.langgraph.log_dir)
    return graph
