"""Days, times of day and lengths, as conditions."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Self

from loopwright.retrieval.english import english_words
from loopwright.retrieval.text import STOP_WORDS
from loopwright.workflows.assistant.question.tokens import Sentence, Span
from loopwright.workflows.assistant.schemas import Condition, Record, Slot
from loopwright.workflows.assistant.searching.lexicon import days, numbers, spoken, words
from loopwright.workflows.assistant.sources.catalogue import clock_of, span_of
from loopwright.workflows.assistant.sources.info import NIGHT_ENDS, ConferenceInfo

NOON, MIDNIGHT = 720, 1440
PARTS = {"morning": (0, NOON), "afternoon": (NOON, 1080), "evening": (1020, 1800)}
"""Part of a day -> its first minute, and the one after its last."""
_MOMENTS = {"noon": (NOON, 780), "dinner": (1080, 1170), "midnight": (MIDNIGHT, MIDNIGHT)}
MIDDAY = ("noon", "midday", "midi", "mittag")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.h]|-uhr-|-heures-)(\d\d)\.?|(\d{1,2})(?:h|u)?")
_FIGURES = re.compile(r"\d{4}-\d\d-\d\d|\d+([./])\d+\1\d*")
_DAY_OF_MONTH = re.compile(r"(\d{1,2})(st|nd|rd|th|er)?")
COUNTS = ("number", "no", "nr")
"""Words that a number stands behind."""
_PLACED = re.compile(r"([1-9]\d?)(st|nd|rd|th)?")
_AND_PARTS = {"quart": 15, "cuarto": 15, "demie": 30, "media": 30}
"""Behind "and" and an hour: the minutes past it."""
_UNITS = {"min": 1, "hour": 60, "stunde": 60, "heure": 60, "hora": 60, "uur": 60}
_NOW, _FROM_NOW, _UNTIL_NOW = "now", "from now on", "until now"
BY_NOW = ("", _NOW, _FROM_NOW, _UNTIL_NOW)
"""What is said of times that go by the moment of asking; nothing, where nobody asked for them."""
_COUNTED = 5
"""So many words at most lie between a number and what it counts."""


@dataclass(frozen=True, slots=True)
class Now:
    """The moment of asking, by the conference's own clock."""

    day: date
    """The day of the conference."""
    minute: int
    """The minutes of its clock."""

    @classmethod
    def of(cls, moment: datetime | None, info: ConferenceInfo | None) -> Self | None:
        """Read a moment; None without one, or without a conference."""
        if moment is None or info is None:
            return None
        local = moment.replace(tzinfo=info.zone) if moment.tzinfo is None else moment.astimezone(info.zone)
        minute = clock_of(local)
        return cls(local.date() - timedelta(days=minute >= MIDNIGHT), minute)

    def is_before(self, record: Record) -> bool:
        """Whether a record has not ended yet."""
        days = [date.fromisoformat(day) for day in record.values("day")[:1]]
        return any(span_of(record)[1] > self.minute + (self.day - day).days * MIDNIGHT for day in days)

    def conditions(self, slot: Slot, length: int | None = 1) -> tuple[Condition, ...]:
        """What is on now, starts from now on, or has ended, that day; within so many minutes, or until the day ends."""
        today = Condition(slot="day", values=(self.day.isoformat(),), said="today")
        if slot == "end":
            return today, Condition(slot=slot, most=self.minute, said=_UNTIL_NOW)
        until = None if length is None else self.minute + length
        return today, Condition(slot=slot, least=self.minute, most=until, said=_NOW if slot == "on" else _FROM_NOW)


def clock_said(minute: int) -> str:
    """A time of day for people, for example ``13:00``."""
    return f"{minute // 60 % 24:02}:{minute % 60:02}"


