"""The state that flows through the graph, and what it says: what is asked, by whom and when."""

# No "from __future__ import annotations" here: with it, Python 3.11 does not see NotRequired.
from collections.abc import Mapping
from contextlib import suppress
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Annotated, Any, NotRequired, TypedDict

from langchain_core.messages import AnyMessage
from langgraph.graph.message import add_messages

from loopwright.engine.ledger import StopReason
from loopwright.errors import InputError
from loopwright.workflows.assistant import schemas


class ChatInput(TypedDict):
    """What a caller gives; narrower than the full state."""

    messages: Annotated[list[AnyMessage], add_messages]
    """The conversation as the caller has it; the last message of the person who asks is the question."""
    user_context: NotRequired[schemas.UserContext]
    """Who asks, and when."""


class AssistantState(ChatInput):
    """The whole state: the input and what the nodes add.

    Every key but `messages` and `user_context` starts anew with each question.
    """

    profile: NotRequired[schemas.Profile | None]
    """What is known of the person, or None."""
    profile_needs_update: NotRequired[bool]
    """Whether the question says something of the person that is not known yet."""
    history: NotRequired[list[schemas.Turn]]
    """Earlier turns of the conversation, oldest first."""
    acknowledgment: NotRequired[str]
    """What the person is told before the search begins."""
    question: NotRequired[schemas.Question]
    """What the question asks for."""
    intent: NotRequired[str]
    """The same in a few words."""
    query_mode: NotRequired[schemas.QueryMode]
    """Whether the question or the person's profile decides."""
    planned_queries: NotRequired[list[schemas.PlannedQuery]]
    """What is searched next, or was searched last."""
    original_planned_queries: NotRequired[list[schemas.PlannedQuery]]
    """The first plan; set once."""
    attempts: NotRequired[list[list[schemas.PlannedQuery]]]
    """Every plan so far, in order."""
    outcomes: NotRequired[list[schemas.SearchOutcome]]
    """What each query of the last plan brought, in the order of the plan."""
    query_results: NotRequired[dict[str, list[schemas.Found]]]
    """Table -> what was found so far, over all plans, best first."""
    near_misses: NotRequired[dict[str, list[schemas.Found]]]
    """Table -> what came near so far, over all plans, best first."""
    zero_result_tables: NotRequired[list[str]]
    """The tables that were asked and have no result."""
    retry_wanted: NotRequired[str | None]
    """Why another search would help, in a few words, or None; whether one is left is not asked here."""
    needs_retry: NotRequired[bool]
    """Whether another search would help and ``retry_count`` is below ``max_retry_count``."""
    retry_count: NotRequired[int]
    """Retries so far, counted by the node that retries."""
    reflection_reasoning: NotRequired[str]
    """Why the last plan is as it is, for developers."""
    reflection_strategy: NotRequired[schemas.Strategy]
    """How the last plan differs from the one before."""
    thinking_updates: NotRequired[list[schemas.ThinkingUpdate]]
    """What the person was told of each retry, in order."""
    response_text: NotRequired[str]
    """The answer as Markdown."""
    referenced_ids: NotRequired[list[str]]
    """The records that the answer cites, in its order."""
    status: NotRequired[schemas.Status]
    """How honest an end this is."""
    quality_score: NotRequired[float | None]
    """Whether it answers what was asked, from 0 to 1."""
    confidence_score: NotRequired[float | None]
    """How sure the search was, from 0 to 1."""
    faithfulness_score: NotRequired[float | None]
    """The share of its statements that the cited records bear out, from 0 to 1; None where no chat model judged."""
    evaluation: NotRequired[schemas.Evaluation | None]
    """The scores with what is wrong, or None before."""
    stop_reason: NotRequired[StopReason | list[StopReason] | None]
    """Which loop reached its bound, or None; see `loopwright.engine.ledger.StopReason`."""
    error: NotRequired[str | None]
    """What went wrong last, or None."""
    error_node: NotRequired[str | None]
    """Where it went wrong, or None."""


def question_of(state: AssistantState | Mapping[str, Any]) -> str:
    """The question: the text of the last message that the person wrote; empty without any."""
    for message in reversed(state.get("messages") or []):
        if message.type == "human":
            return message.text.strip()
    return ""


def asked_of(state: AssistantState | Mapping[str, Any]) -> schemas.Question:
    """What the question asks for; before it was read, the question as it is."""
    text = question_of(state)
    return state.get("question") or schemas.Question(text=text, topic=text)


def asked_at(state: AssistantState | Mapping[str, Any]) -> datetime | None:
    """The moment of asking, or None if the caller does not say.

    Raises:
        InputError: If it is no ISO time.
    """
    return moment((state.get("user_context") or {}).get("now"))


def moment(now: Any) -> datetime | None:
    """A moment from a caller: an ISO time, a `datetime`, or None.

    Raises:
        InputError: If it is none of these.
    """
    if now is None:
        return None
    with suppress(TypeError, ValueError):
        moment = now if isinstance(now, datetime) else datetime.fromisoformat(now)
        # In any zone, and with some days before and after it.
        if MINYEAR < moment.year < MAXYEAR:
            return moment
    raise InputError(f"now is {now!r}: give an ISO time, for example 2025-02-01T14:00:00+01:00")


def user_of(state: AssistantState | Mapping[str, Any]) -> str | None:
    """Who asks, or None."""
    return (state.get("user_context") or {}).get("user_id")


def given_profile(state: AssistantState | Mapping[str, Any]) -> schemas.Profile | None:
    """The profile that the caller gives for this question alone, or None."""
    given = (state.get("user_context") or {}).get("profile")
    if not given:
        return None
    if isinstance(given, schemas.Profile):
        return given
    return schemas.Profile.model_validate({"user_id": user_of(state) or "", **given})
