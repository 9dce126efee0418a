"""What a question asks for, by rules: no chat model, and nothing that holds for one conference only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.schemas import Profile, QueryMode, Table, Turn, Understanding
from loopwright.workflows.assistant.understanding.about import ABOUT, facts_of
from loopwright.workflows.assistant.understanding.compounds import combined, parts_of
from loopwright.workflows.assistant.understanding.conversation import standalone_of
from loopwright.workflows.assistant.understanding.index import index_of
from loopwright.workflows.assistant.understanding.personal import PERSONAL, is_about_the_person, told_of
from loopwright.workflows.assistant.understanding.profiles import is_personal, says_anything
from loopwright.workflows.assistant.understanding.reading import Reading, read
from loopwright.workflows.assistant.understanding.smalltalk import smalltalk_of, without_greeting
from loopwright.workflows.assistant.understanding.spelling import squash

MAX_QUESTION = 1_000
"""The most characters of a question that are read."""


def understand(
    question: str,
    catalogue: Catalogue,
    *,
    now: datetime | None = None,
    history: Sequence[Turn] = (),
    profile: Profile | None = None,
) -> Understanding:
    """Read what a question asks for, against the names and times of a conference.

    Never fails: what is not understood is the topic. A room, day, track or person that does not exist is noted; except
    for tracks, whose name stays in the topic, it remains a filter, so that nothing is found rather than something else.

    Args:
        question: What the person wrote; the first `MAX_QUESTION` characters are read.
        catalogue: The conference.
        now: The moment of asking, without a zone in the conference's own; None if it is not known.
        history: Earlier turns of the conversation, oldest first.
        profile: What is known of the person, if anything.
    """
    text = without_greeting(question[:MAX_QUESTION].strip())
    if intent := smalltalk_of(text):
        return Understanding(standalone=text, intent=intent, query_mode="specific", tables=(), smalltalk=True)
    if is_about_the_person(text):
        notes = told_of(text, profile)
        return Understanding(
            standalone=text, intent=PERSONAL, query_mode="specific", tables=(), notes=notes, smalltalk=True
        )
    index = index_of(catalogue)
    own = index.persons.full.get(squash(profile.name), set[str]()) if profile else set[str]()

    def reader(asked: str) -> Reading:
        return read(asked, catalogue, index, now, own)

    standalone = standalone_of(text, history, catalogue, reader)
    reading = reader(standalone)
    if facts := facts_of(reading, catalogue, index):
        return Understanding(standalone=standalone, intent=ABOUT, query_mode="specific", tables=(), notes=facts)
    if parts := parts_of(reading, reader):
        topic, filters, tables, notes = combined(parts)
        reading = replace(reading, topic=topic, filters=filters, tables=tables, notes=notes)
    mode, topic, notes = _mode(reading, standalone, profile)
    return Understanding(
        standalone=standalone,
        intent=_intent(reading, mode, topic),
        query_mode=mode,
        tables=reading.tables.tables,
        topic=topic,
        filters=reading.filters,
        notes=tuple(dict.fromkeys((*reading.notes, *notes))),
    )


def _mode(reading: Reading, question: str, profile: Profile | None) -> tuple[QueryMode, str, tuple[str, ...]]:
    """Whose wishes decide, the topic without words such as "my interests", and a note if there are no wishes."""
    personal, topic = is_personal(question, reading.topic)
    if not personal:
        return "specific", topic, ()
    if not says_anything(profile):
        note = "Nothing is known of your interests yet; say what you are interested in."
        return "specific", topic, () if topic or not reading.filters.empty else (note,)
    return ("hybrid" if topic else "profile"), topic, ()


def _intent(reading: Reading, mode: QueryMode, topic: str) -> str:
    first = reading.tables.tables[0]
    if mode == "profile":
        return "recommendations"
    if reading.filters.speakers:
        return "a person" if first == Table.SPEAKERS else "sessions of a person"
    if reading.tables.meeting:
        return "people to meet"
    if topic:
        return f"{first} on a topic"
    if not reading.filters.empty:
        return f"{first} by time, place or kind"
    return f"all {first}"
