"""What the state says of its loops: how often they went round, and why another pass is wanted."""

from __future__ import annotations

from loopwright.workflows.rag.constants import Defaults
from loopwright.workflows.rag.schemas import Answer
from loopwright.workflows.rag.state import GraphState


def retries(state: GraphState) -> tuple[int, int]:
    """Query transformations so far, and how many are allowed.

    Args:
        state: Reads ``retry_count`` and ``max_retry_count``.
    """
    limit: int | None = state.get("max_retry_count")
    return state.get("retry_count", 0), Defaults.MAX_RETRY_COUNT if limit is None else limit


def why_transformed(state: GraphState) -> str:
    """Why a query transformation is wanted."""
    if not state.get("documents"):
        return f"nothing relevant was found for {state.get('query', '')!r}"
    return _said_of_answer(state, "the answer does not answer the question")


def why_regenerated(state: GraphState) -> str:
    """Why the answer is to be written anew."""
    return _said_of_answer(state, "the sources do not support the answer")


def why_another_hop(state: GraphState) -> str:
    """What the next hop looks for."""
    return f"the question leads on to {state.get('next_query')!r}"


def _said_of_answer(state: GraphState, otherwise: str) -> str:
    grade, answer = state.get("answer_grade"), state.get("generation") or Answer(text="")
    return (grade.reason if grade else "") or f"{otherwise}: {answer.text}"
