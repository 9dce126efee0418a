"""The scale of people's scores, and where a score stands on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.lines import refuse
from loopwright.workflows.iqa.evaluating.manifest import Row

KNOWN_SCALES = ((0.0, 1.0), (1.0, 5.0), (0.0, 9.0), (0.0, 10.0), (0.0, 100.0))
"""Ranges of people's scores in published data sets, narrow ones first."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The range of people's scores, and which end is good."""

    low: float
    """The least possible score."""
    high: float
    """The greatest possible score."""
    lower_is_better: bool = False
    """True for a DMOS, which counts the loss of quality."""

    @classmethod
    def parse(cls, text: str, *, lower_is_better: bool = False) -> Self:
        """Read ``"0,9"``.

        Args:
            text: The least and the greatest possible score.
            lower_is_better: Whether a low score means good quality.

        Raises:
            InputError: If these are no two numbers, the smaller one first.
        """
        try:
            low, high = (float(part) for part in text.split(","))
        except ValueError:
            low = high = 0.0
        if not -1e9 < low < high < 1e9:
            raise InputError(f"the scale is {text!r}: give the least and the greatest score, for example 0,9")
        return cls(low, high, lower_is_better)

    @classmethod
    def of(cls, scores: Sequence[float], *, lower_is_better: bool = False) -> Self:
        """The narrowest known range that holds some scores, or else their own.

        Args:
            scores: People's scores.
            lower_is_better: Whether a low score means good quality.
        """
        least, most = min(scores), max(scores)
        for low, high in KNOWN_SCALES:
            if low <= least and most <= high:
                return cls(low, high, lower_is_better)
        return cls(least, most if most > least else least + 1, lower_is_better)

    def on_levels(self, score: float) -> float:
        """A score mapped linearly to 1 (bad) to 5 (excellent).

        Args:
            score: Within the range.
        """
        share = (score - self.low) / (self.high - self.low)
        return 1 + 4 * (1 - share if self.lower_is_better else share)

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}, {'lower' if self.lower_is_better else 'higher'} is better"


def scale_of(rows: Iterable[Row], text: str | None, *, lower_is_better: bool, path: Path) -> Scale:
    """The scale of a manifest's scores.

    Args:
        rows: The rows; those without a score do not count.
        text: The range as given by the caller, like ``"0,9"``; None takes the narrowest known one that fits.
        lower_is_better: Whether a low score means good quality.
        path: The manifest, for messages.

    Raises:
        InputError: If the range is none, no row has a score, or some lie outside: the first ten are named by line.
    """
    scored = [(row.line, row.mos) for row in rows if row.mos is not None]
    if not scored:
        raise InputError(f"no row of {str(path)!r} has a mos (people's score)")
    if text is None:
        return Scale.of([mos for _, mos in scored], lower_is_better=lower_is_better)
    scale = Scale.parse(text, lower_is_better=lower_is_better)
    outside = [(line, mos) for line, mos in scored if not scale.low <= mos <= scale.high]
    refuse(path, [f"line {line}: mos {mos:g} lies outside of the scale {text}" for line, mos in outside])
    return scale
