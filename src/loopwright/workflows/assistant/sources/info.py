"""What is known of the conference itself, and of the languages that it may be in."""

import re
from datetime import date, time
from functools import cached_property
from typing import Annotated, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, model_validator

from loopwright.config import shipped
from loopwright.retrieval.text import fold
from loopwright.workflows.assistant.schemas import Frozen

MOST_DAYS = 366
"""The longest conference in days."""
NIGHT_ENDS = 5
"""The hour. What begins earlier in the morning is at night: it comes after the evening before, and is of its day."""


def zone_of(name: str) -> ZoneInfo:
    """A time zone by its name in the IANA database, for example ``Europe/Brussels``.

    Raises:
        ValueError: If there is none of this name.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError(f"unknown time zone {name!r}; use a name like 'Europe/Brussels' or 'UTC'") from None


class ConferenceInfo(Frozen):
    """The conference: what it is called, where and when it is."""

    title: str
    """Its name."""
    acronym: str = ""
    """Its short name."""
    venue: str = ""
    """The place."""
    city: str = ""
    """The city."""
    start: date
    """Its first day."""
    end: date
    """Its last day."""
    time_zone: Annotated[str, AfterValidator(lambda name: zone_of(name).key)] = "UTC"
    """The time zone that its times are in, by its name in the IANA database."""
    day_change: time = time(0)
    """When a day of the conference begins: what happens earlier in the morning belongs to the day before."""

    @model_validator(mode="after")
    def _days_are_in_order(self) -> Self:
        if not 0 <= (self.end - self.start).days < MOST_DAYS:
            raise ValueError(f"it begins on {self.start} and ends on {self.end}; at most {MOST_DAYS} days, in order")
        return self

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        return ZoneInfo(self.time_zone)


_LISTED: dict[str, str] = shipped("loopwright.workflows.assistant", "data/languages.yaml")

CODES = {code: names.split()[0] for code, names in _LISTED.items()}
"""Code -> the language's English name."""
NAMES = {fold(name): code for code, names in _LISTED.items() for name in names.split()}
"""Name, folded -> code."""
_SHORTER = {"eng": "en", "deu": "de", "ger": "de", "fra": "fr", "fre": "fr", "spa": "es", "ita": "it", "nld": "nl"}


def code_of(value: str) -> str:
    """The code of a language as a schedule has it, such as "en-GB", "deu" or "English"."""
    code = re.split(r"[-_]", value.casefold())[0]
    return NAMES.get(fold(value)) or _SHORTER.get(code, code)
