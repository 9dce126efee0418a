"""The conference assistant: questions, and the runs that answer them."""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, ConfigDict, Field

from loopwright.server.answers import ChatAnswer, answer_of, failure_of
from loopwright.server.context import Context, Here
from loopwright.server.problems import Problem, ProblemBody, status_of
from loopwright.server.runs import Run, RunState
from loopwright.server.sse import event_stream, known_run, resumed
from loopwright.workflows.assistant.memory.updating import MOST_ENTRIES
from loopwright.workflows.assistant.pipeline import LONGEST_MESSAGE

LONGEST_NAME = 200
"""Characters of an identifier that a client chooses."""

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME)]
Entries = Annotated[tuple[Annotated[str, Field(max_length=LONGEST_NAME)], ...], Field(max_length=MOST_ENTRIES)]
LastEventId = Annotated[
    str | None, Header(description="The id of the last event that was received, RUN_ID:N; goes on behind it.")
]

STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events of the run, each with the id RUN_ID:N; the last is done or error.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    },
    204: {"description": "The client has every event, and no more will come."},
    400: {"model": ProblemBody},
    404: {"model": ProblemBody},
}

router = APIRouter(prefix="/api/chat", tags=["chat"])


class ProfileFields(BaseModel):
    """What is known of a person."""

    model_config = ConfigDict(extra="forbid")

    name: str = Field(default="", max_length=LONGEST_NAME)
    """How to address the person."""
    interests: Entries = ()
    """Topics, in the person's words, newest last."""
    seeking: Entries = ()
    """What the person wants to buy, learn or find."""
    offering: Entries = ()
    """What the person sells, teaches or brings."""
    languages: Entries = ()
    """Language codes that the person understands; empty for any."""


class AskedBy(BaseModel):
    """Who asks, and when."""

    model_config = ConfigDict(extra="forbid")

    user_id: Name | None = None
    """Names the person; the person's profile is used and kept."""
    conversation_id: Name | None = None
    """Names the conversation; its earlier turns are used and this one is kept."""
    now: datetime | None = None
    """The moment of asking; by default the server's."""
    profile: ProfileFields | None = None
    """Used for this question alone."""


class ChatRequest(BaseModel):
    """A message to the assistant."""

    model_config = ConfigDict(extra="forbid")

    message: str = Field(min_length=1, max_length=LONGEST_MESSAGE, pattern=r"\S")
    """The message."""
    user_context: AskedBy | None = None
    """Who asks, and when."""


class RunStatus(BaseModel):
    """Where a run stands."""

    run_id: str
    """Names the run."""
    state: RunState
    """Whether it goes on, and else how it ended."""
    events: int
    """How many events it has so far."""


@router.post("/stream", response_class=Response, responses=STREAM | {503: {"model": ProblemBody}})
async def stream(asked: ChatRequest, context: Here, last_event_id: LastEventId = None) -> Response:
    """Answer a message and send what happens as it happens; with ``Last-Event-ID``, go on reading that run instead.

    The run goes on when the client leaves.
    """
    if last_event_id is not None:
        return event_stream(*resumed(context.runs, last_event_id))
    return event_stream(_start(asked, context), 0)


@router.post(
    "",
    response_model_exclude={"summary": {"event"}},
    responses={status: {"model": ProblemBody} for status in (400, 500, 503)},
)
async def answer(asked: ChatRequest, context: Here) -> ChatAnswer:
    """Answer a message in one piece."""
    run = _start(asked, context)
    await run.wait()
    if (found := answer_of(run)) is not None:
        return found
    failure = failure_of(run)
    status = status_of(failure["error_type"], can_retry=failure["can_retry"])
    raise Problem(**failure, status=status).exception


@router.get("/runs/{run_id}/events", response_class=Response, responses=STREAM)
async def events(run_id: str, context: Here, last_event_id: LastEventId = None) -> Response:
    """Send the events of a run from the first, or behind ``Last-Event-ID``; also some minutes after its end."""
    if last_event_id is None:
        return event_stream(known_run(context.runs, run_id), 0)
    run, number = resumed(context.runs, last_event_id)
    if run.id != run_id:
        told = f"the header Last-Event-ID names run {run.id}, the address run {run_id[:80]}: give them alike"
        raise Problem(told, "BadRequest", status=400).exception
    return event_stream(run, number)


@router.post("/runs/{run_id}/cancel", responses={404: {"model": ProblemBody}})
async def cancel(run_id: str, context: Here) -> RunStatus:
    """End a run; one that has ended stays as it is."""
    run = known_run(context.runs, run_id)
    await context.runs.cancel(run.id)
    return RunStatus(run_id=run.id, state=run.state, events=len(run.events))


def _start(asked: ChatRequest, context: Context) -> Run:
    if refusal := context.runs.refusal:
        raise Problem(refusal, "Busy", can_retry=True, status=503, headers={"Retry-After": "5"}).exception
    run_id = uuid.uuid4().hex
    who = asked.user_context
    given = who.model_dump(mode="json", exclude_unset=True, exclude_none=True) if who else None
    happening = context.chat(asked.message, user_context=given, services=context.services, run_id=run_id)
    return context.runs.start(run_id, happening)
