"""What the state says: what is asked, what was found, how often its loops went round, and why again."""

from collections.abc import Iterable, Mapping
from typing import Any

from loopwright.retrieval.records import Evidence
from loopwright.workflows.rag.constants import Defaults
from loopwright.workflows.rag.schemas import Answer
from loopwright.workflows.rag.state import GraphState


def asked_of(state: GraphState) -> str:
    """The question as it stands alone; what passages and answers are judged by."""
    return state.get("standalone") or state["question"]


def unique(found: Iterable[Evidence]) -> list[Evidence]:
    """Evidence without what comes again, in the order of its first coming."""
    return [*{evidence.id: evidence for evidence in found}.values()]


def retries(state: GraphState) -> tuple[int, int]:
    """Query transformations so far, and how many are allowed."""
    return state.get("retry_count", 0), retry_limit(state)


def retry_limit(state: GraphState | Mapping[str, Any]) -> int:
    """How many query transformations are allowed."""
    limit: int | None = state.get("retry_limit", state.get("max_retry_count"))
    return Defaults.MAX_RETRY_COUNT if limit is None else limit


def why_transformed(state: GraphState) -> str:
    """Why a query transformation is wanted."""
    if not state.get("documents"):
        return f"nothing relevant was found for {state.get('query', '')!r}"
    return _said_of_answer(state, "the answer does not answer the question")


def why_regenerated(state: GraphState) -> str:
    """Why the answer is to be written anew."""
    grade = state.get("answer_grade")
    said = " ".join(grade.unsupported) if grade else ""
    return _said_of_answer(state, "the sources do not support the answer", said)


def why_another_hop(state: GraphState) -> str:
    """What the next hop looks for."""
    return f"the question leads on to {state.get('next_query')!r}"


def _said_of_answer(state: GraphState, otherwise: str, said: str = "") -> str:
    grade, answer = state.get("answer_grade"), state.get("generation") or Answer(text="")
    return (grade.reason if grade else "") or f"{otherwise}: {said or answer.text}"
