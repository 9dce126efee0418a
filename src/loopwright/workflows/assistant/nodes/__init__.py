"""The nodes: they do work and never route."""

from __future__ import annotations

from loopwright.workflows.assistant.nodes.declared import DECLARATIONS, NODES, NodeDeclaration

__all__ = [
    "DECLARATIONS",
    "NODES",
    "PROGRESS_MESSAGES",
    "_LLM_NODES",
    "_NODE_PROMPT_KEYS",
    "_PIPELINE_NODES",
    "NodeDeclaration",
]

# The tables that the requirement names, each read from the declarations.
_PIPELINE_NODES: set[str] = set(NODES)
_LLM_NODES: set[str] = {node.name for node in DECLARATIONS if node.has_llm}
_NODE_PROMPT_KEYS: dict[str, str] = {node: node for node in _LLM_NODES}
PROGRESS_MESSAGES: dict[str, str | None] = {node.name: node.progress for node in DECLARATIONS}
"""Node -> what the person is told while it runs; None tells nothing, or is told by another event (thinking)."""
