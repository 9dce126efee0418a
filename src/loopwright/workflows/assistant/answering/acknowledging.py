"""The first word to the person, before anything is planned or searched."""

from __future__ import annotations

import re

from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.answering.smalltalk import greets
from loopwright.workflows.assistant.answering.wording import NOUNS, joined, plain, wanted
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.schemas import Profile, Table, Understanding
from loopwright.workflows.assistant.understanding.personal import is_about_the_person
from loopwright.workflows.assistant.understanding.smalltalk import smalltalk_of, without_greeting

_MOST_TOPIC = 80
_PLACES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\b(?:exhibitors?|stands?|booths?|vendors?|sponsors?)\b"), "the exhibitors"),
    (re.compile(r"\b(?:attendees?|participants?|meet|network(?:ing)? with|who else)\b"), "the attendees"),
    (re.compile(r"\b(?:who|whom|whose|speakers?|speaks?|speaking|presenters?|talks? by|given by)\b"), "the speakers"),
)
"""What a question's words suggest to look at, the first that fits."""


def acknowledgment(
    question: str | Understanding, profile: Profile | None = None, info: ConferenceInfo | None = None
) -> str:
    """Say at once that the question arrived and where the answer is looked for, without a promise to find it.

    Args:
        question: The question as asked, or what was understood of it.
        profile: What is known of the person.
        info: The conference.

    Returns:
        One short sentence; empty where nothing is searched, for example after thanks, or after what a person only says
        of itself.
    """
    name = f"{plain(profile.name)}, l" if profile and profile.name else "L"
    conference = f" of {plain(info.title)}" if info and info.title else ""
    if isinstance(question, Understanding):
        return "" if question.smalltalk else f"{name}et me look for {_sought(question)}."
    asked = without_greeting(question)
    if not asked or greets(question) or smalltalk_of(asked) or is_about_the_person(asked):
        return ""
    said = fold(question)
    place = next((place for pattern, place in _PLACES if pattern.search(said)), "the programme")
    return f"{name}et me look through {place}{conference}."


def _sought(understanding: Understanding) -> str:
    things = joined(NOUNS[table][1] for table in understanding.tables) or NOUNS[Table.SESSIONS][1]
    asked = wanted(understanding.topic, understanding.standalone, understanding.filters, _MOST_TOPIC)
    return f"{things} {asked}".strip()
