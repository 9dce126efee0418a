"""An evaluation as text for people."""

from __future__ import annotations

from collections.abc import Mapping

from loopwright.workflows.rag.evaluation.schemas import Evaluation, Figure

_GROUPED = ("recall@5", "all_gold@5", "em", "f1", "citation_precision", "faithfulness", "abstained")


def table_of(evaluation: Evaluation) -> str:
    """Show an evaluation; shares are in percent, with their 95 % bootstrap intervals.

    Args:
        evaluation: The evaluation.
    """
    lines = [f"{evaluation.questions} questions on {evaluation.passages} passages, in percent with 95 % intervals", ""]
    lines += _rows([[name, _interval(figure), f"n {figure.n}"] for name, figure in evaluation.figures.items()])
    lines += _groups("hops", evaluation.by_hops) + _groups("type", evaluation.by_type) + _abstention(evaluation)
    lines += ["", "retries"]
    lines += _rows([["  " + kind.replace("_", " "), str(count)] for kind, count in evaluation.retries.items()])
    lines += _loops(evaluation)
    calls = f", {evaluation.model_calls} model calls" if evaluation.model_calls else ""
    lines += ["", f"ingest {evaluation.ingest_seconds:.1f} s, questions {evaluation.seconds:.1f} s{calls}"]
    failed = [outcome for outcome in evaluation.outcomes if outcome.status == "failed"]
    lines += [f"{outcome.id} failed: {outcome.error}" for outcome in failed]
    return "\n".join(lines)


def _groups(title: str, groups: Mapping[str, Mapping[str, Figure]]) -> list[str]:
    if len(groups) < 2:
        return []
    rows = [[title, "n", *_GROUPED]]
    for name, figures in groups.items():
        rows.append([name or "-", str(figures["em"].n), *(_percent(figures[figure].value) for figure in _GROUPED)])
    return ["", *_rows(rows)]


def _abstention(evaluation: Evaluation) -> list[str]:
    found = evaluation.abstention
    rows = [
        ["  questions answered", _interval(found.coverage)],
        ["  right abstentions", _interval(found.precision)],
        ["  wrong answers", _interval(found.risk)],
    ]
    if found.risk_coverage_area is not None:
        rows.append(["  area under risk-coverage", _percent(found.risk_coverage_area)])
    return ["", "abstention", *_rows(rows)]


def _loops(evaluation: Evaluation) -> list[str]:
    if not evaluation.loops:
        return []
    rows = [["loop", "passes", "questions", "s", "adds calls", "recall", "em", "f1"]]
    for name, gain in evaluation.loops.items():
        brought = (_interval(figure, sign="+") for figure in (gain.recall, gain.em, gain.f1))
        numbers = (gain.passes, gain.questions, f"{gain.seconds:.2f}", gain.model_calls)
        rows.append([name, *map(str, numbers), *brought])
    return ["", *_rows(rows)]


def _rows(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(row))
        for row in ([*zip(row, widths, strict=True)] for row in rows)
    ]


def _interval(figure: Figure, sign: str = "") -> str:
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    return f"{figure.value * 100:{sign}.1f} [{figure.low * 100:{sign}.1f}, {figure.high * 100:{sign}.1f}]"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f}"
