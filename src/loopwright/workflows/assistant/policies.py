"""How each node is run, and how the run goes on when one failed for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from loopwright.engine import GiveUp, NodePolicy, Retry, usual_retries
from loopwright.errors import BackendError
from loopwright.workflows.assistant.constants import (
    EXECUTE_QUERIES,
    GENERATE_RESPONSE,
    RELAX_AND_RETRY,
)
from loopwright.workflows.assistant.nodes import NODES, NodeDeclaration
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState

BACKEND = "backend"
"""What events call a further attempt after the store failed."""

_ALWAYS_DEGRADE = ("fetch_data", "update_profile", "generate_acknowledgment")
"""What an answer can do without, model or not."""


def node_policies(services: Services) -> dict[str, NodePolicy]:
    """The policy of every node.

    A node that asks a chat model gives way to its rules when that failed for good; who asks and what was said before
    are done without. A store that is down fails the run: it is never "nothing found".

    Args:
        services: The configuration and the models.
    """
    return {name: _policy(node, services) for name, node in NODES.items()}


def _policy(node: NodeDeclaration, services: Services) -> NodePolicy:
    config = services.config
    pipeline, section = config.pipeline, config.assistant
    waits: dict[str, Any] = {
        "initial_wait": pipeline.retry.initial_wait,
        "factor": pipeline.retry.factor,
        "max_wait": pipeline.retry.max_wait,
    }
    asks = node.has_llm and services.chat(node.name) is not None
    searches = node.name in (EXECUTE_QUERIES, RELAX_AND_RETRY)
    rules: tuple[Retry, ...] = usual_retries(pipeline.max_retry_attempts, **waits) if asks else ()
    calls = 0
    if asks:
        repairs = 0 if node.name == GENERATE_RESPONSE else section.repairs
        calls = len(services.models.models_of(node.name)) * (repairs + 1)
    return NodePolicy(
        timeout=section.timeout.model if asks else section.timeout.search if searches else None,
        retries=rules,
        give_up=_give_up(node, services) if asks or node.name in _ALWAYS_DEGRADE else None,
        max_model_calls=calls,
        debug=config.langgraph.debug_mode,
    )


def _give_up(node: NodeDeclaration, services: Services) -> GiveUp | None:
    if node.next is None or node.without is None:
        return None
    instead: Callable[[AssistantState, Services], dict[str, Any]] = node.without

    def update(state: Mapping[str, Any], message: str) -> dict[str, Any]:
        return {**instead(cast("AssistantState", state), services), "error": message, "error_node": node.name}

    return GiveUp(goto=node.next, update=update)


def passes(error: BaseException) -> bool:
    """Whether a failure of the store may pass by itself."""
    return isinstance(error, BackendError) and error.transient
