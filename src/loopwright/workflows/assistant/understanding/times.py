"""Days and times of a question put together: from when to when, in the conference's time zone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from loopwright.workflows.assistant.conference.catalogue import NIGHT_ENDS
from loopwright.workflows.assistant.understanding.clock import CLOCK, Clock, read_clock
from loopwright.workflows.assistant.understanding.days import elsewhen, read_days
from loopwright.workflows.assistant.understanding.index import Index
from loopwright.workflows.assistant.understanding.words import Words

_IMPOSSIBLE = re.compile(r"\b(?:at\s+)?(\d{2}):(\d{2})(?![:\d])", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What a question says of time."""

    days: tuple[str, ...] = ()
    """Days as ISO dates."""
    after: datetime | None = None
    """Begins then or later."""
    before: datetime | None = None
    """Begins earlier."""
    at: datetime | None = None
    """Is on then."""
    from_time: time | None = None
    """Begins at this time of day or later, where that holds on several days."""
    until_time: time | None = None
    """Begins earlier in the day, on several days."""
    at_time: time | None = None
    """Is on at this time of day, on several days."""
    ends_after: datetime | None = None
    """Ends later."""
    next_only: bool = False
    """Whether what begins next is asked for."""
    notes: tuple[str, ...] = ()
    """What could not be taken as asked."""


def local_now(now: datetime | None, index: Index) -> datetime | None:
    """The moment of asking in the conference's time zone; a moment without a zone is in it already.

    Args:
        now: The moment, or None if it is not known.
        index: The conference.
    """
    if now is None:
        return None
    return now.astimezone(index.zone) if now.tzinfo else now.replace(tzinfo=index.zone)


def read_times(words: Words, index: Index, now: datetime | None) -> Times:
    """The days and times that a question names.

    A time without a day is meant for the day of asking if that is a day of the conference and the time is not over;
    else for every day, as a time of day.

    Args:
        words: The question; what is read is taken.
        index: The conference.
        now: The moment of asking in the conference's time zone, or None if it is not known.
    """
    today = day_of(now, index) if now else None
    asked = read_days(words, index.days, today)
    clock = _impossible(words) or read_clock(words, now, index.earliest_hour)
    if today and _is_elsewhen(clock, today, index):
        clock = Clock(notes=(elsewhen(today, index.days),))
    notes = tuple(dict.fromkeys((*asked.notes, *clock.notes)))
    if clock.timeless:
        return Times(
            days=_iso(asked.days),
            after=clock.since,
            before=clock.until,
            at=clock.moment,
            next_only=clock.next_only,
            notes=notes,
        )
    days = asked.days or _days_meant(clock, index, now, today)
    if not index.days:
        return Times(notes=notes)
    if len(days) != 1:
        return Times(
            days=_iso(asked.days), from_time=clock.after, until_time=clock.before, at_time=clock.at, notes=notes
        )
    first = days[0]
    return Times(
        days=_iso(days),
        after=_moment(first, clock.after, index),
        before=_moment(first, clock.before, index),
        at=_moment(first, clock.at, index),
        notes=notes,
    )


def _impossible(words: Words) -> Clock | None:
    for match in _IMPOSSIBLE.finditer(words.text):
        if (int(match[1]) > 24 or int(match[2]) > 59) and words.take_span(match.start(), match.end(), CLOCK):
            return Clock(notes=(f"There is no time {match[1]}:{match[2]}.",))
    return None


def _is_elsewhen(clock: Clock, today: date, index: Index) -> bool:
    """Whether a time counts from a moment outside the conference; what comes next is its beginning before it."""
    from_now = clock.since or clock.until or clock.moment
    if not from_now or not index.days or index.days[0] <= today <= index.days[-1]:
        return False
    return today > index.days[-1] or not clock.next_only


def _days_meant(clock: Clock, index: Index, now: datetime | None, today: date | None) -> Sequence[date]:
    if now is None or today is None or today not in index.days:
        return index.days
    over = clock.before or clock.at or time(23, 59)
    to_come = [day for day in index.days if day >= today and (_moment(day, over, index) or now) > now]
    return to_come[:1] or [today]


def day_of(moment: datetime, index: Index) -> date:
    """The day of the conference that a moment belongs to: what happens at night belongs to the day before.

    Args:
        moment: The moment in the conference's time zone.
        index: The conference.
    """
    night = moment.time() < min(index.day_change, NIGHT_ENDS)
    return moment.date() - timedelta(days=1) if night else moment.date()


def _moment(day: date, said: time | None, index: Index) -> datetime | None:
    """A time of a conference's day; in the small hours it belongs to the next day of the calendar."""
    if said is None:
        return None
    late = said < min(index.day_change, NIGHT_ENDS)
    return datetime.combine(day + timedelta(days=1) if late else day, said, index.zone)


def _iso(days: Sequence[date]) -> tuple[str, ...]:
    return tuple(day.isoformat() for day in days)
