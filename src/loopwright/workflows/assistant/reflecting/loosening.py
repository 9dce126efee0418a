"""Filters that ask for less: what comes nearest where nothing is at that time and place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.schemas import Filters

AROUND = (timedelta(hours=1), timedelta(hours=2))
"""How long before and after a moment something may begin to be near it."""

_PLACES = ("rooms", "tracks", "types")


def can_be_loosened(filters: Filters) -> bool:
    """Whether `loosened` has anything: a time of the day or a place beside what must stay.

    Args:
        filters: What is asked.
    """
    timed = filters.at or filters.after or filters.before
    kinds = sum(bool(getattr(filters, name)) for name in (*_PLACES, "days"))
    return bool(timed) or kinds > 1 or bool(kinds and (filters.speakers or filters.languages))


def loosened(filters: Filters, info: ConferenceInfo | None, *, days: bool = True) -> Iterator[tuple[Filters, str]]:
    """What asks for a little less, the nearest first, and at last for all of it.

    Persons and languages stay: somebody else's talk, or one that is not understood, is no answer. The day is given up
    last, since a visit is planned by days.

    Args:
        filters: What is asked.
        info: The conference, whose days may end after midnight.
        days: Whether the day may be given up at all.

    Yields:
        The filters, and where they look instead, for people.
    """
    gone = [name for name in ("time", *_PLACES, *(("days",) if days else ())) if _asks(filters, name)]
    if filters.at is not None:
        before, after = AROUND
        window = {"at": None, "after": filters.at - before, "before": filters.at + after}
        yield filters.model_copy(update=window), "a little earlier or later"
    for name in gone:
        yield _without(filters, (name,), info), _SAID[name]
    if len(gone) > 1:
        yield _without(filters, gone, info), "at other times and places"


_SAID = {
    "time": "at another time of the day",
    "rooms": "in other rooms",
    "tracks": "in other tracks",
    "types": "among other kinds of sessions",
    "days": "on other days",
}


def _asks(filters: Filters, name: str) -> bool:
    if name == "time":
        return any((filters.at, filters.after, filters.before))
    return bool(getattr(filters, name))


def _without(filters: Filters, names: Sequence[str], info: ConferenceInfo | None) -> Filters:
    update: dict[str, object] = {name: () for name in names if name != "time"}
    if "time" in names:
        update |= {"at": None, "after": None, "before": None}
        if "days" not in names and not filters.days:
            update["days"] = _days_of(filters, info)
    return filters.model_copy(update=update)


def _days_of(filters: Filters, info: ConferenceInfo | None) -> tuple[str, ...]:
    """The conference day of a time that was asked without one."""
    moment = filters.at or filters.after
    if moment is None:
        return ()
    day = info.day_of(moment) if info is not None else moment.date()
    return (day.isoformat(),)
