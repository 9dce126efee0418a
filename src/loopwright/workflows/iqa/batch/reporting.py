"""The report of a batch: the worst images with their pictures, and counts over all."""

from __future__ import annotations

import heapq
import math
from pathlib import Path
from typing import Any

from loopwright.errors import BackendError
from loopwright.workflows.iqa.batch.journal import Journal, Record
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.report import Overview, ReportRow, write_report
from loopwright.workflows.iqa.schemas import ExecutorOutput, SummarizerOutput

WORST = 200
"""How many rows a report shows with pictures."""

_MODELS = {
    "executor_evidence": ExecutorOutput,
    "summarizer_result": SummarizerOutput,
}
"""Key of the state -> what its JSON was."""


class Digest:
    """What a report needs of the runs as they pass by; it grows by eight bytes a run.

    Args:
        worst: How many rows the report shows; with more, pictures would make the page too large to open.
        root: What the samples' paths are relative to.
    """

    def __init__(self, worst: int, root: Path) -> None:
        self.overview = Overview()
        self._worst, self._root = worst, root
        # The least of the heap is the best of the worst, and of equal ones the last.
        self._heap: list[tuple[float, int, Sample]] = []

    def add(self, sample: Sample, record: Record) -> ReportRow:
        """Count a run, and keep its sample as long as it is among the worst: those without a score come last.

        Returns:
            The run as the report shows it.
        """
        row = _report_row(self._root, sample, record)
        self.overview.add(row)
        item = (-math.inf if row.score is None else -row.score, -self.overview.rows, sample)
        if len(self._heap) < self._worst:
            heapq.heappush(self._heap, item)
        else:
            heapq.heappushpop(self._heap, item)
        return row

    def write(self, path: Path, journal: Journal) -> None:
        """Write the report.

        Raises:
            BackendError: If it cannot be written.
        """
        worst = (sample for *_, sample in sorted(self._heap, key=lambda item: item[:2], reverse=True))
        rows = [_report_row(self._root, sample, journal.read(sample.sample_id)) for sample in worst]
        count = f"{self.overview.rows:,} images"
        if len(rows) < self.overview.rows:
            count = f"the worst {len(rows):,} of {self.overview.rows:,}"
        try:
            write_report(rows, path, title=f"Image quality: {count}", overview=self.overview)
        except OSError as error:
            raise BackendError(f"cannot write {str(path)!r}: {error.strerror}") from error


def _report_row(root: Path, sample: Sample, record: Record) -> ReportRow:
    state: dict[str, Any] = {
        "query": sample.query,
        "image_path": sample.image_path,
        "region": sample.region,
        **record["state"],
        "error": record["error"],
    }
    for key, model in _MODELS.items():
        if state.get(key) is not None:
            state[key] = model.model_validate(state[key])
    return ReportRow(
        name=sample.sample_id,
        image_path=root / sample.image_path,
        reference_path=root / sample.reference_path if sample.reference_path else None,
        query=sample.query,
        state=state,
        seconds=record["seconds"],
    )
