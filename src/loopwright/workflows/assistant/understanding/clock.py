"""Times of day in a question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from loopwright.workflows.assistant.conference.catalogue import NIGHT_ENDS
from loopwright.workflows.assistant.understanding.days import DAY
from loopwright.workflows.assistant.understanding.frames import says_programme
from loopwright.workflows.assistant.understanding.words import Words

CLOCK = "clock"
"""The kind of words that name a time of day."""

_NOON, _MORNING_ENDS, _LUNCH_ENDS, _AFTERNOON_ENDS, _EVENING = time(12), time(12), time(13), time(18), time(17)
_PARTS = {
    "morning": (None, _MORNING_ENDS),
    "early afternoon": (_NOON, time(15)),
    "late afternoon": (time(15), _AFTERNOON_ENDS),
    "afternoon": (_NOON, _AFTERNOON_ENDS),
    "evening": (_EVENING, None),
    "night": (_EVENING, None),
    "end": (time(16), None),
}
"""Part of the day -> when what belongs to it begins: from, and before."""


_HOUR_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_HOURS = "|".join(rf"{word}\b" for word in _HOUR_WORDS)


def _time(name: str, ends: str) -> str:
    """A pattern for a time of day; its groups end in `name`, and after a bare number `ends` must follow."""
    exact = "".join(f"(?({group}{name})|" for group in ("minute", "spoken", "half", "unit"))
    return (
        rf"(?:(?P<past{name}>half\s+past\s+)?(?P<hour{name}>\d{{1,2}}|{_HOURS})(?:\s+(?P<spoken{name}>fifteen|thirty)\b|[:.h](?P<minute{name}>[0-5]\d)(?!\d))?\s*"
        rf"(?:(?P<half{name}>[ap]\.?m\b\.?)|(?P<unit{name}>o['’]?clock\b|h\b|hrs?\b|hours\b|uhr\b))?{exact}{ends}))))"
        rf"|(?P<word{name}>noon|midday|midnight|lunch(?:[\s-]?time|\s+break)?)\b)"
    )


_ENDS = (
    r"(?=\s*(?:$|[?.!,;)]|(?:on|in|at|about|for|or|by|today|tomorrow|tonight|this|onwards?|sharp|talks?|sessions?|day|room"
    r"|building|there)\b|(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b))"
)
_RANGE = re.compile(
    rf"\b(?:(?P<word>between|from)\s+)?{_time('1', '')}\s*(?:and|to|until|till|-|–|—)\s*{_time('2', _ENDS)}",
    re.IGNORECASE,
)
_RELATED = re.compile(
    rf"\b(?P<word>(?:starts?|starting|begins?|beginning|kicks?\s+off)(?:\s+at)?|at|around|circa|before|until|till|by|after|from|since|past"
    rf"|during|over)\s+(?:about\s+|around\s+)?{_time('1', _ENDS)}",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"\b(?P<hour1>\d{1,2})(?:(?::(?P<minute1>[0-5]\d))\s*(?P<half1>[ap]\.?m\b\.?)?|\s*(?P<late1>[ap]\.?m\b\.?)|h(?P<minutes1>[0-5]\d))"
    r"(?![\d:.]*\d)",
    re.IGNORECASE,
)
_PART = re.compile(
    r"\b(?P<part>(?:early\s+|late\s+)?(?:morning|afternoon|evening)s?|(?<=at\s)night|(?<=day\s)night|tonight)\b"
    r"|\b(?P<end>(?:the\s+)?end\s+of\s+the\s+day|late\s+in\s+the\s+day)\b",
    re.IGNORECASE,
)
_NOW = re.compile(
    r"\b(?:right|just)\s+now\b|\b(?:on|happening|running|playing|starting|is)\s+(?:right\s+)?now\b|\bnow\s*(?=[?.!]*$)"
    r"|\bnow\s+(?=in\b|at\b|on\b)|\bat\s+th(?:e|is)\s+moment\b|\bcurrently\s+(?=on\b|running\b|happening\b|going\b)"
    r"|(?<=on\s)currently\b|(?<=happening\s)currently\b",
    re.IGNORECASE,
)
_NEXT = re.compile(
    r"\b(?:up\s+next|next\s+up|coming\s+up(?:\s+next)?|upcoming)\b|\bnext\b(?=\s*(?:[?.!,]|$|in\b|at\b|on\b))"
    r"|\bnext\s+(?!gen|level|steps?\b|year|time|big|version|release|decade)(?=(?:[^\s?.!,]+\s+){0,4}?"
    r"(?:talks?|sessions?|presentations?|keynotes?|workshops?|slot|one|lightning|bofs?|lecture)\b)",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:(?<!year\s)(?<!years\s)(?<!months\s)(?<!weeks\s)(?<!days\s)(?<!decades\s)later(?:\s+on)?|(?:for\s+)?the\s+rest\s+of\s+(?:the\s+|to)day|still\s+to\s+come|from\s+now(?:\s+on)?)\b"
    r"|\bleft\s+(?=today\b)|\bstill\s+(?=on\b|today\b)",
    re.IGNORECASE,
)
_SOON = re.compile(r"\b(?:starting\s+)?(?:soon|shortly)\b|\bin\s+a\s+(?:bit|moment)\b", re.IGNORECASE)
_SPAN = re.compile(
    r"\b(?P<word>(?:with)?in|over|during|for)\s+(?P<next>(?:the\s+)?(?:next|coming)\s+)?(?P<half>half\s+)?"
    r"(?:(?P<number>\d{1,3}|an?|one|two|three|four|couple\s+of)\s+)?(?P<unit>hours?|h|minutes?|mins?)\b",
    re.IGNORECASE,
)
# "in 15 minutes" is also how long a talk takes; only with these words it is when something begins.
_IMMINENT = re.compile(
    r"\b(?:starts?|starting|begins?|beginning|happening|running|kicks?\s+off|free|(?:what['’]?s|what\s+is)\s+on)\b",
    re.IGNORECASE,
)
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "couple of": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """What a question says of the time of day."""

    after: time | None = None
    """Begins then or later, on whichever day."""
    before: time | None = None
    """Begins earlier."""
    at: time | None = None
    """Is on then."""
    since: datetime | None = None
    """Begins at this moment or later; from the moment of asking."""
    until: datetime | None = None
    """Begins before this moment."""
    moment: datetime | None = None
    """Is on at this moment."""
    next_only: bool = False
    """Whether what begins next is asked for."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""

    @property
    def timeless(self) -> bool:
        """Whether no time of day is given."""
        return self.after is None and self.before is None and self.at is None


