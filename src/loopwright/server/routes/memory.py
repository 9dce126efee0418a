"""What is kept of persons and conversations, and its deletion."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from loopwright.errors import InputError
from loopwright.server.context import Context, Here
from loopwright.server.problems import PROBLEM, Problem
from loopwright.server.routes.assistant import Name, ProfileFields
from loopwright.workflows.assistant.memory import Memory
from loopwright.workflows.assistant.schemas import Profile, Turn

MISSING: dict[int | str, dict[str, Any]] = {404: PROBLEM}

router = APIRouter(prefix="/api", tags=["memory"])


class Conversation(BaseModel):
    """The turns of a conversation."""

    conversation_id: str
    """Names it."""
    turns: tuple[Turn, ...]
    """The last of its turns, oldest first."""


@router.get("/profiles/{user_id}", operation_id="get_profile", responses=MISSING)
async def profile(user_id: Name, context: Here) -> Profile:
    """What is known of a person."""
    found = await memory_of(context).profile(user_id)
    if found is None:
        raise Problem(f"nothing is known of {user_id!r}", "UnknownPerson", status=404).exception
    return found


@router.put("/profiles/{user_id}", operation_id="keep_profile", responses=MISSING)
async def keep_profile(user_id: Name, fields: ProfileFields, context: Here) -> Profile:
    """Keep what is known of a person, in place of what was known before."""
    kept = Profile(user_id=user_id, **fields.model_dump(), updated_at=datetime.now(UTC))
    await memory_of(context).keep_profile(kept)
    return kept


@router.delete("/profiles/{user_id}", status_code=204, operation_id="delete_profile", responses=MISSING)
async def delete_profile(user_id: Name, context: Here) -> Response:
    """Forget a person, with all of the person's conversations."""
    await memory_of(context).delete_profile(user_id)
    return Response(status_code=204)


@router.get("/conversations/{conversation_id}", operation_id="get_conversation", responses=MISSING)
async def conversation(
    conversation_id: Name, context: Here, user_id: Name | None = None, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> Conversation:
    """The last turns of a conversation; one that belongs to a person is shown to nobody else."""
    try:
        turns = await memory_of(context).turns(conversation_id, limit, user_id=user_id)
    except InputError:
        raise _unknown(conversation_id) from None
    if not turns:
        raise _unknown(conversation_id)
    return Conversation(conversation_id=conversation_id, turns=tuple(turns))


@router.delete(
    "/conversations/{conversation_id}", status_code=204, operation_id="delete_conversation", responses=MISSING
)
async def delete_conversation(conversation_id: Name, context: Here, user_id: Name | None = None) -> Response:
    """Forget a conversation."""
    try:
        await memory_of(context).delete_conversation(conversation_id, user_id=user_id)
    except InputError:
        raise _unknown(conversation_id) from None
    return Response(status_code=204)


def memory_of(context: Context) -> Memory:
    """What the assistant remembers.

    Args:
        context: Knows the assistant.

    Raises:
        HTTPException: With status 404, if it is not served.
    """
    if context.assistant is None:
        raise Problem("the assistant is not served here", "UnknownWorkflow", status=404).exception
    return context.assistant.memory


def _unknown(conversation_id: str) -> HTTPException:
    # Whether it is somebody else's is nobody's business.
    told = f"there is no conversation {conversation_id!r} of this user: give the user_id that began it"
    return Problem(told, "UnknownConversation", status=404).exception
