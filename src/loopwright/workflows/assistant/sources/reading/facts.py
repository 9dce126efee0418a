"""What a schedule file says of its conference, before it is known whether that is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time

from pydantic import ValidationError

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.sources.info import ConferenceInfo, zone_of
from loopwright.workflows.assistant.sources.reading.times import zone_for

NIGHT_ENDS = time(4)
"""When a day of the conference begins where the file does not say: what is earlier belongs to the evening before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConferenceFacts:
    """What a file says of the conference; what is empty or None it does not say."""

    title: str = ""
    """Its name."""
    acronym: str = ""
    """Its short name."""
    venue: str = ""
    """The place."""
    city: str = ""
    """The city."""
    start: date | None = None
    """Its first day."""
    end: date | None = None
    """Its last day."""
    time_zone: str = ""
    """Its time zone by name."""
    day_change: time | None = None
    """When its days begin."""


def zone_name(source: str, stated: str, given: str | None, moments: Sequence[datetime]) -> str:
    """The time zone of a conference: as its file says, else as the caller says, else as its times let guess.

    Args:
        source: The file, for messages.
        stated: What the file says; may be empty.
        given: What the caller says.
        moments: Times of the file that name an offset.

    Returns:
        The zone's name in the IANA database.

    Raises:
        DocumentError: If there is no such zone.
    """
    try:
        return zone_of(stated or given or zone_for(moments)).key
    except ValueError as error:
        raise DocumentError(source, str(error)) from None


def info_from(
    source: str, facts: ConferenceFacts, zone: str, days: Sequence[date], *, default_title: str
) -> ConferenceInfo:
    """The conference, with what the file does not say taken from its sessions.

    Args:
        source: The file, for messages.
        facts: What it says.
        zone: Its time zone.
        days: The days of its sessions.
        default_title: What it is called if the file does not say.

    Raises:
        DocumentError: If it has no day, or days that cannot be.
    """
    dates = [*days, *(day for day in (facts.start, facts.end) if day)]
    if not dates:
        raise DocumentError(source, "no session has a date; name one for each, for example 2025-02-01")
    try:
        return ConferenceInfo(
            title=facts.title or default_title,
            acronym=facts.acronym,
            venue=facts.venue,
            city=facts.city,
            start=min(dates),
            end=max(dates),
            time_zone=zone,
            day_change=facts.day_change or NIGHT_ENDS,
        )
    except ValidationError as error:
        problem = str(error.errors()[0]["msg"]).removeprefix("Value error, ")
        raise DocumentError(source, f"the days of the conference are wrong: {problem}") from None