def read_clock(words: Words, now: datetime | None, earliest_hour: int) -> Clock:
    """The time of day that a question names.

    Args:
        words: The question; what is read is taken.
        now: The moment of asking in the conference's time zone, or None if it is not known.
        earliest_hour: When its days begin: "at 2" is the afternoon where nothing begins so early.
    """
    exact = (
        _relative(words, now)
        or _range(words, earliest_hour)
        or _related(words, earliest_hour)
        or _alone(words, earliest_hour)
    )
    # "at three in the afternoon": the part is read, so that it is no topic, and the exact time counts.
    part = _part(words)
    return exact or part or Clock()


def _relative(words: Words, now: datetime | None) -> Clock | None:
    """What counts from the moment of asking."""
    for pattern, read in ((_SPAN, _span), (_NOW, _now), (_NEXT, _next), (_LATER, _later), (_SOON, _soon)):
        for match in pattern.finditer(words.text):
            place = words.within(match.start(), match.end())
            if place is None or not words.free(*place):
                continue
            if now is None:
                # Without words of a programme "now" only means nowadays.
                if pattern in (_SPAN, _SOON, _LATER) or not says_programme(words.text):
                    continue
                words.take(*place, CLOCK)
                return Clock(
                    notes=(f'When "{match[0].strip()}" is cannot be told: the moment of asking is not known.',)
                )
            if pattern is _SPAN and not (match["next"] or _IMMINENT.search(words.text)):
                continue
            clock = read(match, now)
            if clock is not None:
                words.take(*place, CLOCK)
                return clock
    return None


def _span(match: re.Match[str], now: datetime) -> Clock | None:
    number = " ".join((match["number"] or "").lower().split())
    if not (number or match["next"] or match["half"]):
        return None
    count = _COUNTS.get(number) or int(number or 1)
    minutes = count * (1 if match["unit"].lower().startswith("m") else 60) // (2 if match["half"] else 1)
    then = now + timedelta(minutes=minutes)
    if match["next"] or match["word"].lower() == "within":
        return Clock(since=now, until=then)
    return Clock(moment=then) if match["word"].lower() == "in" else None


def _now(match: re.Match[str], now: datetime) -> Clock:
    return Clock(moment=now)


def _next(match: re.Match[str], now: datetime) -> Clock:
    return Clock(since=now, next_only=True)


def _later(match: re.Match[str], now: datetime) -> Clock:
    return Clock(since=now)


def _soon(match: re.Match[str], now: datetime) -> Clock:
    return Clock(since=now, until=now + timedelta(hours=1))


