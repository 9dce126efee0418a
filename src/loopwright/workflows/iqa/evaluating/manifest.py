"""Manifests with the truth beside each image: people's score, the type of distortion, or the answer to a question."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, ClassVar, Self

from pydantic import model_validator

from loopwright.errors import InputError, UnknownNameError
from loopwright.workflows.iqa.batch.lines import read_lines, refuse
from loopwright.workflows.iqa.batch.manifest import ManifestRow
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

    spellings: ClassVar[Mapping[str, str]] = {
        "image": "image_path", "reference": "reference_path", "distortion_type": "distortion", "type": "distortion",
    }  # fmt: skip

    distortion: NonEmpty | None = None
    level: str | int | float | None = None
    split: str | None = None
    options: list[NonEmpty] | None = None
    answer: NonEmpty | None = None
    kind: str | None = None
    given: dict[str, Any] | None = None

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