def read_days(sentence: Sentence, held: tuple[str, ...], now: Now | None, talked_of: Sequence[str] = ()) -> None:
    """Read the days that are named: by name, number or date, or as seen from now or the day that is talked of."""
    talked_of = talked_of or ([now.day.isoformat()] if now else [])
    for place in range(len(sentence)):
        word = sentence.word(place)
        if sentence.tokens[place].taken:
            continue
        name, part = _compound(word) or (word, "")
        if name in days() and (part or len(name) > 3 or _is_short_day(sentence, place)):
            found = [day for day in held if date.fromisoformat(day).weekday() == days()[name]]
            _ask_held(sentence, place, place + 1, found, f"a {sentence.tokens[place].raw.capitalize()}")
        elif now and (away := _away(sentence, place, name)) is not None:
            first = place - 2 if abs(away) == 2 and sentence.word(place - 2) == "day" else place
            first -= sentence.match(place - 1, ("last", "night"))
            sentence.ask(first, place + 1, "day", (now.day + timedelta(days=away)).isoformat())
            part = part or next((each for each in PARTS if away <= 0 and word in words("time", each)), "")
        elif word in words("time", "day") and not _ask_beside(sentence, place, talked_of):
            _ask_numbered(sentence, place, held)
        elif word in days("months"):
            _ask_date(sentence, place, held)
        elif word[:1].isdigit():
            _ask_figures(sentence, place, held)
        if part:
            _ask_part(sentence, place, place + 1, part)
    named = next((span.condition.values for span in sentence.spans if span.condition.slot == "day"), tuple(talked_of))
    bounds = words("time", "ends") | words("grammar", "starts")  # "when does the day end?"
    whole = [n for n in range(1, len(sentence)) if sentence.match(n, ("the", "day")) and not sentence.asks("day")]
    whole = [n for n in whole if sentence.word(n - 1) == "of" or sentence.is_any(n + 2, bounds)]
    for place in (n for n in range(len(sentence)) if named and (n in whole or sentence.match(n, ("that", "day")))):
        sentence.ask(place, place + 2, "day", *named)


def _ask_beside(sentence: Sentence, place: int, talked_of: Sequence[str]) -> bool:
    """Ask for the day after or before the one that is talked of: "the day after", "am nächsten Tag", "le lendemain"."""
    if not (talked_of and sentence.is_any(place, words("time", "day"))):
        return False
    behind = place + 1 + (sentence.word(place + 1) == "d'")  # "le jour d'après"
    that = sentence.is_any(behind + 1, words("turns", "it"))
    ends = sentence.begins(behind + 1) or that or sentence.is_any(behind + 1, ("in", "at", "about"))
    steps = {"next": ("after", 1), "previous": ("before", -1)}
    for key, (beside, step) in steps.items():
        before = any(sentence.is_any(other, words("time", key)) for other in (place - 1, place))
        after = ends and sentence.is_any(behind, words("time", key) | words("turns", beside))
        if before or after:
            day = date.fromisoformat((max if step > 0 else min)(talked_of)) + timedelta(days=step)
            last = behind + 1 + that if after else place + 1
            sentence.ask(place - sentence.is_any(place - 1, words("time", key)), last, "day", day.isoformat())
            return True
    return False


def _compound(word: str) -> tuple[str, str] | None:
    """A day and a part of it in one word, as in "zondagochtend"."""
    for name in (*days(), *words("time", "today tomorrow")):
        if len(name) > 4 and word.startswith(name) and len(word) > len(name):
            rest = "" if word[len(name) :] in ("s", "'s") else word[len(name) :]
            part = next((part for part in PARTS if rest in words("time", part)), "morning" * (rest == "morgen"))
            if part or not rest:
                return name, part
    return None


def _is_short_day(sentence: Sentence, place: int) -> bool:
    """Whether "sat" or "sun" is a day here: before a time or a sign, or after "on"; no "about the sun"."""
    before, after = sentence.word(place - 1), sentence.word(place + 1)
    timed = after in words("time", "morning afternoon evening noon after before", "en") or after in ("am", "pm")
    begun = before in ("on", "this", "both", "by") or after[:1].isdigit() or sentence.begins(place + 1)
    subject = before in ("the", "a") or (before == "about" and not sentence.is_any(place - 2, ("what", "how")))
    return before not in words("grammar", "be") and (timed or (begun and not subject))


