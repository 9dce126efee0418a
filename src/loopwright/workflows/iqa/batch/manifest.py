"""Manifests: JSON Lines, one object for each question about an image."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Annotated

from pydantic import Field, FiniteFloat, StringConstraints

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.lines import ManifestLine, read_lines, refuse
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.form import LONGEST_QUERY
from loopwright.workflows.iqa.schemas import NonEmpty

Offset = Annotated[int, Field(ge=0, strict=True)]
Side = Annotated[int, Field(ge=1, strict=True)]


class ManifestRow(ManifestLine):
    """One line of a manifest."""

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
    lines, problems = read_lines(path, ManifestRow)
    samples = _named([_sample(row, query) for _, row in lines])
    refuse(path, problems + _twice(samples, [number for number, _ in lines]))
    if not samples:
        raise InputError(f"the manifest {str(path)!r} has no line; give one JSON object per line with image_path")
    return sorted(samples, key=lambda sample: sample.sample_id)


def _sample(row: ManifestRow, query: str) -> Sample:
    return Sample(
        sample_id=row.sample_id or "",
        path=PurePath(row.image_path).as_posix(),
        query=row.query or query,
        reference_path=PurePath(row.reference_path).as_posix() if row.reference_path else None,
        region=row.region,
        mos=row.mos,
        group=row.group,
    )


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
