"""What the state says: what is asked, by whom and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import MAXYEAR, MINYEAR, datetime
from typing import Any

from loopwright.errors import InputError
from loopwright.workflows.assistant.schemas import Profile, Question
from loopwright.workflows.assistant.state import AssistantState


def question_of(state: AssistantState | Mapping[str, Any]) -> str:
    """The question: the text of the last message that the person wrote; empty without any."""
    for message in reversed(state.get("messages") or []):
        if message.type == "human":
            return message.text.strip()
    return ""


def asked_of(state: AssistantState | Mapping[str, Any]) -> Question:
    """What the question asks for; before it was read, the question as it is."""
    text = question_of(state)
    return state.get("question") or Question(text=text, topic=text)


def asked_at(state: AssistantState | Mapping[str, Any]) -> datetime | None:
    """The moment of asking, or None if the caller does not say.

    Raises:
        InputError: If it is no ISO time.
    """
    return moment((state.get("user_context") or {}).get("now"))


def moment(now: Any) -> datetime | None:
    """A moment from a caller.

    Args:
        now: An ISO time, a `datetime`, or None.

    Raises:
        InputError: If it is none of these.
    """
    if now is None:
        return None
    try:
        moment = now if isinstance(now, datetime) else datetime.fromisoformat(now)
        # In any zone, and with some days before and after it.
        if MINYEAR < moment.year < MAXYEAR:
            return moment
    except (TypeError, ValueError):
        pass
    raise InputError(f"now is {now!r}: give an ISO time, for example 2025-02-01T14:00:00+01:00")


def user_of(state: AssistantState | Mapping[str, Any]) -> str | None:
    """Who asks, or None."""
    return (state.get("user_context") or {}).get("user_id")


def given_profile(state: AssistantState | Mapping[str, Any]) -> Profile | None:
    """The profile that the caller gives for this question alone, or None."""
    given = (state.get("user_context") or {}).get("profile")
    if not given:
        return None
    if isinstance(given, Profile):
        return given
    return Profile.model_validate({"user_id": user_of(state) or "", **given})