def _ask_held(sentence: Sentence, first: int, last: int, found: list[str], named: str) -> None:
    """Ask for days; one that has no session is noted and kept, so that no other is shown for it."""
    if not found:
        sentence.notes.append(f"The programme has nothing on {named}")
    sentence.ask(first, last, "day", *(found or ("none",)))


def _away(sentence: Sentence, place: int, word: str) -> int | None:
    """How many days from today a word says, those before it heard: "the day after tomorrow"."""
    if word in words("time", "today"):
        return 0
    gone = sentence.match(place - 1, ("last", "night")) and sentence.word(place - 2) != "the"
    if gone or word in words("time", "yesterday"):
        return -1 - sentence.match(place - 2, ("day", "before"))
    whole = word == sentence.word(place)
    if word in words("time", "tomorrow", sentence.language if whole else "") and sentence.word(place - 1) != "la":
        return 1 + sentence.match(place - 2, ("day", "after"))
    return 2 if word in words("time", "overmorrow") else None


def _ask_numbered(sentence: Sentence, place: int, held: tuple[str, ...]) -> None:
    """A day by its number: "day 2", "the first day", "the last day"."""
    after = sentence.word(place + 1)
    before = len(held) - 1 if sentence.is_any(place - 1, words("things", "last")) else position_at(sentence, place - 1)
    number = before if before is not None else (int(after) if after.isdigit() else numbers().get(after, 0)) - 1
    if held and number >= 0:
        first = place - (before is not None)
        sentence.ask(first, first + 2, "day", held[number] if number < len(held) else "none")


def position_at(sentence: Sentence, place: int) -> int | None:
    """The place in a row that a word says, from zero: "second", "2nd", or "2" behind "number"; no "third-party"."""
    gap, behind = (sentence.tokens[each].gap if 0 <= each < len(sentence) else "." for each in (place, place + 1))
    denies = sentence.word(place - 1) == "no" and not (gap.startswith(".") or behind.strip())
    counts = gap.endswith("#") or (sentence.is_any(place - 1, COUNTS) and not denies)
    placed = _PLACED.fullmatch(sentence.word(place))
    position = int(placed[1]) - 1 if placed and (placed[2] or counts) else days("positions").get(sentence.word(place))
    return None if behind == "-" else position


def _ask_date(sentence: Sentence, place: int, held: tuple[str, ...]) -> None:
    """A date by its month, and its number before it or, in English alone, behind it: "18 April", "May 9th"."""
    month = days("months")[sentence.word(place)] + 1
    # "That may 3 people like" names no month.
    english = sentence.word(place) in spoken("en") and sentence.tokens[place].raw != "may"
    for other in (place - 1 - sentence.is_any(place - 1, ("of", "de")), *([place + 1] if english else [])):
        match = _DAY_OF_MONTH.fullmatch(sentence.word(other))
        if match and 0 < int(match[1]) <= 31:
            first, last = min(place, other), max(place, other) + 1
            found = [day for day in held if day[5:] == f"{month:02}-{int(match[1]):02}"]
            _ask_held(sentence, first, last, found, sentence.raw(first, last))
            return
    if sentence.says(place - 1, "inside within_the language"):  # "in December"
        _ask_held(sentence, place, place + 1, [day for day in held if int(day[5:7]) == month], sentence.word(place))


