"""The report of a batch: the worst images with their pictures, and counts over all."""

from __future__ import annotations

import heapq
import math
import re
from pathlib import Path
from typing import Any, Generic, TypeVar

from loopwright.errors import BackendError
from loopwright.workflows.iqa.batch.journal import Journal, Record
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.batch.tables import Row
from loopwright.workflows.iqa.distortions import Severity, in_words
from loopwright.workflows.iqa.report import Outcome, Overview, ReportRow, write_report
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput, SummarizerOutput
from loopwright.workflows.iqa.tools.registry import all_tools

WORST = 200
"""How many rows a report shows with pictures."""

_MODELS = {
    "plan": PlannerOutput,
    "executor_evidence": ExecutorOutput,
    "summarizer_result": SummarizerOutput,
}
"""Key of the state -> what its JSON was."""

_STOP = re.compile(r"(\S+) (\S+) after (\d+) of (\d+)")
"""One loop of the column ``stop_reason``."""

Origin = TypeVar("Origin")


class Digest(Generic[Origin]):
    """What a report needs of the rows of a table as they pass by; it grows by eight bytes a row.

    Args:
        worst: How many rows the report shows; with more, pictures would make the page too large to open.
    """

    def __init__(self, worst: int) -> None:
        self.overview = Overview()
        self._worst = worst
        # The least of the heap is the best of the worst, and of equal ones the last.
        self._heap: list[tuple[float, int, Origin]] = []

    def add(self, row: Row, origin: Origin) -> None:
        """Count a row, and keep where it is from as long as it is among the worst.

        Args:
            row: The table's row.
            origin: What its part of the report is made from.
        """
        self.overview.add(_outcome(row))
        score = row["quality_score"]
        item = (-math.inf if score is None else -score, -self.overview.rows, origin)
        if len(self._heap) < self._worst:
            heapq.heappush(self._heap, item)
        else:
            heapq.heappushpop(self._heap, item)

    @property
    def worst(self) -> list[Origin]:
        """The lowest scores, the worst first; rows without a score come after all that have one."""
        return [origin for *_, origin in sorted(self._heap, key=lambda item: item[:2], reverse=True)]

    def write(self, path: Path, rows: list[ReportRow]) -> None:
        """Write the report.

        Args:
            path: The HTML file.
            rows: What `worst` became.

        Raises:
            BackendError: If it cannot be written.
        """
        count = f"{self.overview.rows:,} images"
        if len(rows) < self.overview.rows:
            count = f"the worst {len(rows):,} of {self.overview.rows:,}"
        try:
            write_report(rows, path, title=f"Image quality: {count}", overview=self.overview)
        except OSError as error:
            raise BackendError(f"cannot write {str(path)!r}: {error.strerror}") from error


def write_batch_report(path: Path, root: Path, digest: Digest[Sample], journal: Journal) -> None:
    """Write the report of a batch that has just run.

    Args:
        path: The HTML file.
        root: What the samples' paths are relative to.
        digest: The rows, from their samples.
        journal: Holds the runs.
    """
    digest.write(path, [_from_record(root, sample, journal.read(sample.sample_id)) for sample in digest.worst])


def write_table_report(path: Path, root: Path, digest: Digest[Row]) -> None:
    """Write the report of a table, which knows less of a run than its journal: no plan, no path and no sentences.

    Args:
        path: The HTML file.
        root: What the table's paths are relative to; rows whose images are not there say so.
        digest: The rows, from themselves.
    """
    digest.write(path, [_from_row(root, row) for row in digest.worst])


def _outcome(row: Row) -> Outcome:
    worst: dict[str, Severity] = {}
    for found in row["distortions"] or ():
        worst[found["type"]] = max(Severity(found["severity"]), worst.get(found["type"], Severity.NONE))
    return Outcome(
        name=row["sample_id"],
        score=row["quality_score"],
        distortions=worst,
        answered=row["answer"] is not None,
        error=row["error"],
        replanned=bool(row["replans"]),
        stopped=row["stop_reason"] is not None,
        seconds=row["seconds"] or 0.0,
    )


def _from_record(root: Path, sample: Sample, record: Record) -> ReportRow:
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


def _from_row(root: Path, row: Row) -> ReportRow:
    answer = row["answer"] and SummarizerOutput(
        final_answer=row["answer"], quality_reasoning=row["reasoning"] or "-", quality_score=row["quality_score"]
    )
    region = row["region"]
    state: dict[str, Any] = {
        "query": row["query"],
        "image_path": row["path"],
        "region": tuple(map(int, region.split(","))) if region else None,
        "executor_evidence": _evidence(row),
        "summarizer_result": answer or None,
        "iteration_count": row["replans"],
        "stop_reason": [
            {"loop": loop, "outcome": outcome, "spent": spent, "limit": limit}
            for loop, outcome, spent, limit in _STOP.findall(row["stop_reason"] or "")
        ],
        "error": row["error"],
    }
    return ReportRow(
        name=row["sample_id"],
        image_path=root / (row["path"] or ""),
        reference_path=root / row["reference_path"] if row["reference_path"] else None,
        query=row["query"] or "",
        state=state,
        path=(),
        seconds=row["seconds"] or 0.0,
    )


def _evidence(row: Row) -> ExecutorOutput:
    analysis: dict[str, list[dict[str, Any]]] = {}
    for found in row["distortions"] or ():
        item = {key: value for key, value in found.items() if key != "scope"}
        item["explanation"] = f"{found['severity']} {in_words(found['type'])}".capitalize()
        analysis.setdefault(found["scope"], []).append(item)
    ran = [tool.name for tool in all_tools() if row[f"{tool.name}_score"] is not None]
    source = (row["score_source"] or "").removesuffix(" + opinion")
    return ExecutorOutput.model_validate(
        {
            "distortion_analysis": analysis,
            "selected_tools": ran,
            "quality_scores": {name: row[f"{name}_score"] for name in ran},
            "tool_logs": [{"tool": name, "raw": row[f"{name}_raw"], "score": row[f"{name}_score"]} for name in ran],
            "notes": row["notes"] or [],
            "primary_tool": source if source in ran else None,
        }
    )
