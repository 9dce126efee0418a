"""The table's rows: flat, with the same columns whatever ran."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

from loopwright.workflows.iqa.answer.fusion import quality_score
from loopwright.workflows.iqa.batch.journal import Record
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.distortions import Severity
from loopwright.workflows.iqa.schemas import ExecutorOutput, SummarizerOutput, ToolLog
from loopwright.workflows.iqa.tools.registry import all_tools

Row = dict[str, Any]
"""Column -> value; None where there is none."""

Kind = Literal["text", "number", "whole", "json"]
"""What a column holds; ``json`` is lists, written as text where a table knows no lists."""

_ROUNDING = 1e-3
"""A summarizer rounds its tool's score; a larger difference is a chat model's opinion."""


@cache
def columns() -> dict[str, Kind]:
    """Column -> what it holds, in order. Every registered tool has two, whether or not it ran."""
    tools: dict[str, Kind] = {f"{tool.name}_{part}": "number" for tool in all_tools() for part in ("raw", "score")}
    return {
        "sample_id": "text", "path": "text", "reference_path": "text", "region": "text", "query": "text",
        "group": "text", "mos": "number", "answer": "text", "reasoning": "text", "quality_score": "number",
        "score_source": "text", **tools, "distortion": "text", "severity": "text", "distortions": "json",
        "replans": "whole", "stop_reason": "text", "seconds": "number", "error": "text", "notes": "json",
        "key": "text", "configuration": "text", "versions": "text",
    }  # fmt: skip


def row_of(sample: Sample, record: Record) -> Row:
    """A finished run as a row.

    Args:
        sample: The sample, as the source has it now.
        record: Its run.

    Returns:
        A value, or None, for each of `columns`.
    """
    state = record["state"]
    answer = _answer(state)
    evidence = evidence_of(state)
    score, source = _score(answer, evidence)
    row: Row = dict.fromkeys(columns())
    row |= {
        "sample_id": sample.sample_id,
        "path": sample.path,
        "reference_path": sample.reference_path,
        "region": ",".join(map(str, sample.region)) if sample.region else None,
        "query": sample.query,
        "group": sample.group,
        "mos": sample.mos,
        "answer": answer.final_answer if answer else None,
        "reasoning": answer.quality_reasoning if answer else None,
        "quality_score": score,
        "score_source": source,
        "replans": state.get("iteration_count") or 0,
        "stop_reason": _stops(state),
        "seconds": record["seconds"],
        "error": record["error"],
        "notes": evidence.notes,
        "key": record["key"],
        "configuration": record["configuration"],
        "versions": record["versions"],
    }
    row |= _tool_columns(evidence.tool_logs) | _distortion_columns(evidence)
    return {name: _encodable(value) for name, value in row.items()}


def _answer(state: Mapping[str, Any]) -> SummarizerOutput | None:
    given = state.get("summarizer_result")
    return SummarizerOutput.model_validate(given) if given else None


def evidence_of(state: Mapping[str, Any]) -> ExecutorOutput:
    """The evidence of a record's state; an empty one where there is none.

    Args:
        state: The state in plain JSON.
    """
    return ExecutorOutput.model_validate(state.get("executor_evidence") or {})


def _score(answer: SummarizerOutput | None, evidence: ExecutorOutput) -> tuple[float | None, str | None]:
    """The answer's score, or where its form has none the measured one; and whose it is."""
    measured = quality_score(evidence)
    if answer is None or answer.quality_score is None:
        return (measured.value, measured.tool) if measured else (None, None)
    if measured is None:
        return answer.quality_score, "answer"
    own = abs(measured.value - answer.quality_score) <= _ROUNDING
    return answer.quality_score, measured.tool if own else f"{measured.tool} + opinion"


def _tool_columns(logs: list[ToolLog]) -> Row:
    """Each tool's raw value and score; of several regions, those of the worst."""
    row: Row = {}
    for log in sorted(logs, key=lambda log: (log.score is None, log.score)):
        if log.error is None and f"{log.tool}_score" in columns():
            row.setdefault(f"{log.tool}_raw", log.raw)
            row.setdefault(f"{log.tool}_score", log.score)
    return row


def _distortion_columns(evidence: ExecutorOutput) -> Row:
    found = [
        {"scope": scope, **finding.model_dump(mode="json", exclude={"explanation"})}
        for scope, findings in evidence.distortion_analysis.items()
        for finding in findings
    ]
    worst = max(found, key=lambda item: (Severity(item["severity"]), item["confidence"]), default=None)
    return {
        "distortion": worst["type"] if worst else None,
        "severity": worst["severity"] if worst else None,
        "distortions": found,
    }


def _stops(state: Mapping[str, Any]) -> str | None:
    stop = state.get("stop_reason") or []
    stops: list[dict[str, Any]] = stop if isinstance(stop, list) else [stop]
    return "; ".join(f"{s['loop']} {s['outcome']} after {s['spent']} of {s['limit']}" for s in stops) or None


def _encodable(value: Any) -> Any:
    """File names that are not UTF-8 are full of lone surrogates, which no table takes."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_encodable(item) for item in cast("list[Any]", value)] if isinstance(value, list) else value