def _ask_figures(sentence: Sentence, place: int, held: tuple[str, ...]) -> None:
    """A date in figures, as "2025-02-01" or "1.2."; without a year one of the conference: "3.12." may be a version."""
    said = sentence.word(place).replace("/", ".")
    number, before = _DAY_OF_MONTH.fullmatch(said), place - 1 - sentence.is_any(place - 1, ("the",))
    plain = STOP_WORDS | spoken(sentence.language) - days("months").keys()  # "on the 28th", "am 30."; no "3rd floor"
    ends = sentence.begins(place + 1) or sentence.is_any(place + 1, plain)
    opens = {"on", "and", "about"} if number and number[2] else {"am", "vom", "le", "el"}
    alone = ends and not sentence.is_any(place + 1, days("months"))
    if number and (number[2] or sentence.language != "en") and alone and sentence.is_any(before, opens):
        found = [day for day in held if int(day[-2:]) == int(number[1])]
        _ask_held(sentence, place, place + 1, found, sentence.tokens[place].raw)
    if not _FIGURES.fullmatch(sentence.word(place)):
        return
    day, month, *year = filter(None, said.split(".") if "." in said else said.split("-")[::-1])
    date_said = "-".join([*year, month.zfill(2), day.zfill(2)])
    found = [each for each in held if each.endswith(date_said)]
    if found or year:
        _ask_held(sentence, place, place + 1, found, sentence.tokens[place].raw)


def _ask_part(sentence: Sentence, first: int, last: int, part: str) -> None:
    least, most = PARTS[part]
    sentence.ask(first, last, "start", least=least or None, most=most, said=f"in the {part}")


def clock_at(sentence: Sentence, place: int) -> tuple[int, int, int] | None:
    """A time of day that begins at a word: its first and last minute, and the word after it."""
    word, after, half = sentence.word(place), place + 1, ""
    if word in ("the", "a", "las", "dem"):
        return clock_at(sentence, after)
    if word in words("grammar", "halves") and (told := _part_of_hour(sentence, place)):
        return told
    for moment, span in _MOMENTS.items():
        if word in words("time", moment) and sentence.tokens[place].taken != "title":
            usual = (NOON, NOON) if word in MIDDAY else span
            return (*sentence.meals.get(word, usual), after)
    match = _CLOCK.fullmatch(word)
    nouns = words("things", "room sessions speakers") | words("grammar", "people")
    counts = sentence.is_any(after, nouns) or sentence.match(place - 1, ("the", "one"))
    # "After 3 works for me" is of a time, but "about two clusters" and "about two-factor logins" are not.
    behind = (words("time", "before after at between to") | {"than", "las"}) - {"about"}
    timed = sentence.is_any(place - 1, behind) or sentence.says(after, "oclock")
    joined = sentence.free(after, after + 1) and sentence.tokens[after].gap == "-" and sentence.word(after).isalpha()
    joined = joined and sentence.word(after) != "ish" and sentence.word(after) not in words("time", "noon midnight")
    if (match is None and (word not in numbers() or counts)) or joined or (counts_at(sentence, place) and not timed):
        return None
    hour, minute = (int(match[1] or match[3]), int(match[2] or 0)) if match else (numbers()[word], 0)
    if sentence.is_any(after, ("pm",) if sentence.language == "de" else ("am", "pm")):  # "um zehn am Freitag"
        half, after = sentence.word(after), after + 1
    elif sentence.says(after, "oclock"):
        after += 1
    if sentence.is_any(after, ("et", "y")) and sentence.is_any(after + 1, _AND_PARTS):
        minute, after = _AND_PARTS[sentence.word(after + 1)], after + 2
    if sentence.word(after) in ("in", "de"):
        part = next((part for part in PARTS if sentence.is_any(after + 2, words("time", part))), "")
        half, after = ("am" if part == "morning" else "pm", after + 3) if part else (half, after)
    if hour > 24 or minute > 59 or sentence.tokens[place].taken == "day":  # "from 9 May"
        return None
    exact = match is not None and match[2] is not None and len(match[1]) == 2
    late = any(sentence.is_any(near, words("time", "evening")) for near in range(place - 3, place + 3))
    earliest = 12 if late else 8
    if hour < 12 and (half == "pm" or (not half and hour < earliest and not exact)):
        hour += 12
    at = (0 if half == "am" and hour == 12 else hour) * 60 + minute
    at += MIDNIGHT * (at < NIGHT_ENDS * 60)
    return at, at, after


