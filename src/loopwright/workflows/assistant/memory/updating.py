"""Keeping a profile up to date with what the person says of itself."""

from __future__ import annotations

from datetime import UTC, datetime

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.question.personal import forgets_all, said_of_itself
from loopwright.workflows.assistant.schemas import Profile

MOST_ENTRIES = 20
"""Entries of one list of a profile; the oldest are dropped."""


def profile_needs_update(question: str, profile: Profile | None) -> bool:
    """Whether a message says something of the person that the profile does not have yet, or asks to forget it.

    Args:
        question: The message.
        profile: What is known, or None.
    """
    known = profile or Profile(user_id="")
    return forgets_all(question) or updated_profile(question, known, known.user_id) is not known


def updated_profile(question: str, profile: Profile | None, user_id: str) -> Profile:
    """The profile with the name and the interests that a message states.

    Args:
        question: The message, in English; in other languages nothing is read.
        profile: What is known, or None.
        user_id: Names the person.

    Returns:
        The changed profile, or `profile` itself where nothing changes.
    """
    known = profile or Profile(user_id=user_id)
    name, interests = said_of_itself(question)
    held = {fold(entry) for entry in known.interests}
    more = tuple(entry for entry in interests if fold(entry) not in held)
    if not more and name in ("", known.name):
        return known
    entries = (*known.interests, *more)[-MOST_ENTRIES:]
    changed = {"user_id": user_id, "name": name or known.name, "interests": entries, "updated_at": datetime.now(UTC)}
    return known.model_copy(update=changed)
