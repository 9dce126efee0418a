"""The conference assistant: questions, and the runs that answer them."""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from pydantic import BaseModel, ConfigDict, Field

from loopwright.runs.live import LiveRun
from loopwright.runs.schemas import RunStatus
from loopwright.server.answering import failure_of
from loopwright.server.answers import ChatAnswer, answer_of, told_failure
from loopwright.server.beginning import begin
from loopwright.server.context import Context, Here, unknown_run
from loopwright.server.described import streamed
from loopwright.server.problems import PROBLEM
from loopwright.server.sse import event_stream, position
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
    200: streamed("ChatEvent", "The events of the run, each with the id RUN_ID:N; the last is done or error."),
    204: {"description": "The client has every event, and no more will come."},
    400: PROBLEM,
    404: PROBLEM,
}
BUSY: dict[int | str, dict[str, Any]] = {503: PROBLEM}
ASSISTANT = "assistant"
"""The workflow."""

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


class ChatRun(BaseModel):
    """Where a run stands."""

    run_id: str
    """Names the run."""
    state: RunStatus
    """Whether it goes on, and else how it ended."""
    events: int
    """How many events it has so far."""


@router.post("/stream", operation_id="stream_chat", response_class=Response, responses=STREAM | BUSY)
async def stream(asked: ChatRequest, context: Here, last_event_id: LastEventId = None) -> Response:
    """Answer a message and send what happens as it happens; with ``Last-Event-ID``, go on reading that run instead.

    The run goes on when the client leaves.
    """
    if last_event_id is not None:
        run_id, _number = position(last_event_id)
        return await event_stream(context, run_id, "client", last_event_id)
    run = await _start(asked, context)
    return await event_stream(context, run.id, "client")


@router.post(
    "",
    operation_id="chat",
    response_model_exclude={"summary": {"event"}},
    responses={status: PROBLEM for status in (404, 500, 503)},
)
async def answer(asked: ChatRequest, context: Here) -> ChatAnswer:
    """Answer a message in one piece."""
    run = await _start(asked, context)
    record = await run.wait()
    events = await asyncio.to_thread(context.hub.store.events, run.id, "client", 0, context.hub.limits.events)
    if (found := answer_of(run.id, events)) is not None:
        return found
    raise (told_failure(events) or failure_of(record)).exception


@router.get("/runs/{run_id}/events", operation_id="follow_chat", response_class=Response, responses=STREAM)
async def events(run_id: str, context: Here, last_event_id: LastEventId = None) -> Response:
    """Send the events of a run from the first, or behind ``Last-Event-ID``; also after its end."""
    return await event_stream(context, run_id, "client", last_event_id)


@router.post("/runs/{run_id}/cancel", operation_id="cancel_chat", responses={404: PROBLEM})
async def cancel(run_id: str, context: Here) -> ChatRun:
    """End a run; one that has ended stays as it is."""
    if await context.hub.record(run_id) is None:
        raise unknown_run(run_id).exception
    record = await context.hub.cancel(run_id)
    count = await asyncio.to_thread(context.hub.store.count, run_id, "client")
    return ChatRun(run_id=run_id, state=record.status, events=count)


async def _start(asked: ChatRequest, context: Context) -> LiveRun:
    given: dict[str, Any] = {"message": asked.message}
    if asked.user_context:
        given["user_context"] = asked.user_context.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return await begin(context, ASSISTANT, given)
