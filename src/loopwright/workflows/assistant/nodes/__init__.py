"""The nodes: they do work and never route.

What each does is declared here once, and what it is called in ``data/workflow.yaml``; from these come the tracking
tables, the prompts and the DevTools' labels.
"""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from loopwright.config import shipped
from loopwright.diagram.shown import NodeInfo
from loopwright.workflows.assistant import constants as names
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.nodes import answering, fetching, planning, searching
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState, given_profile

_Without: TypeAlias = tuple[str, Callable[[AssistantState, Services], dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDeclaration:
    """One node."""

    work: Callable[..., Coroutine[Any, Any, dict[str, Any]]]
    """What it does, from the state and the services to an update; the graph's node has its name."""
    info: NodeInfo
    """What people are shown of it; its prompt is called as it is."""
    progress: str | None = None
    """What the person is told while it runs; None tells nothing."""
    without: _Without | None = None
    """Where the run goes on without it when it failed for good, and what is written instead; None fails the run."""

    @property
    def name(self) -> str:
        """Its name in the graph."""
        return self.work.__name__

    @property
    def icon(self) -> str:
        """Its picture in the DevTools."""
        return self.info.icon


def _nothing(_state: AssistantState, _services: Services) -> dict[str, Any]:
    return {}


def _unknown(state: AssistantState, services: Services) -> dict[str, Any]:
    kept = (state.get("user_context") or {}).get("conversation_id")
    history = [] if kept else fetching.said_in(state, services, services.config.assistant.history_turns)
    return {**fetching.fresh_state(), "profile": given_profile(state), "history": history}


_DECLARED: dict[Callable[..., Coroutine[Any, Any, dict[str, Any]]], _Without | None] = {
    fetching.fetch_data: (names.GENERATE_ACKNOWLEDGMENT, _unknown),
    fetching.update_profile: (names.GENERATE_ACKNOWLEDGMENT, _nothing),
    fetching.generate_acknowledgment: (names.PLAN_QUERIES, _nothing),
    planning.plan_queries: (names.EXECUTE_QUERIES, planning.planned_by_rules),
    searching.execute_queries: None,
    searching.check_results: None,
    searching.relax_and_retry: None,
    searching.reflect_and_replan: (names.EXECUTE_QUERIES, searching.reflected_by_rules),
    answering.generate_response: (names.EVALUATE, answering.written_by_rules),
    answering.evaluate: ("__end__", answering.judged_by_rules),
}


def _declared(work: Callable[..., Coroutine[Any, Any, dict[str, Any]]]) -> NodeDeclaration:
    name, told = work.__name__, (work.__doc__ or "").partition("\n")[0]
    shown = dict(shipped("loopwright.workflows.assistant", "data/workflow.yaml")["nodes"][name])
    progress, asks = shown.pop("progress", None), name in AssistantConfig.model_nodes
    info = NodeInfo(**shown, has_llm=asks, prompt=name if asks else None, description=told)
    return NodeDeclaration(work=work, info=info, progress=progress, without=_DECLARED[work])


NODES = {node.name: node for node in map(_declared, _DECLARED)}
"""Every node by its name, in the order in which a question meets them."""

# The tables that the requirement names, each read from the declarations.
_PIPELINE_NODES: set[str] = set(NODES)
_LLM_NODES: set[str] = {name for name, node in NODES.items() if node.info.has_llm}
_NODE_PROMPT_KEYS: dict[str, str] = {node: node for node in _LLM_NODES}
PROGRESS_MESSAGES: dict[str, str | None] = {name: node.progress for name, node in NODES.items()}
"""Node -> what the person is told while it runs; None tells nothing, or is told by another event (thinking)."""