def counts_at(sentence: Sentence, place: int) -> bool:
    """Whether a number counts what stands behind it: "about twelve people", "3 teams"."""
    said, noun = sentence.word(place), sentence.word(place + 1)
    number = sentence.free(place + 1, place + 2) and (said.isdecimal() or said in numbers())
    plural = len(noun) > 3 and noun.endswith("s") and {noun, noun[:-1]} <= english_words().keys()
    versioned = place > 0 and sentence.tokens[place - 1].raw[0].isupper() and sentence.word(place - 1) not in STOP_WORDS
    several = (plural and not versioned) or sentence.says(place + 1, "people")  # but "PostgreSQL 18 features"
    return number and several and sentence.tokens[place + 1].gap == " "


def _part_of_hour(sentence: Sentence, place: int) -> tuple[int, int, int] | None:
    """A time told by its half or quarter: "half past two", "quarter to six", "half two", "halb drei"."""
    word, joins = sentence.word(place), sentence.says(place + 1, "past to_hour")
    quarter = not word.startswith("hal")
    if not joins and quarter:
        return None
    hour = clock_at(sentence, place + 1 + joins)
    if hour is None:
        return None
    # In English half past the hour, in German and Dutch half before it.
    earlier = sentence.says(place + 1, "to_hour") if joins else word != "half" or sentence.language != "en"
    at = hour[0] + (15 if quarter else 30) * (-1 if earlier else 1)
    return at, at, hour[2]


def read_times(sentence: Sentence, now: Now | None) -> None:
    """Read times of day: before, after, between, at, parts of the day, and as seen from now."""
    place = 0
    while place < len(sentence):
        place = max(place + 1, _read_time(sentence, place, now))
    # A part of the day only greets where it is the second word of all, with a sign behind it.
    opens = len(sentence) > 2 and not sentence.tokens[0].taken and re.search(r"[,.!]", sentence.tokens[2].gap)
    for place in range(len(sentence)):
        for part in () if place == 1 and opens else PARTS:
            said = sentence.is_any(place, words("time", part, sentence.language))
            if said and sentence.free(place, place + 1):
                _ask_part(sentence, place, place + 1, part)
                if now and sentence.says(place - 1, "this"):
                    sentence.ask(place - 1, place, "day", now.day.isoformat(), said="today")
        if _is_half(sentence, place) and sentence.word(place) == "pm":
            sentence.ask(place, place + 1, "start", least=NOON, said="in the afternoon")
        elif _is_half(sentence, place):
            _ask_part(sentence, place, place + 1, "morning")


def read_windows(sentence: Sentence, held: tuple[str, ...]) -> list[Span]:
    """Read from when on one day until when on another; the days between are asked for, and what lies outside barred.

    The days are read before, and the times after.
    """
    for place in (place for place in range(len(sentence)) if sentence.is_any(place, words("time", "between after"))):
        first = _moment_at(sentence, place + 1)
        joined = first is not None and sentence.is_any(first[2], words("time", "to"))
        second = _moment_at(sentence, first[2] + 1) if first and joined else None
        if not (first and second and first[:2] < second[:2]):
            continue
        last = second[2]
        sentence.spans = [span for span in sentence.spans if not place < span.first < last]
        days = [day for day in held if first[0] <= day <= second[0]]
        sentence.ask(place, last, "day", *days, said=sentence.written(place, last))
        until = Condition(slot="start", values=first[:1], most=first[1], said=f"before {clock_said(first[1])} that day")
        told = f"after {clock_said(second[1])} on the other"
        since = Condition(slot="start", values=second[:1], least=second[1], said=told)
        return [Span(place, last, each, barred=True) for each in (until, since)]
    _join_days(sentence, held)
    return []


