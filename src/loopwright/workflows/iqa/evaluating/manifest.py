"""Manifests with the truth beside each image: people's score on its scale, or the type of distortion."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import ClassVar, Self

from pydantic import model_validator

from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa.batch.lines import read_lines, refuse
from loopwright.workflows.iqa.batch.samples import ManifestRow
from loopwright.workflows.iqa.distortions import parse_distortion
from loopwright.workflows.iqa.schemas import NonEmpty

NO_DISTORTION = "none"
"""The type of an image that has no distortion."""

_PRISTINE_WORDS = frozenset({"none", "pristine", "reference", "clean", "undistorted"})

_NAMES_OF_DATA_SETS: dict[str, str] = {
    "awgn": "noise",
    "spatially correlated noise": "noise",
    "high frequency noise": "noise",
    "chromatic aberration": "color distortions",
    "brighten": "overexposure",
    "darken": "underexposure",
    "color shift": "color cast",
    "color saturation": "saturation change",
    "high sharpen": "oversharpening",
    "pixelate": "pixelation",
}
"""How TID2013 and KADID-10k call types that people call otherwise -> canonical name."""


@dataclass(frozen=True, slots=True)
class Row:
    """One image with what is known about it."""

    line: int
    """Its line in the manifest."""
    name: str
    """What it is called in messages."""
    image: str
    """The image, relative to the manifest's folder."""
    reference: str | None = None
    """The pristine image, relative to the manifest's folder."""
    mos: float | None = None
    """People's score, in the manifest's own scale."""
    distortion: str | None = None
    """The type of distortion, by canonical name where there is one, or `NO_DISTORTION`."""
    group: str | None = None
    """What it belongs to, as the manifest says."""
    level: str | None = None
    """How strong the distortion is, as the manifest says."""
    split: str | None = None
    """Which part of the data set it belongs to, as the manifest says."""


class _Line(ManifestRow):
    """One line as it is written."""

    spellings: ClassVar[Mapping[str, str]] = {
        "image": "image_path", "reference": "reference_path", "distortion_type": "distortion", "type": "distortion",
    }  # fmt: skip

    distortion: NonEmpty | None = None
    level: str | int | float | None = None
    split: str | None = None

    @model_validator(mode="after")
    def _some_truth(self) -> Self:
        if self.mos is None and self.distortion is None:
            raise ValueError("no truth is given: mos (people's score) or distortion (its type)")
        return self


def read_rows(path: Path) -> list[Row]:
    """The rows of a manifest, in its order.

    Where no row has a type of distortion but every group is the name of one, the groups are read as the types.

    Args:
        path: JSON Lines or CSV; see `read_lines`.

    Raises:
        InputError: If it cannot be read, is empty, or lines are wrong: the first ten are named by their numbers.
    """
    parsed, problems = read_lines(path, _Line)
    rows = [_row(number, line) for number, line in parsed]
    refuse(path, problems + _twice(rows))
    if not rows:
        raise InputError(f"the manifest {str(path)!r} has no row; give image_path and mos for each image")
    return _with_types(rows)


def _twice(rows: list[Row]) -> list[str]:
    """What is wrong with rows that say all that another says: they would count twice."""
    first: dict[str, int] = {}
    problems: list[str] = []
    for row in rows:
        before = first.setdefault(repr(replace(row, line=0)), row.line)
        if before != row.line:
            problems.append(f"line {row.line}: it says the same as line {before}; leave one out")
    return problems


def _row(number: int, line: _Line) -> Row:
    return Row(
        line=number,
        name=line.sample_id or line.image_path,
        image=PurePath(line.image_path).as_posix(),
        reference=PurePath(line.reference_path).as_posix() if line.reference_path else None,
        mos=line.mos,
        distortion=_type_of(line.distortion) or line.distortion,
        group=line.group,
        level=None if line.level is None else str(line.level),
        split=line.split,
    )


def _type_of(text: str | None) -> str | None:
    """The canonical name of a type, or None if it is nobody's name for one."""
    if not text:
        return None
    words = text.strip().lower().replace("_", " ").replace("-", " ")
    if words in _PRISTINE_WORDS:
        return NO_DISTORTION
    try:
        return _NAMES_OF_DATA_SETS.get(words) or parse_distortion(words)
    except UnknownNameError:
        return None


def _with_types(rows: list[Row]) -> list[Row]:
    if any(row.distortion for row in rows) or not all(_type_of(row.group) for row in rows):
        return rows
    return [replace(row, distortion=_type_of(row.group)) for row in rows]


def refuse_lost(rows: Sequence[Row], path: Path) -> None:
    """Notice before hours of bad rows that paths are relative to something else.

    Args:
        rows: The rows.
        path: Their manifest.

    Raises:
        InputError: If there are several rows and none of their images.
    """
    if len(rows) > 1 and not any((path.parent / row.image).exists() for row in rows):
        raise InputError(
            f"none of the {len(rows):,} images of {str(path)!r} is there, the first is {rows[0].image!r}; "
            "paths are relative to the manifest's folder"
        )


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
