"""Where control goes after the summarizer: pure decisions."""

import logging
from collections.abc import Mapping
from typing import Any, Literal

from loopwright.workflows.iqa.schemas import NO_REASON, SummarizerOutput

logger = logging.getLogger("loopwright.iqa")

DEFAULT_MAX_REPLANS = 2
"""Replans per run where the state does not say."""

Next = Literal["planner", "__end__"]
"""Where control can go after the summarizer."""


def wants_replan(state: Mapping[str, Any]) -> Next:
    """The wish alone: whether the summarizer asks for another plan. The gate ``loop.replan`` bounds it."""
    result: SummarizerOutput | None = state.get("summarizer_result")
    if result and result.need_replan:
        return "planner"  # the gate logs what becomes of it
    _log_decision(state, "__end__")
    return "__end__"


def decide_next_node(state: Mapping[str, Any]) -> Next:
    """Wish and bound in one, for callers without a gate; agrees with `wants_replan` behind the gate on every state.

    Args:
        state: An `AgenticIQAState`.

    Returns:
        "planner" if the summarizer asks for a replan and fewer than the allowed ones happened, else "__end__".
    """
    result: SummarizerOutput | None = state.get("summarizer_result")
    if not result:
        return "__end__"
    iteration: int = state.get("iteration_count", 0)
    allowed: int | None = state.get("max_replan_iterations", DEFAULT_MAX_REPLANS)
    limit = DEFAULT_MAX_REPLANS if allowed is None else allowed
    decision: Next = "planner" if result.need_replan and iteration < limit else "__end__"
    _log_decision(state, decision)
    if decision == "planner":
        logger.info("Replanning triggered: %s", result.replan_reason)
        logger.info("Iteration %s/%s", iteration + 1, limit)
    elif result.need_replan:
        logger.warning(EXHAUSTED.format(limit=limit))
    return decision


def _log_decision(state: Mapping[str, Any], decision: Next) -> None:
    result: SummarizerOutput | None = state.get("summarizer_result")
    wanted, limit = bool(result and result.need_replan), state.get("max_replan_iterations")
    logger.info(
        "need_replan=%s, iteration_count=%s, max_replan_iterations=%s, decision: %s",
        wanted, state.get("iteration_count", 0), DEFAULT_MAX_REPLANS if limit is None else limit, decision,
    )  # fmt: skip


EXHAUSTED = (
    "Max replanning iterations ({limit}) reached. Continuing with current evidence despite need_replan=true. "
    "If this happens often, there may be a logic issue in the Summarizer: it asks again on every iteration."
)
"""The warning when the bound on replans is reached."""


def replan_reason(state: Mapping[str, Any]) -> str:
    """Why the summarizer asks for another plan."""
    result: SummarizerOutput | None = state.get("summarizer_result")
    return (result.replan_reason if result else None) or NO_REASON


def plan_content(state: Mapping[str, Any]) -> Any:
    """What must differ between two plans for a replan to be progress: everything but the rationale."""
    plan = state.get("plan")
    return plan.model_dump(mode="json", exclude={"rationale"}) if plan else None
