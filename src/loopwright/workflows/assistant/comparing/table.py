"""A comparison as text for people."""

from __future__ import annotations

from loopwright.workflows.assistant.comparing.ways import Comparison

_MEASURED = {
    "labels": "measured against the labelled records",
    "citations": "measured against what the answer after the reflection cites",
}


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


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value * 100:.1f}"


def _rows(rows: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width) for place, (cell, width) in enumerate(row))
        for row in ([*zip(row, widths, strict=True)] for row in rows)
    ]
