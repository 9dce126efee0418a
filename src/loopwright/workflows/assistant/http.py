"""The assistant over HTTP: its clients' events, and what is kept of persons and conversations."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from loopwright.runs.schemas import RunRecord
from loopwright.server.answering import failure_of
from loopwright.server.context import Context, Here
from loopwright.server.described import streamed
from loopwright.server.problems import PROBLEM, Problem, status_of
from loopwright.server.sse import LastEventId, event_stream, position
from loopwright.workflows.assistant.memory import Memory
from loopwright.workflows.assistant.schemas import Ending, Profile, Summary, ThinkingUpdate, Turn
from loopwright.workflows.assistant.services import Services
from loopwright.workflows.assistant.workflow import ChatMessage, Name, ProfileInput

STREAM: dict[int | str, dict[str, Any]] = {
    200: streamed("ChatEvent", "The events of the run, each with the id RUN_ID:N; the last is done or error."),
    204: {"description": "The client has every event, and no more will come."},
    400: PROBLEM,
    404: PROBLEM,
}
ASSISTANT = "assistant"
"""The workflow."""
FAILED = "error"
"""The last event of a run that ended without an answer."""

chat = APIRouter(prefix="/api/chat", tags=["chat"])


def _ends_plainly(request: Request) -> None:
    """Refuse a path that ends with a slash: nobody means "anna/" who writes it, and "%2F" is one of an id."""
    if request.scope.get("raw_path", b"").partition(b"?")[0].endswith(b"/"):
        raise Problem("no id ends with a slash that is not written %2F", "UnknownPath", status=404)


remembered = APIRouter(prefix="/api", tags=["memory"], responses={404: PROBLEM}, dependencies=[Depends(_ends_plainly)])


class ChatAnswer(Ending):
    """The outcome of one message; the run's events can be read for some minutes."""

    model_config = ConfigDict(extra="ignore")
    acknowledgment: str = ""
    """The first word to the person, before anything was searched."""
    answer: str
    """The answer as Markdown, a cited record's id in brackets."""
    thinking_updates: tuple[ThinkingUpdate, ...] = ()
    """What the person would have been told of each retry, in order."""
    summary: Summary | None = None
    """The run at a glance."""


@chat.post("/stream", operation_id="stream_chat", response_class=Response, responses={**STREAM, 503: PROBLEM})
async def stream(asked: ChatMessage, context: Here, last_event_id: LastEventId = None) -> Response:
    """Answer a message and send what happens as it happens; with ``Last-Event-ID``, go on reading that run instead.

    The run goes on when the client leaves.
    """
    if last_event_id is not None:
        run_id, _number = position(last_event_id)
        return await event_stream(context, run_id, "client", last_event_id)
    return await event_stream(context, (await _start(asked, context)).id, "client")


@chat.post("", operation_id="chat", responses={status: PROBLEM for status in (404, 500, 503)})
async def answer(asked: ChatMessage, context: Here) -> ChatAnswer:
    """Answer a message in one piece."""
    record = await context.hub.until_ended((await _start(asked, context)).id)
    if record.status == "finished" and record.outcome is not None and record.outcome.status != "failed":
        return ChatAnswer.model_validate(record.outcome.details)
    events = await asyncio.to_thread(context.hub.store.events, record.id, "client", 0, context.hub.limits.events)
    if events and events[-1].name == FAILED:  # in the words for clients: what nobody foresaw is told to the log alone
        told = json.loads(events[-1].data)
        raise Problem(**told, status=status_of(told["error_type"], can_retry=told["can_retry"]))
    raise failure_of(record)


@chat.get("/runs/{run_id}/events", operation_id="follow_chat", response_class=Response, responses=STREAM)
async def events(run_id: str, context: Here, last_event_id: LastEventId = None) -> Response:
    """Send the events of a run from the first, or behind ``Last-Event-ID``; also after its end."""
    return await event_stream(context, run_id, "client", last_event_id)


async def _start(asked: ChatMessage, context: Context) -> RunRecord:
    given = asked.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    return await context.hub.start(ASSISTANT, given)


class Conversation(BaseModel):
    """The turns of a conversation."""

    conversation_id: str
    """Names it."""
    turns: tuple[Turn, ...]
    """The last of its turns, oldest first."""


@remembered.get("/profiles/{user_id:path}", operation_id="get_profile")
async def profile(user_id: Name, context: Here) -> Profile:
    """What is known of a person."""
    found = await memory_of(context).profile(user_id)
    if found is None:
        raise Problem(f"nothing is known of {user_id!r}", "UnknownPerson", status=404)
    return found


@remembered.put("/profiles/{user_id:path}", operation_id="keep_profile")
async def keep_profile(user_id: Name, fields: ProfileInput, context: Here) -> Profile:
    """Keep what is known of a person, in place of what was known before."""
    kept = Profile(user_id=user_id, **fields.model_dump(), updated_at=datetime.now(UTC))
    await memory_of(context).keep_profile(kept)
    return kept


@remembered.delete("/profiles/{user_id:path}", status_code=204, operation_id="delete_profile")
async def delete_profile(user_id: Name, context: Here) -> Response:
    """Forget a person, with all of the person's conversations."""
    await memory_of(context).delete_profile(user_id)
    return Response(status_code=204)


@remembered.get("/conversations/{conversation_id:path}", operation_id="get_conversation")
async def conversation(
    conversation_id: Name, context: Here, user_id: Name | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Conversation:
    """The last turns of a conversation; one that belongs to a person is shown to nobody else."""
    turns = await memory_of(context).turns(conversation_id, limit, user_id=user_id)
    if not turns:
        told = f"there is no conversation {conversation_id!r} of this user: give the user_id that began it"
        raise Problem(told, "UnknownConversation", status=404)
    return Conversation(conversation_id=conversation_id, turns=tuple(turns))


@remembered.delete("/conversations/{conversation_id:path}", status_code=204, operation_id="delete_conversation")
async def delete_conversation(conversation_id: Name, context: Here, user_id: Name | None = None) -> Response:
    """Forget a conversation."""
    await memory_of(context).delete_conversation(conversation_id, user_id=user_id)
    return Response(status_code=204)


def memory_of(context: Context) -> Memory:
    """What the assistant remembers; where it is not served, that is told with status 404."""
    services: Services = context.hub.hosted(ASSISTANT).services
    return services.memory


router = APIRouter()
"""Everything."""
router.include_router(chat)
router.include_router(remembered)
