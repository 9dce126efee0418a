"""Keeping a profile up to date with what the person says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Literal

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.question.statements import SelfStatement, self_statements
from loopwright.workflows.assistant.schemas import Profile

MOST_ENTRIES = 20
"""Entries of one list of a profile; the oldest are dropped."""

_List = Literal["interests", "seeking", "offering"]
_LISTS: tuple[_List, ...] = ("interests", "seeking", "offering")
_OWN_LANGUAGE = "en"


def profile_needs_update(question: str, profile: Profile | None) -> bool:
    """Whether a message says something of the person that the profile does not have yet, or takes something back.

    Args:
        question: The message.
        profile: What is known, or None.
    """
    known = profile or Profile(user_id="")
    return forgets_all(question) or updated_profile(question, known, known.user_id) is not known


def forgets_all(question: str) -> bool:
    """Whether a message asks to forget everything, which is more than the profile: its conversations too.

    Args:
        question: The message.
    """
    return any(statement.field == "all" for statement in self_statements(question))


def takes_back(question: str) -> bool:
    """Whether a message takes something back, which a reading that only adds would get wrong.

    Args:
        question: The message.
    """
    return any(not statement.holds for statement in self_statements(question))


def updated_profile(question: str, profile: Profile | None, user_id: str) -> Profile:
    """The profile after a message.

    "Forget that" takes back the newest interest, without any the newest thing sought, else offered. Who says in English
    which languages they speak understands English too, unless they speak only others. A language that a person does not
    speak is taken from those that are known; where none are, that it is not spoken cannot be kept.

    Args:
        question: The message, in English; in other languages nothing is read.
        profile: What is known, or None.
        user_id: Names the person.

    Returns:
        The changed profile, or `profile` itself where nothing changes.
    """
    known = profile or Profile(user_id=user_id)
    changed = known
    for statement in self_statements(question):
        changed = _after(statement, changed)
    if changed == known:
        return known
    return changed.model_copy(update={"user_id": user_id, "updated_at": datetime.now(UTC)})


def _after(said: SelfStatement, known: Profile) -> Profile:
    if said.field == "all":
        return Profile(user_id=known.user_id, updated_at=known.updated_at)
    if said.field == "newest":
        newest = next((name for name in _LISTS if getattr(known, name)), None)
        return known.model_copy(update={newest: getattr(known, newest)[:-1]}) if newest else known
    if said.field == "name":
        return known.model_copy(update={"name": said.values[0]})
    if said.field == "languages":
        return known.model_copy(update={"languages": _languages(said, known.languages)})
    if said.field == "any":
        return known.model_copy(update={name: _without(getattr(known, name), said.values) for name in _LISTS})
    before: tuple[str, ...] = getattr(known, said.field)
    if said.holds:
        after = (*before, *_without(said.values, before))[-MOST_ENTRIES:]
    else:
        after = _without(before, said.values)
    return known.model_copy(update={said.field: after})


def _without(entries: Iterable[str], taken_back: Iterable[str]) -> tuple[str, ...]:
    gone = {fold(value) for value in taken_back}
    return tuple(entry for entry in entries if fold(entry) not in gone)


def _languages(said: SelfStatement, known: tuple[str, ...]) -> tuple[str, ...]:
    if said.holds:
        before = () if said.only else known or (_OWN_LANGUAGE,)
        return tuple(dict.fromkeys([*before, *said.values]))
    return _without(known, said.values)
