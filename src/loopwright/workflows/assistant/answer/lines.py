"""One found record as a line of an answer."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loopwright.retrieval.text import query_terms, terms
from loopwright.workflows.assistant.answer.references import mark
from loopwright.workflows.assistant.answer.wording import joined, plain, several, shortened, when
from loopwright.workflows.assistant.schemas import Filters, Found, Record, Slot, Table
from loopwright.workflows.assistant.sources.catalogue import unmet

_SNIPPET = 160
_WINDOW, _BEFORE, _READ = 110, 40, 4000
"""Characters of a quotation, about, of it before the first word that was asked, and of a text that are read for it."""
_LINK = re.compile(r"\S*://\S*")
_ENDS = re.compile(r"(?<=[.!?。])\s+|(?<=。)")
_LONG_TITLE = 150
_MOST_TALKS = 6
_MOST_PERSONS = 4
_NAMES = frozenset({"title", "name", "speakers", "track", "talks"})
"""Facets that every line shows anyway."""
_OTHERWISE: dict[Slot, str] = {
    **dict.fromkeys(("start", "end", "on"), "at another time"),
    **{slot: f"in another {slot}" for slot in ("room", "track", "language")},
    "day": "on another day", "minutes": "of another or an unknown length", "type": "of another kind",
    "person": "with other speakers",
}  # fmt: skip
"""What was asked -> how a record differs that does not meet it."""


@dataclass(frozen=True, slots=True)
class Telling:
    """How the records of one answer are told."""

    topic: str
    """What was asked about; a record that does not say so in its title is quoted."""
    filters: Filters
    """What was asked, to say what a record does not meet."""
    known: Mapping[str, Record]
    """Records by id, for the sessions of a person."""
    cited: frozenset[str]
    """The ids that the answer cites; only these are marked."""
    detail: bool = False
    """Whether there is room for the beginning of each text."""
    shared: tuple[str, ...] = ()
    """How all of them differ from what was asked, which is said once before them."""


def line_of(found: Found, telling: Telling) -> str:
    """A record with its mark, when and where, who, and what it says of what was asked."""
    record = found.record
    described = [_facts(record), _talks(record, telling) or _text(record, telling)]
    if differs := [part for part in differences(record, telling.filters) if part not in telling.shared]:
        described.append(f"But {joined(differs)} than asked")
    told = " ".join(sentence(part) for part in described if part)
    return f"- **{plain(record.title)}** {mark(record.id)}{': ' if told else ''}{told}"


def differences(record: Record, filters: Filters) -> tuple[str, ...]:
    """How a record differs from what was asked, for example ``on another day``."""
    return tuple(dict.fromkeys(_OTHERWISE.get(asked.slot, "otherwise") for asked in unmet(record, filters)))


def titled(record: Record, most: int = _LONG_TITLE) -> str:
    """A record in running text: its title and its mark."""
    return f"“{plain(shortened(record.title, most))}” {mark(record.id)}"


def _facts(record: Record) -> str:
    if record.table is not Table.SESSIONS:
        return _place(record)
    named = several(record.values("speaker"), "and", _MOST_PERSONS)
    place = ", ".join(part for part in (_place(record), f"with {plain(named)}" if named else "") if part)
    track = plain(joined(record.values("track")))
    return " ".join(part for part in (sentence(place) if place else "", f"Track: {track}" if track else "") if part)


def _talks(record: Record, telling: Telling) -> str:
    if record.table is not Table.SPEAKERS:
        return ""
    known = telling.known
    talks = [known[each] for each in record.related if each in known and known[each].table is Table.SESSIONS]
    talks.sort(key=lambda talk: (talk.start is None, talk.start.timestamp() if talk.start else 0.0))
    named = [_talk(talk, telling.cited) for talk in talks[:_MOST_TALKS]]
    more = [f"{len(talks) - _MOST_TALKS} more"] if len(talks) > _MOST_TALKS else []
    return f"Gives {joined([*named, *more])}" if named else ""


def _talk(talk: Record, cited: frozenset[str]) -> str:
    """A session of a person; when and where one is that is cited stands in its own line."""
    if talk.id in cited:
        return titled(talk)
    place = _place(talk)
    return f"“{plain(talk.title)}” ({place})" if place else f"“{plain(talk.title)}”"


def _place(record: Record) -> str:
    return ", ".join(part for part in (when(record), plain(joined(record.values("room"), "or"))) if part)


def _text(record: Record, telling: Telling) -> str:
    """What a record says of the topic in its own words, or the beginning of its text where there is room."""
    texts = (text for facet, text in record.texts.items() if facet not in _NAMES)
    own = [text for text in texts if text.strip() not in ("", record.title)]
    beginning = plain(shortened(own[0], _SNIPPET)) if own else ""
    if record.table is Table.EXHIBITORS:
        return beginning
    shown = terms(" ".join([record.title, *record.values("track")]))
    said = _quoted(own, [term for term in query_terms(telling.topic) if term not in shown])
    if record.table is Table.ATTENDEES:
        return f"{sentence(beginning)} “{said}”" if said and said not in beginning else beginning
    return f"“{said}”" if said else beginning if telling.detail else ""


def _quoted(texts: Sequence[str], wanted: Sequence[str]) -> str:
    """The sentence that holds most of some terms, around the first of them where it is long; empty without any."""
    read = (" ".join(_LINK.sub(" ", text[:_READ]).split()) for text in texts if wanted)
    held = {said: len(set(terms(said)).intersection(wanted)) for text in read for said in _ENDS.split(text)}
    best = max(held, key=lambda said: held[said], default="")
    if not held.get(best):
        return ""
    words = best.split()
    first = next((n for n, word in enumerate(words) if not set(terms(word)).isdisjoint(wanted)), 0)
    start = first
    while start and len(best) > _WINDOW and len(" ".join(words[start - 1 : first])) <= _BEFORE:
        start -= 1
    start = start if len(best) > _WINDOW else 0
    return plain(("…" if start else "") + shortened(" ".join(words[start:]), _WINDOW))


def sentence(text: str) -> str:
    """A text with a full stop, unless it ends already."""
    return text if text.rstrip("”").endswith((".", "!", "?", "…", ":")) else f"{text}."
