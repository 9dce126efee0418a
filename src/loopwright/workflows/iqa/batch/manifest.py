"""Manifests: JSON Lines, one object for each question about an image."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated, Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints, ValidationError, model_validator

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.form import LONGEST_QUERY
from loopwright.workflows.iqa.schemas import NonEmpty

_PROBLEMS_SHOWN = 10

T = TypeVar("T")

Offset = Annotated[int, Field(ge=0, strict=True)]
Side = Annotated[int, Field(ge=1, strict=True)]


class ManifestRow(BaseModel):
    """One line of a manifest. Keys that nobody knows are left alone, unless they look like one of these misspelt."""

    model_config = ConfigDict(extra="ignore")

    image_path: NonEmpty
    """The image, relative to the manifest's folder."""
    reference_path: NonEmpty | None = None
    """The pristine image, relative to the manifest's folder."""
    query: Annotated[NonEmpty, StringConstraints(max_length=LONGEST_QUERY)] | None = None
    """The question; without one, that of the whole batch."""
    region: tuple[Offset, Offset, Side, Side] | None = None
    """Left, top, width, height in pixels."""
    sample_id: NonEmpty | None = None
    """Names the row; by default the image's path."""
    mos: FiniteFloat | None = None
    """People's score."""
    group: str | None = None
    """What the image belongs to."""

    @model_validator(mode="before")
    @classmethod
    def _no_misspelling(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            raise ValueError('a line is one JSON object, for example {"image_path": "a.jpg"}')
        for key in cast("dict[str, Any]", data):
            near = difflib.get_close_matches(key, cls.model_fields, n=1, cutoff=0.8)
            if key not in cls.model_fields and near:
                raise ValueError(f"unknown key {key!r}; did you mean {near[0]!r}?")
        return cast("dict[str, Any]", data)


def read_manifest(path: Path, query: str) -> list[Sample]:
    """The samples of a manifest, in order of their names.

    A sample without a name of its own is called by its image's path; where several are about the same image, a hash of
    what they ask is added.

    Args:
        path: The manifest.
        query: What to ask where a line does not say.

    Raises:
        InputError: If it cannot be read, is empty, or lines are wrong: the first ten are named by their numbers.
    """
    lines, problems = read_lines(path, lambda line: _sample(line, query))
    samples = _named([sample for _, sample in lines])
    refuse(path, problems + _twice(samples, [number for number, _ in lines]))
    if not samples:
        raise InputError(f"the manifest {str(path)!r} has no line; give one JSON object per line with image_path")
    return sorted(samples, key=lambda sample: sample.sample_id)


def read_lines(path: Path, parse: Callable[[bytes], T]) -> tuple[list[tuple[int, T]], list[str]]:
    """Parse a file line by line; empty lines are skipped.

    Args:
        path: The file.
        parse: Bytes of one line, without a byte order mark -> what it says; may raise ValueError.

    Returns:
        Number (from 1) and content of each line that could be parsed, and what is wrong with the others.

    Raises:
        InputError: If the file cannot be read.
    """
    parsed: list[tuple[int, T]] = []
    problems: list[str] = []
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.strip():
                    continue
                try:
                    parsed.append((number, parse(line.removeprefix(b"\xef\xbb\xbf"))))
                except ValueError as error:
                    problems.append(f"line {number}: {said(error)}")
    except OSError as error:
        raise InputError(f"cannot read the manifest {str(path)!r}: {error.strerror}") from error
    return parsed, problems


def refuse(path: Path, problems: Sequence[str]) -> None:
    """Say what is wrong with a manifest, if anything is.

    Args:
        path: The manifest.
        problems: What is wrong with each line.

    Raises:
        InputError: If there are problems; the first ten are told.
    """
    if problems:
        more = f"; and {len(problems) - _PROBLEMS_SHOWN} more" if len(problems) > _PROBLEMS_SHOWN else ""
        raise InputError(f"{str(path)!r}, {'; '.join(problems[:_PROBLEMS_SHOWN])}{more}")


def _sample(line: bytes, query: str) -> Sample:
    row = ManifestRow.model_validate(json.loads(line.decode("utf-8")))
    return Sample(
        sample_id=row.sample_id or "",
        path=PurePath(row.image_path).as_posix(),
        query=row.query or query,
        reference_path=PurePath(row.reference_path).as_posix() if row.reference_path else None,
        region=row.region,
        mos=row.mos,
        group=row.group,
    )


def said(error: ValueError) -> str:
    """What is wrong with a line, without the library's own words around it."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = first["loc"][0] if first["loc"] else None
        return f"{where}: {first['msg']}" if where else first["msg"].removeprefix("Value error, ")
    if isinstance(error, json.JSONDecodeError):
        return f"no JSON object: {error.msg} at column {error.colno}"
    return f"not UTF-8: {error}"


def _named(samples: list[Sample]) -> list[Sample]:
    count = Counter(sample.path for sample in samples if not sample.sample_id)
    return [
        sample
        if sample.sample_id
        else replace(sample, sample_id=sample.path if count[sample.path] == 1 else f"{sample.path}#{_hash(sample)}")
        for sample in samples
    ]


def _hash(sample: Sample) -> str:
    return hashlib.sha256(sample.asked.encode()).hexdigest()[:8]


def _twice(samples: list[Sample], lines: list[int]) -> list[str]:
    first: dict[str, int] = {}
    problems: list[str] = []
    for sample, line in zip(samples, lines, strict=True):
        before = first.setdefault(sample.sample_id, line)
        if before != line:
            problems.append(f"line {line}: sample {sample.sample_id!r} is that of line {before}; give it a sample_id")
    return problems
