"""What each node is: declared once, from which the tracking tables, the prompts and the DevTools' labels come."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from loopwright.workflows.assistant import constants as names
from loopwright.workflows.assistant.nodes.answering import (
    evaluate,
    generate_response,
    judged_by_rules,
    written_by_rules,
)
from loopwright.workflows.assistant.nodes.fetching import (
    fetch_data,
    fresh_state,
    generate_acknowledgment,
    update_profile,
)
from loopwright.workflows.assistant.nodes.planning import plan_queries, planned_by_rules
from loopwright.workflows.assistant.nodes.reflecting import reflect_and_replan, reflected_by_rules
from loopwright.workflows.assistant.nodes.searching import check_results, execute_queries, relax_and_retry
from loopwright.workflows.assistant.reasons import given_profile
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeclaration:
    """One node."""

    name: str
    """Its name in the graph."""
    work: Callable[..., Coroutine[Any, Any, dict[str, Any]]]
    """What it does: from the state and the services to an update."""
    label: str
    """What people call it."""
    icon: str
    """Its picture in the DevTools."""
    has_llm: bool = False
    """Whether it asks a chat model where one is configured; its prompt is called as it is."""
    progress: str | None = None
    """What the person is told while it runs; None tells nothing."""
    next: str | None = None
    """Where the run goes on when it failed for good and does without it; None fails the run."""
    without: Callable[[AssistantState, Services], dict[str, Any]] | None = None
    """What is written then in its place."""


def _nothing(_state: AssistantState, _services: Services) -> dict[str, Any]:
    return {}


def _unknown(state: AssistantState, _services: Services) -> dict[str, Any]:
    return {**fresh_state(), "profile": given_profile(state)}


DECLARATIONS: tuple[NodeDeclaration, ...] = (
    NodeDeclaration(
        name=names.FETCH_DATA,
        work=fetch_data,
        label="Fetch data",
        icon="📥",
        next=names.GENERATE_ACKNOWLEDGMENT,
        without=_unknown,
    ),
    NodeDeclaration(
        name=names.UPDATE_PROFILE,
        work=update_profile,
        label="Update profile",
        icon="👤",
        has_llm=True,
        progress="Noting what you told me about yourself…",
        next=names.GENERATE_ACKNOWLEDGMENT,
        without=_nothing,
    ),
    NodeDeclaration(
        name=names.GENERATE_ACKNOWLEDGMENT,
        work=generate_acknowledgment,
        label="Acknowledge",
        icon="👋",
        has_llm=True,
        next=names.PLAN_QUERIES,
        without=_nothing,
    ),
    NodeDeclaration(
        name=names.PLAN_QUERIES,
        work=plan_queries,
        label="Plan queries",
        icon="🗺️",
        has_llm=True,
        progress="Working out what to look for…",
        next=names.EXECUTE_QUERIES,
        without=planned_by_rules,
    ),
    NodeDeclaration(
        name=names.EXECUTE_QUERIES,
        work=execute_queries,
        label="Execute queries",
        icon="🔎",
        progress="Searching the programme…",
    ),
    NodeDeclaration(name=names.CHECK_RESULTS, work=check_results, label="Check results", icon="✅"),
    NodeDeclaration(
        name=names.RELAX_AND_RETRY,
        work=relax_and_retry,
        label="Relax & retry",
        icon="🔁",
        progress="Looking a little more widely…",
    ),
    NodeDeclaration(
        name=names.REFLECT_AND_REPLAN,
        work=reflect_and_replan,
        label="Reflect & Replan",
        icon="🤔",
        has_llm=True,
        next=names.EXECUTE_QUERIES,
        without=reflected_by_rules,
    ),
    NodeDeclaration(
        name=names.GENERATE_RESPONSE,
        work=generate_response,
        label="Generate response",
        icon="✍️",
        has_llm=True,
        progress="Writing the answer…",
        next=names.EVALUATE,
        without=written_by_rules,
    ),
    NodeDeclaration(
        name=names.EVALUATE,
        work=evaluate,
        label="Evaluate",
        icon="⚖️",
        has_llm=True,
        next="__end__",
        without=judged_by_rules,
    ),
)
"""Every node, in the order in which a question meets them."""

NODES: dict[str, NodeDeclaration] = {node.name: node for node in DECLARATIONS}
"""Every node by its name."""
