"""Evaluations and comparisons as text for people."""

from __future__ import annotations

from loopwright.workflows.assistant.comparing.schemas import AssistantEvaluation, Comparison
from loopwright.workflows.figures import Figure

_COUNTS = ("passes", "queries", "seconds")
"""The figures that are no shares."""
_OF_A_KIND = ("recall@10", "ndcg@10", "first_recall@10", "first_ndcg@10", "answered", "no_answer", "passes")
_MEASURED = {
    "labels": "measured against the labelled records",
    "citations": "measured against what the answer after the reflection cites",
}


def evaluation_table(evaluation: AssistantEvaluation) -> str:
    """Show an evaluation; shares are in percent, with their 95 % bootstrap intervals.

    Args:
        evaluation: The evaluation.
    """
    title = f"{evaluation.questions} questions on {evaluation.records} records, retry mode {evaluation.mode}"
    lines = [f"{title}, shares in percent with 95 % intervals", ""]
    lines += _rows([[name, interval(name, figure), f"n {figure.n}"] for name, figure in evaluation.figures.items()])
    rows = [["kind", "n", *_OF_A_KIND]]
    for kind, figures in evaluation.by_kind.items():
        rows.append([kind, str(figures["passes"].n), *(_plain(name, figures[name]) for name in _OF_A_KIND)])
    lines += ["", *_rows(rows)]
    if evaluation.lost:
        lines += ["", f"less found than after the first pass: {', '.join(evaluation.lost)}"]
    if evaluation.model_calls:
        lines += ["", f"{evaluation.model_calls} model calls, {evaluation.tokens} tokens"]
    failed = [outcome for outcome in evaluation.outcomes if outcome.after.status == "failed"]
    lines += [f"{outcome.id} failed: {outcome.after.error}" for outcome in failed]
    return "\n".join(lines)


def comparison_table(comparison: Comparison) -> str:
    """Show a comparison: one line for each way.

    Args:
        comparison: The comparison.
    """
    rows = [["way", "recall@10", "nDCG@10", "cited", "passes", "queries", "ms", "calls", "tokens", "cost", "status"]]
    for way, variant in comparison.variants.items():
        numbers = (len(variant.cited), variant.passes, variant.queries)
        spent = (f"{variant.seconds * 1000:.1f}", variant.model_calls, variant.tokens)
        cost = "-" if variant.cost is None or not variant.model_calls else f"${variant.cost:.4f}"
        measured = (_percent(variant.recall), _percent(variant.ndcg))
        rows.append([way, *measured, *map(str, (*numbers, *spent)), cost, variant.status.replace("_", " ")])
    lines = [*_rows(rows), "", _MEASURED[comparison.against]]
    errors = [f"{way} failed: {variant.error}" for way, variant in comparison.variants.items() if variant.error]
    return "\n".join([*lines, *errors])


def interval(name: str, figure: Figure) -> str:
    """A figure with its interval; shares in percent, differences with their sign.

    Args:
        name: The figure's name.
        figure: The figure.
    """
    if figure.value is None or figure.low is None or figure.high is None:
        return "-"
    factor, shown = (1, ".3g") if name in _COUNTS else (100, "+.1f" if name.startswith("gained") else ".1f")
    value, low, high = (format(number * factor, shown) for number in (figure.value, figure.low, figure.high))
    return f"{value} [{low}, {high}]"


def _plain(name: str, figure: Figure) -> str:
    if name in _COUNTS:
        return "-" if figure.value is None else f"{figure.value:.2f}"
    return _percent(figure.value)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f}"


def _rows(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(row))
        for row in ([*zip(row, widths, strict=True)] for row in rows)
    ]
