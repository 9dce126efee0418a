"""The nodes: they do work and never route.

What each is is declared here once; from it come the tracking tables, the prompts and the DevTools' labels.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from loopwright.workflows.assistant import constants as names
from loopwright.workflows.assistant.nodes import answering, fetching, planning, searching
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, given_profile


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeclaration:
    """One node."""

    work: Callable[..., Coroutine[Any, Any, dict[str, Any]]]
    """What it does, from the state and the services to an update; the graph's node has its name."""
    label: str
    """What people call it."""
    icon: str
    """Its picture in the DevTools."""
    has_llm: bool = False
    """Whether it asks a chat model where one is configured; its prompt is called as it is."""
    progress: str | None = None
    """What the person is told while it runs; None tells nothing."""
    without: tuple[str, Callable[[AssistantState, Services], dict[str, Any]]] | None = None
    """Where the run goes on without it when it failed for good, and what is written instead; None fails the run."""

    @property
    def name(self) -> str:
        """Its name in the graph."""
        return self.work.__name__


def _nothing(_state: AssistantState, _services: Services) -> dict[str, Any]:
    return {}


def _unknown(state: AssistantState, services: Services) -> dict[str, Any]:
    kept = (state.get("user_context") or {}).get("conversation_id")
    history = [] if kept else fetching.said_in(state, services, services.config.assistant.history_turns)
    return {**fetching.fresh_state(), "profile": given_profile(state), "history": history}


_DECLARED = (
    NodeDeclaration(
        work=fetching.fetch_data, label="Fetch data", icon="📥",
        without=(names.GENERATE_ACKNOWLEDGMENT, _unknown),
    ),
    NodeDeclaration(
        work=fetching.update_profile, label="Update profile", icon="👤", has_llm=True,
        progress="Noting what you told me about yourself…", without=(names.GENERATE_ACKNOWLEDGMENT, _nothing),
    ),
    NodeDeclaration(
        work=fetching.generate_acknowledgment, label="Acknowledge", icon="👋", has_llm=True,
        without=(names.PLAN_QUERIES, _nothing),
    ),
    NodeDeclaration(
        work=planning.plan_queries, label="Plan queries", icon="🗺️", has_llm=True,
        progress="Working out what to look for…", without=(names.EXECUTE_QUERIES, planning.planned_by_rules),
    ),
    NodeDeclaration(
        work=searching.execute_queries, label="Execute queries", icon="🔎", progress="Searching the programme…",
    ),
    NodeDeclaration(work=searching.check_results, label="Check results", icon="✅"),
    NodeDeclaration(
        work=searching.relax_and_retry, label="Relax & retry", icon="🔁", progress="Looking a little more widely…",
    ),
    NodeDeclaration(
        work=searching.reflect_and_replan, label="Reflect & Replan", icon="🤔", has_llm=True,
        without=(names.EXECUTE_QUERIES, searching.reflected_by_rules),
    ),
    NodeDeclaration(
        work=answering.generate_response, label="Generate response", icon="✍️", has_llm=True,
        progress="Writing the answer…", without=(names.EVALUATE, answering.written_by_rules),
    ),
    NodeDeclaration(
        work=answering.evaluate, label="Evaluate", icon="⚖️", has_llm=True,
        without=("__end__", answering.judged_by_rules),
    ),
)  # fmt: skip
NODES: dict[str, NodeDeclaration] = {node.name: node for node in _DECLARED}
"""Every node by its name, in the order in which a question meets them."""

# The tables that the requirement names, each read from the declarations.
_PIPELINE_NODES: set[str] = set(NODES)
_LLM_NODES: set[str] = {name for name, node in NODES.items() if node.has_llm}
_NODE_PROMPT_KEYS: dict[str, str] = {node: node for node in _LLM_NODES}
PROGRESS_MESSAGES: dict[str, str | None] = {name: node.progress for name, node in NODES.items()}
"""Node -> what the person is told while it runs; None tells nothing, or is told by another event (thinking)."""
