"""The report of a batch: the worst images with their pictures, and counts over all."""

import heapq
import math
from pathlib import Path
from typing import Any

from loopwright.workflows.iqa.batch.journal import Journal, Record, writing
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.report import Overview, ReportRow, write_report
from loopwright.workflows.iqa.schemas import ExecutorOutput, SummarizerOutput

WORST = 200
"""How many rows a report shows with pictures."""

_MODELS = {"executor_evidence": ExecutorOutput, "summarizer_result": SummarizerOutput}
"""Key of the state -> what its JSON was."""


class Digest:
    """What a report needs of the runs as they pass by.

    Args:
        worst: How many rows the report shows; with more, pictures would make the page too large to open.
        root: What the samples' paths are relative to.
        max_pixels: The most pixels of an image that is shown.
    """

    def __init__(self, worst: int, root: Path, max_pixels: int) -> None:
        self.overview = Overview()
        self._worst, self._root, self._max_pixels = worst, root, max_pixels
        self._scores: list[tuple[float, Sample]] = []

    def add(self, sample: Sample, record: Record) -> ReportRow:
        """Count a run; those without a score come last."""
        row = self._row(sample, record)
        self.overview.add(row)
        self._scores.append((math.inf if row.score is None else row.score, sample))
        return row

    def write(self, path: Path, journal: Journal) -> None:
        """Write the report.

        Raises:
            BackendError: If it cannot be written.
        """
        worst = heapq.nsmallest(self._worst, self._scores, key=lambda item: item[0])
        rows = [self._row(sample, journal.read(sample.sample_id)) for _, sample in worst]
        count = f"{self.overview.rows:,} images"
        if len(rows) < self.overview.rows:
            count = f"the worst {len(rows):,} of {self.overview.rows:,}"
        with writing(path):
            write_report(rows, path, title=f"Image quality: {count}", overview=self.overview)

    def _row(self, sample: Sample, record: Record) -> ReportRow:
        state: dict[str, Any] = {"region": sample.region, **record["state"], "error": record["error"]}
        for key, model in _MODELS.items():
            if state.get(key) is not None:
                state[key] = model.model_validate(state[key])
        return ReportRow(
            name=sample.sample_id,
            image_path=self._root / sample.image_path,
            reference_path=self._root / sample.reference_path if sample.reference_path else None,
            query=sample.query,
            state=state,
            seconds=record["seconds"],
            max_pixels=self._max_pixels,
        )
