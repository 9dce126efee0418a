"""The report of a batch: the worst images with their pictures."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loopwright.workflows.iqa.batch.journal import Journal
from loopwright.workflows.iqa.batch.records import Record
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.report import ReportRow, write_report
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput, SummarizerOutput

_MODELS = {
    "plan": PlannerOutput,
    "executor_evidence": ExecutorOutput,
    "summarizer_result": SummarizerOutput,
}
"""Key of the state -> what its JSON was."""


def write_batch_report(
    path: Path, root: Path, samples: Mapping[Sample, float | None], journal: Journal, worst: int
) -> None:
    """Write a report of the lowest scores; rows without a score come after all that have one.

    Args:
        path: The HTML file.
        root: What the samples' paths are relative to.
        samples: Each sample with its score, 1..5 or None.
        journal: Holds the runs.
        worst: How many rows to show; with more, pictures would make the page too large to open.
    """
    shown = heapq.nsmallest(worst, samples, key=lambda sample: _rank(samples[sample]))
    rows = [_report_row(root, sample, journal.read(sample.sample_id)) for sample in shown]
    count = (
        f"{len(samples):,} images" if len(shown) == len(samples) else f"the worst {len(shown):,} of {len(samples):,}"
    )
    write_report(rows, path, title=f"Image quality: {count}")


def _rank(score: float | None) -> float:
    return math.inf if score is None else score


def _report_row(root: Path, sample: Sample, record: Record) -> ReportRow:
    state: dict[str, Any] = {
        "query": sample.query,
        "image_path": sample.path,
        "region": sample.region,
        **record["state"],
        "error": record["error"],
    }
    for key, model in _MODELS.items():
        if state.get(key) is not None:
            state[key] = model.model_validate(state[key])
    return ReportRow(
        name=sample.sample_id,
        image_path=root / sample.path,
        reference_path=root / sample.reference_path if sample.reference_path else None,
        query=sample.query,
        state=state,
        path=record["stages"],
        seconds=record["seconds"],
    )
