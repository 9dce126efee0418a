"""The state that flows through the graph."""

# No "from __future__ import annotations" here: with it, Python 3.11 does not see NotRequired.
from typing import NotRequired, TypedDict

from loopwright.engine.ledger import StopReason
from loopwright.retrieval.records import Evidence, Filter
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