def _join_days(sentence: Sentence, held: tuple[str, ...]) -> None:
    """Days side by side are one, as "Saturday 17 April"; then "from Friday to Sunday" is all that lies between."""
    for spanning in (False, True):
        named = sorted((each for each in sentence.spans if each.condition.slot == "day"), key=lambda each: each.first)
        for one, other in pairwise(named):
            dashed = one.last == other.first and sentence.tokens[other.first].gap.strip() in ("-", "–")
            opens = sentence.is_any(one.first - 1, words("time", "between")) or not sentence.says(one.last, "and")
            to = opens and one.last + 1 == other.first and sentence.is_any(one.last, words("time", "to"))
            first, last = ([day for day in each.condition.values if day != "none"] for each in (one, other))
            days: list[str] = []
            if spanning and (dashed or to) and (first or last):
                last = last or held[-1:]
                ends = {day: min((each for each in last if each >= day), default="") for day in first or held[:1]}
                days = [each for each in held if any(day <= each <= ends[day] for day in ends)]
            elif one.last == other.first and not (spanning or dashed):
                days = [day for day in first if day in last]
            if days:
                sentence.spans = [each for each in sentence.spans if each not in (one, other)]
                sentence.ask(one.first, other.last, "day", *days)


def _moment_at(sentence: Sentence, place: int) -> tuple[str, int, int] | None:
    """A day and a time of it that stand at a word, in either order: the day, the minute, and the word after them."""
    days = {span.first: span for span in sentence.spans if span.condition.slot == "day"}
    day = days.get(place)
    at = day.last if day else place
    clock = clock_at(sentence, at + sentence.is_any(at, words("time", "at")))
    if clock is None:
        return None
    day = day or days.get(clock[2] + (sentence.word(clock[2]) == "on"))
    if day is None or day.condition.values[0] == "none":
        return None
    # "Sunday at 1 am" is in the night of Saturday, "Sunday at midnight" in that of Sunday.
    night = clock[0] >= MIDNIGHT and not sentence.is_any(clock[2] - 1, words("time", "midnight"))
    said = date.fromisoformat(day.condition.values[0]) - timedelta(days=night)
    return said.isoformat(), clock[0], max(day.last, clock[2])


def _is_half(sentence: Sentence, place: int) -> bool:
    """Whether "am" or "pm" stands alone for a part of the day: after a day, or at the end."""
    if sentence.language != "en" or not sentence.free(place, place + 1) or sentence.word(place) not in ("am", "pm"):
        return False
    before = place > 0 and sentence.tokens[place - 1].taken == "day"
    return before or (place + 1 == len(sentence) and sentence.word(place - 1) not in ("i", "who", "than"))


def _read_time(sentence: Sentence, place: int, now: Now | None) -> int:
    """Read what begins at a word; gives back the word to go on with."""
    word = sentence.word(place)
    if not sentence.free(place, place + 1) or sentence.says(place - 1, "apart"):  # "apart from the dinner"
        return place
    if now and (after := _from_now(sentence, place, now)):
        return after
    first = clock_at(sentence, place + 1 + (sentence.word(place + 1) == "than"))
    opens = word in words("time", "between after")
    if opens and first and sentence.is_any(first[2], words("time", "to")):
        if second := clock_at(sentence, first[2] + 1) or _clock_behind(sentence, first[2]):
            return _window(sentence, place, second[2], first[1], second[0])
    early, late = word in words("time", "before"), word in words("time", "after")
    if early and sentence.is_any(place + 1, words("time", "after")):  # not until after lunch
        first = clock_at(sentence, place + 2)
        early, late = bool(first), False
        if first:
            first = (first[1], first[1], first[2])
    ends = any(sentence.is_any(near, words("time", "ends")) for near in (place - 1, place - 2))
    if first is None and (early or late):
        first = _clock_behind(sentence, place)
    if first and (early or late):
        after = first[2] + (sentence.word(first[2]) in ("on", "onwards", "onward"))
        side = "before" if early else "from" if word in ("from", "ab", "vanaf") else "after"
        said = f"{'ending ' * ends}{side} {clock_said(first[0] if early else first[1])}"
        # "Not after 3": what begins at 3 is still welcome.
        open_end = not ends and word in words("grammar", "later") and first[0] == first[1] and _denied(sentence, place)
        least, most = (None, first[0]) if early else (first[1] + open_end, None)
        sentence.ask(place, after, "end" if ends else "start", least=least, most=most, said=said)
        return after
    here = clock_at(sentence, place)
    if here is None or word in words("time", "at", sentence.language):
        following = sentence.word(place + 1)
        exact = following[:1].isdigit() or following in numbers() or following in words("time", "midnight")
        clear = first and (word == "at" or first[0] != first[1] or exact)
        during = word in words("time", "during") and first and first[0] != first[1]  # lunch, and not "deux heures"
        return _at(sentence, place, first) if first and clear and (during or word in words("time", "at")) else place
    joined = sentence.is_any(here[2], words("time", "to"))
    dashed = here[2] < len(sentence) and sentence.tokens[here[2]].gap.strip() in ("-", "–")
    second = clock_at(sentence, here[2] + joined) if joined or dashed else None
    behind_day = place > 0 and sentence.tokens[place - 1].taken == "day"
    spelled = sentence.says(place, "halves") or ((behind_day or second) and word in ("noon", "midday"))
    exact = spelled or sentence.word(place + 1) in ("am", "pm") or ":" in word or re.fullmatch(r"\d{1,2}h\d\d", word)
    if second and (exact or second[2] > here[2] + 2 or ":" in sentence.word(here[2] + 1)):
        return _window(sentence, place, second[2], here[0], second[0])
    return _at(sentence, place, here) if exact else place


