"""One found record as a line of an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from loopwright.retrieval.text import terms
from loopwright.workflows.assistant.answering.fitting import holds, unmet, words_of
from loopwright.workflows.assistant.answering.references import mark
from loopwright.workflows.assistant.answering.wording import joined, plain, shortened, when
from loopwright.workflows.assistant.schemas import Filters, Found, Record, Table

_SNIPPET = 160
_LONG_TITLE = 150
_MOST_TALKS = 6
_MOST_WORDS = 5
_MOST_FACETS = 2
_OTHERWISE = {
    "day": "on another day",
    "time": "at another time",
    "room": "in another room",
    "track": "in another track",
    "type": "of another type",
    "language": "in another language",
    "speaker": "with other speakers",
}
"""Part of the filters -> how a record differs that does not meet it."""


def line_of(found: Found, filters: Filters, *, known: Mapping[str, Record], cited: frozenset[str], detail: bool) -> str:
    """A record with its mark, when and where, who, and why it fits.

    Args:
        found: The record as it was found.
        filters: What was asked, to say what it does not meet.
        known: Records by id, for the sessions of a person.
        cited: The ids that the answer cites; only these are marked.
        detail: Whether there is room for the beginning of its text.
    """
    record = found.record
    described = [part for part in _facts(record) if part]
    talks = _talks(record, known, cited)
    if talks:
        described.append(talks)
    elif detail or record.table is not Table.SESSIONS:
        described.append(_snippet(record))
    described.append(_why(found))
    differs = [_OTHERWISE[part] for part in unmet(record, filters)]
    if differs:
        described.append(f"But {joined(differs)} than asked")
    told = " ".join(_sentence(part) for part in described if part)
    return f"- **{plain(record.title)}** {mark(record.id)}{': ' if told else ''}{told}"


def overlaps(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """The pairs of records that are on at the same time, in the order given.

    Args:
        records: The records; those without a beginning and an end overlap with none.
    """
    timed = [(record, record.start, record.end) for record in records if record.start and record.end]
    return [
        (first, second)
        for place, (first, start, end) in enumerate(timed)
        for second, begins, ends in timed[place + 1 :]
        if start < ends and begins < end
    ]


def titled(record: Record, most: int = _LONG_TITLE) -> str:
    """A record in running text: its title and its mark.

    Args:
        record: The record.
        most: The most characters of its title.
    """
    return f"“{plain(shortened(record.title, most))}” {mark(record.id)}"


def _facts(record: Record) -> tuple[str, ...]:
    people = plain(joined(record.values("speaker"))) if record.table is Table.SESSIONS else ""
    return _place(record), people, plain(joined(record.values("track")))


def _talks(record: Record, known: Mapping[str, Record], cited: frozenset[str]) -> str:
    if record.table is not Table.SPEAKERS:
        return ""
    talks = [known[each] for each in record.related if each in known and known[each].table is Table.SESSIONS]
    talks.sort(key=lambda talk: (talk.start is None, talk.start.timestamp() if talk.start else 0.0))
    named = [_talk(talk, cited) for talk in talks[:_MOST_TALKS]]
    more = [f"{len(talks) - _MOST_TALKS} more"] if len(talks) > _MOST_TALKS else []
    return f"Gives {joined([*named, *more])}" if named else ""


def _talk(talk: Record, cited: frozenset[str]) -> str:
    name, place = titled(talk) if talk.id in cited else f"“{plain(talk.title)}”", _place(talk)
    return f"{name} ({place})" if place else name


def _place(record: Record) -> str:
    return ", ".join(part for part in (when(record), plain(joined(record.values("room"), "or"))) if part)


def _snippet(record: Record) -> str:
    text = next((text for text in record.texts.values() if text.strip() not in ("", record.title)), "")
    # A speaker's titles stand one on each line; running text has its own full stops.
    lines = "; ".join(text.splitlines()) if record.table is Table.SPEAKERS else text
    return plain(shortened(lines, _SNIPPET))


def _why(found: Found) -> str:
    facets = [name.replace("_", " ") for name, score in found.matched.items() if score > 0][:_MOST_FACETS]
    where = f" in its {joined(facets)}" if facets else ""
    # A search forgives typing errors, so that a word of the query need not be one of the record.
    words = words_of(found.record)
    said = [term for term in found.terms if all(holds(words, each) for each in terms(term))]
    if said:
        return f"Mentions {joined(f'“{plain(term)}”' for term in said[:_MOST_WORDS])}{where}"
    return f"Comes near{where}" if facets else ""


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", "…", ".”")) else f"{text}."
