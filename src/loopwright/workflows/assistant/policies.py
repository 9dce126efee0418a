"""How each node is run, and how the run goes on when one failed for good."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from loopwright.engine import GiveUp, NodePolicy, Retry, usual_retries
from loopwright.workflows.assistant.config import AssistantTimeouts
from loopwright.workflows.assistant.constants import (
    EXECUTE_QUERIES,
    FETCH_DATA,
    GENERATE_ACKNOWLEDGMENT,
    GENERATE_RESPONSE,
    RELAX_AND_RETRY,
    UPDATE_PROFILE,
)
from loopwright.workflows.assistant.nodes import NODES, NodeDeclaration
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.state import AssistantState

_ALWAYS_DEGRADE = (FETCH_DATA, UPDATE_PROFILE, GENERATE_ACKNOWLEDGMENT)
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
    rules: tuple[Retry, ...] = usual_retries(pipeline.max_retry_attempts, **waits) if asks else ()
    calls = 0
    if asks:
        repairs = 0 if node.name == GENERATE_RESPONSE else section.repairs
        calls = len(services.models.models_of(node.name)) * (repairs + 1)
    return NodePolicy(
        timeout=_timeout(node.name, section.timeout, asks=asks),
        retries=rules,
        give_up=_give_up(node, services) if asks or node.name in _ALWAYS_DEGRADE else None,
        max_model_calls=calls,
        debug=config.langgraph.debug_mode,
    )


def _timeout(node: str, seconds: AssistantTimeouts, *, asks: bool) -> float | None:
    if asks:
        return seconds.model
    if node in (FETCH_DATA, UPDATE_PROFILE):
        return seconds.memory
    return seconds.search if node in (EXECUTE_QUERIES, RELAX_AND_RETRY) else None


def _give_up(node: NodeDeclaration, services: Services) -> GiveUp | None:
    if node.next is None or node.without is None:
        return None
    instead: Callable[[AssistantState, Services], dict[str, Any]] = node.without

    def update(state: Mapping[str, Any], message: str) -> dict[str, Any]:
        return {**instead(cast("AssistantState", state), services), "error": message, "error_node": node.name}

    return GiveUp(goto=node.next, update=update)
