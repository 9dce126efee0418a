"""Questions about the conference itself, answered from its own data: when, where, how many, which tracks and rooms."""

from __future__ import annotations

import re
from datetime import date, datetime

from loopwright.workflows.assistant.conference.catalogue import Catalogue
from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.schemas import Filters, Record, Table
from loopwright.workflows.assistant.understanding.index import Index
from loopwright.workflows.assistant.understanding.languages import CODES
from loopwright.workflows.assistant.understanding.reading import Reading
from loopwright.workflows.assistant.understanding.spelling import squash

ABOUT = "the conference itself"
"""The intent of such a question; its ``notes`` are the answer, and nothing is searched."""
_MOST_LISTED, _MOST_NAMED = 40, 8

# Whatever stands there is compared with what the conference is called.
_IT = r"(?P<it>[\w .'’-]{2,40}?)"
_WHEN = re.compile(
    rf"(?:and\s+)?(?:when|(?:at\s+)?what\s+time|(?:on\s+)?(?:what|which)\s+days?)\s+(?:does|do|is|will|are)\s+{_IT}"
    r"(?:\s+(?:start|begin|open|end|finish|close|stop|over|on|held|taking\s+place|take\s+place|happen(?:ing)?|ing|and|or|starts?|ends?))*"
    r"|(?:what\s+are\s+the\s+)?(?:opening\s+hours|dates)(?:\s+of\s+" + _IT.replace("?P<it>", "?P<its>") + r")?"
    r"|how\s+long\s+(?:is|does)\s+" + _IT.replace("?P<it>", "?P<long>") + r"(?:\s+last)?",
    re.IGNORECASE,
)
_WHERE = re.compile(
    rf"(?:what|where)\s+is\s+the\s+(?:venue|address|location)(?:\s+of\s+.{{2,40}})?"
    rf"|(?:and\s+)?(?:where|in\s+which\s+city|in\s+what\s+city)\s+(?:is|are|does)\s+{_IT}(?:\s+(?:held|located|taking\s+place|take\s+place|happening))?"
    r"|which\s+city\s+is\s+(?:it|this)(?:\s+in)?",
    re.IGNORECASE,
)
_WHAT = re.compile(
    rf"(?:what\s+is|what['’]s|tell\s+me\s+(?:more\s+)?about|what\s+kind\s+of\s+(?:conference|event)\s+is)\s+{_IT}(?:\s+about)?",
    re.IGNORECASE,
)
_COUNTED = (
    r"(?P<noun>talks?|sessions?|presentations?|events?|speakers?|persons|people\s+speaking|exhibitors?|stands?|booths?|attendees?|participants?"
    r"|rooms?|tracks?|devrooms?|days?|languages?|keynotes?|workshops?|panels?|lightning\s+talks?|bofs?|(?:types?|kinds?)\s+of\s+(?:talks?|sessions?))"
)
_MANY = re.compile(rf"\bhow\s+many\s+(?:different\s+)?{_COUNTED}\b", re.IGNORECASE)
_WHICH = re.compile(
    r"(?:(?:what|which)(?:\s+are\s+the)?|(?:list|show|name)(?:\s+me)?(?:\s+all)?(?:\s+the)?|are\s+there)\s+(?:different\s+)?"
    r"(?P<noun>rooms|tracks|devrooms|days|languages|(?:types|kinds)\s+of\s+(?:talks|sessions))"
    r"(?:\s+(?:are|do|does|can|there|exist|you|we|have|has|it|the\s+conference|is|available|used|spoken))*",
    re.IGNORECASE,
)
_FIELDS = {"room": "room", "track": "track", "devroom": "track", "day": "day", "language": "language"}
_TABLES = {
    "speaker": Table.SPEAKERS, "person": Table.SPEAKERS, "people": Table.SPEAKERS, "exhibitor": Table.EXHIBITORS,
    "stand": Table.EXHIBITORS, "booth": Table.EXHIBITORS, "attendee": Table.ATTENDEES, "participant": Table.ATTENDEES,
}  # fmt: skip
_ITSELF = frozenset(
    "it this here everything theconference thewholeconference thisconference theevent thisevent thefestival "
    "thecongress theconvention themeeting".split()
)


def facts_of(reading: Reading, catalogue: Catalogue, index: Index) -> tuple[str, ...]:
    """The answer to a question about the conference itself, as sentences; empty if it asks for something else.

    Args:
        reading: The question.
        catalogue: The conference.
        index: Its names.
    """
    said = reading.words.text.strip(" \t\n?!.")
    many = _MANY.search(said)
    if many and not reading.topic:
        return _counted(many["noun"], reading, catalogue)
    if which := _WHICH.fullmatch(said):
        return _listed(which["noun"], catalogue)
    info = catalogue.info
    if info is None:
        return ()
    for pattern, tell in ((_WHEN, _when), (_WHERE, _where), (_WHAT, _what)):
        for text in dict.fromkeys((said, _without_days(reading))):
            if (match := pattern.fullmatch(text)) and _is_itself(match, info, index):
                return tell(info, catalogue, reading.filters)
    return ()


