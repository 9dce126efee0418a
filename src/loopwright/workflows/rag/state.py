"""The state that flows through the graph, and what it says: how often its loops went round, and why again."""

# No "from __future__ import annotations" here: with it, Python 3.11 does not see NotRequired.
from collections.abc import Iterable, Mapping
from typing import Any, NotRequired, TypedDict

from loopwright.engine.ledger import StopReason
from loopwright.retrieval.records import Evidence, Filter
from loopwright.workflows.rag.constants import Defaults
from loopwright.workflows.rag.schemas import Answer, AnswerGrade, Complexity, Grade, Route, Status


class QuestionInput(TypedDict):
    """What a caller gives; narrower than the full state."""

    question: str
    """The user's question; never overwritten."""
    history: NotRequired[list[str]]
    """Earlier questions and answers of a chat, in turns, oldest first; where it is empty, the one before on the thread
    counts. A thread keeps what its last input said, so give it each time; so with `where` and `max_retry_count`."""
    where: NotRequired[Filter | None]
    """Which documents count; None or missing takes all."""
    retry_count: NotRequired[int]
    """0 at the start; from then on the number of query transformations, written by `query_transformation`."""
    max_retry_count: NotRequired[int | None]
    """Query transformations that are allowed; None or missing lets the question's complexity decide."""


class GraphState(QuestionInput):
    """The whole state: the input and what the nodes add."""

    standalone: NotRequired[str]
    """The question as it stands without the chat before it; what passages and answers are judged by."""
    route: NotRequired[Route]
    """Where the question goes first."""
    complexity: NotRequired[Complexity]
    """How many steps the question needs."""
    retry_limit: NotRequired[int]
    """Query transformations that are allowed in this run: as asked for, or by the complexity, under the ceiling."""
    query: NotRequired[str]
    """What is searched now."""
    queries: NotRequired[list[str]]
    """Everything that was searched, in order."""
    failures: NotRequired[list[str]]
    """Why each query transformation was wanted, in order."""
    retrieved: NotRequired[list[Evidence]]
    """What the last search found, best first; not graded yet."""
    grades: NotRequired[list[Grade]]
    """The grades of the last search's passages, same order."""
    documents: NotRequired[list[Evidence]]
    """What was found relevant to the question since the last query transformation, over all hops."""
    earlier_documents: NotRequired[list[Evidence]]
    """What was found relevant before, and did not suffice."""
    next_query: NotRequired[str | None]
    """What to search next, where the question needs another hop; else None."""
    web_searched: NotRequired[bool]
    """Whether the web was searched in this run; the same question would find the same."""
    web_note: NotRequired[str | None]
    """What there is to say of the web search, for example that none is configured."""
    generation: NotRequired[Answer]
    """The last answer."""
    regeneration_count: NotRequired[int]
    """Further attempts at an unsupported answer so far, written by the gate alone."""
    answer_grade: NotRequired[AnswerGrade]
    """The verdicts on the last answer."""
    status: NotRequired[Status]
    """How honest an end this would be, or is."""
    stop_reason: NotRequired[StopReason | list[StopReason] | None]
    """Which loop reached its bound, or None; see `loopwright.engine.ledger.StopReason`."""
    error: NotRequired[str | None]
    """What went wrong last; None again once a later pass succeeds."""


def asked_of(state: GraphState) -> str:
    """The question as it stands alone; what passages and answers are judged by."""
    return state.get("standalone") or state["question"]


def unique(found: Iterable[Evidence]) -> list[Evidence]:
    """Evidence without what comes again, in the order of its first coming."""
    return [*{evidence.id: evidence for evidence in found}.values()]


def gathered(state: GraphState) -> list[Evidence]:
    """What an answer is written and graded from: what was found first, by the question's own words, then the rest."""
    return unique([*(state.get("earlier_documents") or []), *(state.get("documents") or [])])


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