def _clock_behind(sentence: Sentence, place: int) -> tuple[int, int, int] | None:
    """The time of what stands behind "before" or "after", as "my talk at 17:00"."""
    for other in range(place + 1, min(len(sentence), place + 1 + _COUNTED)):
        if sentence.begins(other) or sentence.tokens[other].gap.strip() or sentence.tokens[other].taken:
            return None
        if sentence.is_any(other, words("time", "at")):
            return clock_at(sentence, other + 1)
    return None


def _denied(sentence: Sentence, place: int) -> bool:
    """Whether "not" stands before it."""
    return any(sentence.word(near) in ("not", "don't", "nothing", "no", "doesn't") for near in range(place - 3, place))


def _window(sentence: Sentence, first: int, last: int, least: int, most: int) -> int:
    # Of "0:30 to 8" most is in the morning, of "11 to 1" the second hour in the afternoon, and of "22 to 1" at night.
    least -= MIDNIGHT if most <= MIDNIGHT <= least else 0
    most += 720 if most <= least else 0
    said = f"between {clock_said(least)} and {clock_said(most)}"
    sentence.ask(first, last, "start", least=least, most=most, said=said)
    return last


def _at(sentence: Sentence, place: int, at: tuple[int, int, int]) -> int:
    late, early = (sentence.is_any(at[2] + 1, words("turns", key)) for key in ("after later", "before sooner"))
    if sentence.says(at[2], "or") and (late or early):  # "at 3 or later"
        said = f"{'from' if late else 'until'} {clock_said(at[0])}"
        sentence.ask(place, at[2] + 2, "start", **({"least": at[0]} if late else {"most": at[1] + 1}), said=said)
        return at[2] + 2
    before = place - 1
    while sentence.word(before) == "on" or (before > 0 and sentence.tokens[before].taken == "day"):
        before -= 1  # "ends on Friday at 12:00"
    ends = sentence.is_any(before, words("time", "ends") - {"run", "runs"})
    begins = [other for other, token in enumerate(sentence.tokens) if token.word in words("grammar", "starts")]
    for other in begins:
        if not sentence.word(other).startswith("open"):  # "open source at ten"
            sentence.take(other, other + 1, "start")
    slot: Slot = "end" if ends else "start" if begins and at[0] == at[1] else "on"
    most, when = at[1] if ends else max(at[1], at[0] + 1), " and ".join(map(clock_said, dict.fromkeys(at[:2])))
    said = f"{'ending ' * ends}{'between' if at[0] < at[1] else 'at'} {when}"
    sentence.ask(place, at[2], slot, least=at[0] - ends, most=most, said=said)
    return at[2]


