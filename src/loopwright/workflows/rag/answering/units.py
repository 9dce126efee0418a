"""Numbers with units of length, mass and time, in one unit each so that they can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from loopwright.workflows.rag.answering.spans import number_of

Quantity = Literal["length", "mass", "time", ""]
"""What a unit measures; empty for none that is known."""

# Metres, kilograms and seconds. The international yard and pound of 1959 define the others; a year is 365.25 days.
_UNITS: tuple[tuple[str, Quantity, float], ...] = (
    (r"mm|milli(?:metre|meter)s?", "length", 0.001),
    (r"cm|centi(?:metre|meter)s?", "length", 0.01),
    (r"km|kilo(?:metre|meter)s?", "length", 1000.0),
    (r"m|metres?|meters?", "length", 1.0),
    (r"inch(?:es)?", "length", 0.0254),
    (r"ft|foot|feet", "length", 0.3048),
    (r"yd|yards?", "length", 0.9144),
    (r"miles?", "length", 1609.344),
    (r"mg|milligram(?:me)?s?", "mass", 1e-6),
    (r"kg|kilogram(?:me)?s?|kilos?", "mass", 1.0),
    (r"gram(?:me)?s?", "mass", 0.001),
    (r"tonnes?|metric tons?", "mass", 1000.0),
    (r"oz|ounces?", "mass", 0.028349523125),
    (r"lbs?|pounds?", "mass", 0.45359237),
    (r"seconds?|secs?", "time", 1.0),
    (r"minutes?|mins?", "time", 60.0),
    (r"hours?|hrs?", "time", 3600.0),
    (r"days?", "time", 86400.0),
    (r"weeks?", "time", 604800.0),
    (r"years?", "time", 31557600.0),
)
_NUMBER = re.compile(r"(?<![\w.$£€¥฿])\d++(?:,\d{3})*+(?:\.\d++)?+(?: (?:thousand|million|billion))?")
_PATTERNS: tuple[tuple[re.Pattern[str], Quantity, float], ...] = tuple(
    (re.compile(rf"[\s-]?(?:{unit})(?!\w)", re.IGNORECASE), kind, factor) for unit, kind, factor in _UNITS
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A number with its unit."""

    start: int
    """Where the number begins in the text, in characters."""
    end: int
    """Where its unit ends there."""
    quantity: Quantity
    """What it measures."""
    value: float
    """How many metres, kilograms or seconds it is."""


def measures_in(text: str) -> Iterator[Measure]:
    """Find the numbers that a known unit follows, in order.

    Args:
        text: The text.
    """
    for number in _NUMBER.finditer(text):
        for pattern, quantity, factor in _PATTERNS:
            unit = pattern.match(text, number.end())
            value = number_of(number[0])
            if unit is not None and value is not None:
                yield Measure(start=number.start(), end=unit.end(), quantity=quantity, value=value * factor)
                break
