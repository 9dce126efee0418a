"""Manifests with the truth beside each image: people's score, the type of distortion, or the answer to a question."""

from __future__ import annotations

import csv
import io
import json
import string
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Self, cast

from pydantic import AliasChoices, Field, model_validator

from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa.batch.manifest import ManifestRow, read_lines, refuse, said
from loopwright.workflows.iqa.distortions import parse_distortion
from loopwright.workflows.iqa.schemas import NonEmpty

KNOWN_SCALES = ((0.0, 1.0), (1.0, 5.0), (0.0, 9.0), (0.0, 10.0), (0.0, 100.0))
"""Ranges of people's scores in published data sets, narrow ones first."""

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
    query: str | None = None
    """The question, without its options."""
    options: tuple[str, ...] = ()
    """Its options, in order: A, B, C ..."""
    answer: str | None = None
    """The letter of the right option."""
    kind: str | None = None
    """What the question tests."""
    given: dict[str, Any] | None = None
    """What a question about a single stage hands to that stage."""

    @property
    def asked(self) -> str:
        """The question with its options, as it is put to the pipeline."""
        lines = (f"{letter}. {text}" for letter, text in zip(string.ascii_uppercase, self.options, strict=False))
        return "\n".join([self.query or "", *lines])


class _Line(ManifestRow):
    """One line as it is written."""

    image_path: NonEmpty = Field(validation_alias=AliasChoices("image_path", "image"))
    reference_path: NonEmpty | None = Field(None, validation_alias=AliasChoices("reference_path", "reference"))
    distortion: NonEmpty | None = Field(None, validation_alias=AliasChoices("distortion", "distortion_type", "type"))
    level: str | int | float | None = None
    split: str | None = None
    options: list[NonEmpty] | None = None
    answer: NonEmpty | None = None
    kind: str | None = None
    given: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        """One spelling of each key, so that the check for misspelt ones knows them."""
        if not isinstance(data, dict):
            return data
        held = cast("dict[str, Any]", data)
        spelt = {"image": "image_path", "reference": "reference_path", "distortion_type": "distortion",
                 "type": "distortion"}  # fmt: skip
        return {spelt.get(key, key) if spelt.get(key) not in held else key: value for key, value in held.items()}

    @model_validator(mode="after")
    def _some_truth(self) -> Self:
        if self.answer is None and self.mos is None and self.distortion is None:
            raise ValueError(
                "no truth is given: mos (people's score), distortion (its type), or answer (to a question)"
            )
        if self.answer is not None:
            letters = string.ascii_uppercase[: len(self.options or ())]
            if not self.query or len(letters) < 2:
                raise ValueError("a row with an answer needs a query and at least two options")
            if self.answer.strip().upper() not in [*letters]:
                raise ValueError(f"the answer is {self.answer!r}: give the letter of an option, {', '.join(letters)}")
        return self


def read_rows(path: Path) -> list[Row]:
    """The rows of a manifest, in its order.

    Where no row has a type of distortion but every group is the name of one, the groups are read as the types.

    Args:
        path: ``.csv`` with a line of headings (several options are joined with ``|``), or else JSON Lines.

    Raises:
        InputError: If it cannot be read, is empty, or lines are wrong: the first ten are named by their numbers.
    """
    if path.suffix.lower() == ".csv":
        parsed, problems = _read_csv(path)
    else:
        parsed, problems = read_lines(path, lambda line: _Line.model_validate(json.loads(line.decode("utf-8"))))
    refuse(path, problems)
    if not parsed:
        raise InputError(f"the manifest {str(path)!r} has no row; give image_path and mos for each image")
    return _with_types([_row(number, line) for number, line in parsed])


def _read_csv(path: Path) -> tuple[list[tuple[int, _Line]], list[str]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: it is not UTF-8") from error
    reader = csv.DictReader(io.StringIO(text, newline=""))
    parsed: list[tuple[int, _Line]] = []
    problems: list[str] = []
    for cells in reader:
        held: dict[str, Any] = {key: value for key, value in cells.items() if key and value}
        if "options" in held:
            held["options"] = [part.strip() for part in held["options"].split("|")]
        try:
            parsed.append((reader.line_num, _Line.model_validate(held)))
        except ValueError as error:
            problems.append(f"line {reader.line_num}: {said(error)}")
    return parsed, problems


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
        query=line.query,
        options=tuple(line.options or ()),
        answer=line.answer.strip().upper() if line.answer else None,
        kind=line.kind,
        given=line.given,
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
