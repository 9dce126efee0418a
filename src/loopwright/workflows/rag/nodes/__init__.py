"""The nodes: they do work and never route."""

from collections.abc import Callable
from typing import Any

from loopwright.workflows.rag.nodes.answering import answer_generation, generation_grading
from loopwright.workflows.rag.nodes.asking import direct_answer, next_hop, query_transformation, route_question
from loopwright.workflows.rag.nodes.grading import nodes_and_edges_grading, web_grading
from loopwright.workflows.rag.nodes.searching import knowledge_graph_retrieval, web_search

NODES: dict[str, Callable[..., Any]] = {
    node.__name__: node
    for node in (
        route_question, direct_answer, knowledge_graph_retrieval, nodes_and_edges_grading, next_hop,
        query_transformation, web_search, web_grading, answer_generation, generation_grading,
    )
}  # fmt: skip
"""Every node by its name, in the order in which a question meets them."""