def _range(words: Words, earliest_hour: int) -> Clock | None:
    for match in _RANGE.finditer(words.text):
        groups = match.groupdict()
        exact = any(groups[name + n] for n in "12" for name in ("minute", "half", "unit", "word"))
        if not (exact or match["word"] or _beside_day(words, match)):
            continue
        last = _read(match, "2", earliest_hour)
        first = _read(match, "1", earliest_hour, like=groups["half2"])
        if first is None or last is None:
            continue
        if first > last and first.hour >= 12 and not groups["half1"] and groups["hour1"] != str(first.hour):
            first = first.replace(hour=first.hour - 12)
        if not words.take_span(match.start(), match.end(), CLOCK):
            continue
        if first > last and last >= NIGHT_ENDS:
            return Clock(notes=(f"A time from {first:%H:%M} to {last:%H:%M} would end before it begins.",))
        return Clock(after=first, before=last)
    return None


def _beside_day(words: Words, match: re.Match[str]) -> bool:
    """Whether two bare numbers stand beside a day, as in "Saturday 10-12" or "10-12 on Saturday"."""
    place = words.within(match.start(), match.end())
    if place is None:
        return False
    first, last = place[0] - 1, place[1] + 1 + (words.key(place[1] + 1) == "on")
    return (first >= 0 and words.kinds[first] == DAY) or (last < len(words) and words.kinds[last] == DAY)


def _related(words: Words, earliest_hour: int) -> Clock | None:
    after = before = at = None
    for match in _RELATED.finditer(words.text):
        word = match["word"].lower().split()[0]
        said = _read(match, "1", earliest_hour)
        if said is None or (word in ("during", "over") and not match["word1"]):
            continue
        lunch = (match["word1"] or "").lower().startswith("lunch")
        if not words.take_span(match.start(), match.end(), CLOCK):
            continue
        if lunch and word in ("at", "over", "during", "around"):
            after, before = _NOON, _shifted(_LUNCH_ENDS, 60)
        elif word in ("around", "circa") or "around" in match[0].lower():
            after, before = _shifted(said, -30), _shifted(said, 31)
        elif word.startswith(("start", "begin", "kick")):
            after, before = said, _shifted(said, 1)
        elif word in ("before", "until", "till", "by"):
            before = said
        elif word in ("after", "from", "since", "past"):
            after = _LUNCH_ENDS if lunch else said
        else:
            at = said
    found = Clock(after=after, before=before, at=at)
    return None if found.timeless else found


def _alone(words: Words, earliest_hour: int) -> Clock | None:
    for match in _ALONE.finditer(words.text):
        half = match["half1"] or match["late1"]
        said = _of(match["hour1"], match["minute1"] or match["minutes1"], half, earliest_hour)
        if said is not None and words.take_span(match.start(), match.end(), CLOCK):
            return Clock(at=said)
    return None


def _part(words: Words) -> Clock | None:
    first = None
    # What follows the first is read as well, so that it is no topic; a question with both is parted at "and".
    for match in _PART.finditer(words.text):
        if not words.take_span(match.start(), match.end(), CLOCK):
            # "tonight" is a day too.
            if match[0].lower() == "tonight":
                first = first or Clock(after=_EVENING)
            continue
        said = " ".join((match["part"] or "end").lower().rstrip("s").split()).replace("tonight", "night")
        after, before = _PARTS.get(said) or _PARTS[said.split()[-1]]
        first = first or Clock(after=after, before=before)
    return first


def _read(match: re.Match[str], name: str, earliest_hour: int, *, like: str | None = None) -> time | None:
    word = (match["word" + name] or "").lower()
    if word:
        return time(23, 59) if word == "midnight" else _NOON
    hour = match["hour" + name].lower()
    if hour in _HOUR_WORDS:
        hour = str(_HOUR_WORDS.index(hour) + 1)
    spoken = {"fifteen": "15", "thirty": "30"}.get((match["spoken" + name] or "").lower())
    minute = "30" if match["past" + name] else spoken or match["minute" + name]
    return _of(hour, minute, match["half" + name] or like, earliest_hour)


def _of(hour: str, minute: str | None, half: str | None, earliest_hour: int) -> time | None:
    """A time from its digits; a small hour without "am" is in the afternoon where nothing begins so early."""
    hours, minutes = int(hour), int(minute or 0)
    if half and 1 <= hours <= 12:
        hours = hours % 12 + (12 if half.lower().startswith("p") else 0)
    elif not hour.startswith("0") and 1 <= hours < min(earliest_hour, 8):
        hours += 12
    return time(hours, minutes) if hours < 24 else None


def _shifted(said: time, minutes: int) -> time:
    total = min(max(said.hour * 60 + said.minute + minutes, 0), 24 * 60 - 1)
    return time(total // 60, total % 60)
