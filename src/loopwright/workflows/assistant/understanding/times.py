"""Days and times of a question put together: from when to when, in the conference's time zone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from loopwright.workflows.assistant.understanding.clock import Clock, read_clock
from loopwright.workflows.assistant.understanding.days import read_days
from loopwright.workflows.assistant.understanding.index import NIGHT_ENDS, Index
from loopwright.workflows.assistant.understanding.words import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What a question says of time."""

    days: tuple[str, ...] = ()
    """Days as ISO dates."""
    after: datetime | None = None
    """Begins then or later; with several days it is given for the first of them and holds on each."""
    before: datetime | None = None
    """Begins earlier; with several days as `after`."""
    at: datetime | None = None
    """Is on then; with several days as `after`."""
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
    else for every day.

    Args:
        words: The question; what is read is taken.
        index: The conference.
        now: The moment of asking in the conference's time zone, or None if it is not known.
    """
    today = day_of(now, index) if now else None
    asked = read_days(words, index.days, today)
    clock = read_clock(words, now, index.earliest_hour)
    notes = (*asked.notes, *clock.notes)
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
    if not days:
        return Times(notes=notes)
    first = days[0]
    return Times(
        days=_iso(days),
        after=_moment(first, clock.after, index),
        before=_moment(first, clock.before, index),
        at=_moment(first, clock.at, index),
        notes=notes,
    )


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
