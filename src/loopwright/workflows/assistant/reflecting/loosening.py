"""Filters that ask for less: what comes nearest where nothing is at that time and place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

from loopwright.workflows.assistant.conference.info import ConferenceInfo
from loopwright.workflows.assistant.schemas import Filters

AROUND = (timedelta(hours=1), timedelta(hours=2))
"""How long before and after a moment something may begin to be near it."""

A_LITTLE = "a little earlier or later"
"""Where is looked around a moment, for people."""

ANYWHERE = "at other times and places"
"""Where is looked once neither time nor place counts, for people."""

_KINDS = ("tracks", "types")
_PLACES = ("rooms", *_KINDS)
_OF_ANY_DAY = {"at": "at_time", "after": "from_time", "before": "until_time"}
_TIMES = ("at", "after", "before", "ends_after", "at_time", "from_time", "until_time")


def can_be_loosened(filters: Filters) -> bool:
    """Whether `loosened` has anything: a time of the day or a place beside what must stay.

    Args:
        filters: What is asked.
    """
    kinds = sum(bool(getattr(filters, name)) for name in (*_PLACES, "days"))
    return _asks(filters, "time") or kinds > 1 or bool(kinds and (filters.speakers or filters.languages))


def loosened(
    filters: Filters, info: ConferenceInfo | None, *, days: bool = True, kinds: bool = True
) -> Iterator[tuple[Filters, str]]:
    """What asks for a little less, the nearest first, and at last for all of it.

    Persons and languages stay: somebody else's talk, or one that is not understood, is no answer. The day is given up
    last, since a visit is planned by days.

    Args:
        filters: What is asked.
        info: The conference, whose days may end after midnight.
        days: Whether the day may be given up at all.
        kinds: Whether tracks and types may be: where nothing else was asked, they are what was asked about.

    Yields:
        The filters, and where they look instead, for people.
    """
    kept = {*(() if days else ("days",)), *(() if kinds else _KINDS)}
    gone = [name for name in ("time", *_PLACES, "days") if name not in kept and _asks(filters, name)]
    if window := _around(filters):
        yield filters.model_copy(update=window), A_LITTLE
    for name in gone:
        yield _without(filters, (name,), info), _SAID[name]
    if len(gone) > 1:
        yield _without(filters, gone, info), ANYWHERE


_SAID = {
    "time": "at another time of the day",
    "rooms": "in other rooms",
    "tracks": "in other tracks",
    "types": "among other kinds of sessions",
    "days": "on other days",
}


def _around(filters: Filters) -> dict[str, object]:
    """What begins near the moment or the time of day that is asked for; empty without one."""
    before, after = AROUND
    if filters.at is not None:
        return {"at": None, "after": filters.at - before, "before": filters.at + after}
    if filters.at_time is not None:
        # The date says nothing; only times of day are added to.
        said = datetime.combine(date(2000, 1, 1), filters.at_time)
        return {"at_time": None, "from_time": (said - before).time(), "until_time": (said + after).time()}
    return {}


def _asks(filters: Filters, name: str) -> bool:
    if name == "time":
        return filters.timed or bool(filters.any_of)
    return bool(getattr(filters, name))


def _without(filters: Filters, names: Sequence[str], info: ConferenceInfo | None) -> Filters:
    update: dict[str, object] = {name: () for name in names if name != "time"}
    if "time" in names:
        update |= dict.fromkeys(_TIMES) | {"any_of": ()}
        if "days" not in names and not filters.days:
            update["days"] = _days_of(filters, info)
    elif "days" in names:
        update |= _on_any_day(filters)
    return filters.model_copy(update=update)


def _on_any_day(filters: Filters) -> dict[str, object]:
    """Moments as times of day: a moment would keep the day that is given up."""
    update: dict[str, object] = {}
    for old, new in _OF_ANY_DAY.items():
        moment: datetime | None = getattr(filters, old)
        if moment is not None:
            update |= {old: None, new: moment.time()}
    return update


def _days_of(filters: Filters, info: ConferenceInfo | None) -> tuple[str, ...]:
    """The conference day of a time that was asked without one."""
    moment = filters.at or filters.after or filters.ends_after
    if moment is None:
        return ()
    day = info.day_of(moment) if info is not None else moment.date()
    return (day.isoformat(),)