def _is_itself(match: re.Match[str], info: ConferenceInfo, index: Index) -> bool:
    named = [squash(said) for name, said in match.groupdict().items() if said and name in ("it", "its", "long")]
    own = {*_ITSELF, index.own_title, squash(info.acronym), f"the{index.own_title}", *index.own_names}
    return all(name in own for name in named)


def _without_days(reading: Reading) -> str:
    words = reading.words
    kept = [
        words.text[word.start : word.end] for word, kind in zip(words.words, words.kinds, strict=True) if kind != "day"
    ]
    return " ".join(kept).strip(" \t\n?!.")


def _when(info: ConferenceInfo, catalogue: Catalogue, filters: Filters) -> tuple[str, ...]:
    sessions = catalogue.filtered(Table.SESSIONS, Filters(days=filters.days))
    span = _day(info.start) if info.start == info.end else f"{_day(info.start)} to {_day(info.end)}"
    told = [f"{info.title} is on {span}."] if not filters.days else []
    by_day: dict[str, list[Record]] = {}
    for record in sessions:
        for day in record.values("day"):
            by_day.setdefault(day, []).append(record)
    for day, held in sorted(by_day.items()):
        starts = [record.start for record in held if record.start]
        ends = [record.end or record.start for record in held if record.start]
        if starts:
            first, last = min(starts), max(end for end in ends if end)
            on = _day(date.fromisoformat(day))
            told.append(f"On {on} the first session begins at {_clock(first)}, and the last ends at {_clock(last)}.")
    return tuple(told)


def _where(info: ConferenceInfo, catalogue: Catalogue, _filters: Filters) -> tuple[str, ...]:
    place = ", ".join(part for part in (info.venue, info.city) if part)
    rooms = len(catalogue.values("room"))
    if not place:
        return (f"The schedule does not say where {info.title} is; it has {rooms} rooms.",)
    return (f"{info.title} is at {place}." if info.venue else f"{info.title} is in {place}.",)


def _what(info: ConferenceInfo, catalogue: Catalogue, filters: Filters) -> tuple[str, ...]:
    tracks = list(catalogue.values("track"))
    sessions, speakers = len(catalogue.of_table(Table.SESSIONS)), len(catalogue.of_table(Table.SPEAKERS))
    return (
        *_when(info, catalogue, Filters())[:1],
        *(_where(info, catalogue, filters) if info.venue or info.city else ()),
        f"It has {sessions} sessions and {speakers} speakers.",
        *((f"Its largest tracks are {', '.join(tracks[:_MOST_NAMED])}.",) if tracks else ()),
    )


def _counted(noun: str, reading: Reading, catalogue: Catalogue) -> tuple[str, ...]:
    noun = " ".join(noun.lower().split())
    word = noun.split()[0].rstrip("s")
    if word in _FIELDS or word in ("type", "kind"):
        return (f"There are {len(_values(word, catalogue))} {noun}.", *_listed(noun, catalogue)[-1:])
    table = _TABLES.get(word, Table.SESSIONS)
    filters = reading.filters if table in (Table.SESSIONS, Table.SPEAKERS) else Filters()
    if table not in (Table.SESSIONS, Table.SPEAKERS) and not catalogue.of_table(table):
        return (f"There is no list of {table.value}.",)
    count = len(catalogue.filtered(table, filters))
    limited = filters != Filters(types=filters.types)
    whole = f" at that time and place, of {len(catalogue.of_table(table))} {table.value} in all" if limited else ""
    return (f"There {'is' if count == 1 else 'are'} {count} {noun}{whole}.",)


def _listed(noun: str, catalogue: Catalogue) -> tuple[str, ...]:
    word = noun.lower().split()[0].rstrip("s")
    values = _values(word, catalogue)
    if not values:
        return (f"The schedule names no {noun}.",)
    rest = len(values) - _MOST_LISTED
    more = f" and {rest} more" if rest > 0 else ""
    return (f"The {noun} are: {', '.join(values[:_MOST_LISTED])}{more}.",)


def _values(word: str, catalogue: Catalogue) -> list[str]:
    values = list(catalogue.values(_FIELDS.get(word, "type")))
    if word == "day":
        return [_day(date.fromisoformat(day)) for day in sorted(values)]
    if word == "language":
        return [CODES.get(code.lower(), code) for code in values]
    return values if word in ("type", "kind") else sorted(values)


def _day(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B %Y}"


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M}"
