"""One configuration file for all workflows: each reads its own section and passes over those of the others."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field, field_validator

from loopwright.engine.config import EngineConfig
from loopwright.errors import unknown_name_message

DEFAULT = "default"
"""The entry of ``models`` that serves every node without an entry of its own."""

MODEL_NODES: dict[str, tuple[str, ...]] = {
    "iqa": ("planner", "executor", "summarizer"),
    "rag": (
        "route_question", "nodes_and_edges_grading", "next_hop", "query_transformation", "web_grading",
        "answer_generation", "generation_grading", "extraction",
    ),
    "assistant": (
        "update_profile", "generate_acknowledgment", "plan_queries", "reflect_and_replan", "generate_response",
        "evaluate",
    ),
}  # fmt: skip
"""Workflow, and so section -> its nodes that can have a chat model."""


class WorkflowConfig(EngineConfig):
    """What every workflow's configuration has: the engine's sections, and the models of its nodes."""

    models: dict[str, Any] = Field(default_factory=dict[str, Any])
    """Node (or "default") -> the chat model's name or settings; None or missing needs no model."""

    foreign_sections: ClassVar[frozenset[str]] = frozenset(MODEL_NODES)

    @field_validator("models")
    @classmethod
    def _names_nodes(cls, models: dict[str, Any]) -> dict[str, Any]:
        known = [DEFAULT, *(node for nodes in MODEL_NODES.values() for node in nodes)]
        for node in models:
            if node not in known:
                raise ValueError(unknown_name_message("node", node, known))
        return models

    def models_of(self, workflow: str) -> dict[str, Any]:
        """The entries of ``models`` that concern one workflow.

        Args:
            workflow: The workflow's name.
        """
        return {node: model for node, model in self.models.items() if node in (DEFAULT, *MODEL_NODES[workflow])}