def _from_now(sentence: Sentence, place: int, now: Now) -> int:
    """What is seen from now, as "in 20 minutes", "an hour ago", "within an hour"; the word after it, or 0."""
    word, at = sentence.word(place), place + 1
    length, last = _length_at(sentence, place)
    ago = bool(length) and sentence.word(last) == "ago"
    within = word in ("next", "within", "coming", "nachsten", "prochaines")
    if within:
        at += 2 * sentence.match(at, ("the", "next"))
    if within and (unit := _unit(sentence.word(at))):
        length, last = unit, at + 1
    elif within or word == "in" or (sentence.language != "en" and word in ("dans", "over", "en")):
        length, last = _length_at(sentence, at)
    elif not ago:
        return 0
    if not length:
        return 0
    if within:
        found = now.conditions("start", length + 1)
    else:
        moment = Now(now.day, now.minute + (-length if ago else length))
        day, on = moment.conditions("on")
        found = (day, on.model_copy(update={"said": f"at {clock_said(moment.minute)}"}))
    sentence.spans += [Span(place, last + ago, each) for each in found]
    sentence.take(place, last + ago, "start" if within else "on")
    return last + ago


def read_lengths(sentence: Sentence) -> None:
    """Read how long something may take: "at most 20 minutes", "longer than half an hour", "an hour and a half"."""
    for place in range(len(sentence)):
        length, last = _length_at(sentence, place)
        if not length or not sentence.free(place, last) or sentence.word(last) in ("left", "ago", "late"):
            continue
        places = (*range(place - 3, place), *range(last, last + 3))
        near = {sentence.word(other) for other in places}
        longer, denied = bool(near & words("time", "longer")), _denied(sentence, place)
        # "Longer than 40 minutes" is at least 41, "not longer" at most 40.
        strict = not denied and not near & words("time", "inclusive")
        if near & words("time", "shorter") or (longer and denied):
            said = f"of {'less than' if strict else 'at most'} {length} minutes"
            sentence.ask(place, last, "minutes", most=length - strict, said=said)
        elif longer:
            said = f"of {'more than' if strict else 'at least'} {length} minutes"
            sentence.ask(place, last, "minutes", least=length + strict, said=said)
        elif near & words("time", "exact"):
            sentence.ask(place, last, "minutes", least=length, most=length, said=f"of {length} minutes")
        # A word that says how long something may be compares nothing else.
        for other in places:
            if sentence.is_any(other, words("time", "longer shorter")):
                sentence.take(other, other + 1, "minutes")


def read_number(sentence: Sentence) -> int:
    """How many records are asked for: the number before a word for them, as in "three short talks"; 0 without one."""
    for place in range(len(sentence)):
        said = sentence.word(place)
        number = int(said) if said.isdecimal() and len(said) < 3 else numbers().get(said, 0)
        compared = words("time", "longer shorter") & {sentence.word(other) for other in range(place - 2, place)}
        if number < 2 or compared or sentence.tokens[place].taken:
            continue
        for other in range(place + 1, min(len(sentence), place + _COUNTED + 1)):
            if sentence.begins(other) or "," in sentence.tokens[other].gap:
                break
            thing = sentence.is_any(other, words("things", "sessions thing"))
            if sentence.tokens[other].taken == "type" or thing:
                sentence.take(place, place + 1, "number")
                return number
    return 0


def _length_at(sentence: Sentence, place: int) -> tuple[int, int]:
    """The minutes of a length that begins at a word, and the word after it; 0 minutes if there is none."""
    said, unit = sentence.word(place), place + 1
    count = 0.5 if said == "half" else 1.0 if said in ("a", "an") else float(numbers().get(said, 0))
    count = float(said) if said.isdigit() and len(said) < 4 else count
    unit += sentence.word(unit) in ("a", "an") and said == "half"
    size = _unit(sentence.word(unit))
    if not count or not size:
        return 0, place
    half = [sentence.word(unit + step) for step in (1, 2, 3)] == ["and", "a", "half"]
    return int((count + half / 2) * size), unit + 1 + 3 * half


def _unit(word: str) -> int:
    """The minutes of what lengths are told in; 0 for any other word."""
    return next((size for start, size in _UNITS.items() if word.startswith(start)), 0)
