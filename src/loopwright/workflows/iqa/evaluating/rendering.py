"""An evaluation as Markdown tables."""

from __future__ import annotations

import math

from loopwright.workflows.iqa.evaluating.agreement import Part
from loopwright.workflows.iqa.evaluating.calibrating import FittedCurves
from loopwright.workflows.iqa.evaluating.evaluation import Evaluation
from loopwright.workflows.iqa.evaluating.measuring import ANSWER
from loopwright.workflows.iqa.evaluating.statistics import Estimate

_LISTED = 50
"""Problems that are listed one by one."""


def to_markdown(found: Evaluation) -> str:
    """An evaluation as Markdown.

    Args:
        found: What was found.
    """
    blocks = [f"# Evaluation of {_plain(found.manifest)}", _head(found)]
    for part in found.parts[:1]:
        blocks += ["## Agreement with people", _agreement(part), *_curves(part)]
    for key in dict.fromkeys(part.by for part in found.parts[1:]):
        blocks += [f"## SRCC by {key}", _by(key, [part for part in found.parts if part.by == key])]
    if found.recognition:
        blocks += ["## Distortion types", _recognition(found)]
    if found.problems:
        listed = [f"- line {line}, {_plain(name)}: {_plain(said)}" for line, name, said in found.problems[:_LISTED]]
        if len(found.problems) > _LISTED:
            listed.append(f"- and {len(found.problems) - _LISTED:,} more, which --json lists")
        blocks += ["## Rows with problems", "\n".join(listed)]
    blocks.append(f"{found.versions}; configuration {found.configuration}")
    return "\n\n".join(blocks) + "\n"


def curves_to_markdown(found: FittedCurves) -> str:
    """The tables of a calibration: each tool's agreement and cross-validated error.

    Args:
        found: The curves.
    """
    rows = [
        [item.curve.tool, f"{item.curve.rows:,}", shown(item.agreement.srcc), f"{item.curve.error:.3f}",
         shown(item.agreement.rmse).partition(" ")[0]]
        for item in found.tools
    ]  # fmt: skip
    left = f"; left out in turn: {found.folds} folds of whole {found.unit}s"
    said = [
        _table(["tool", "rows", "SRCC", "error of the new curve", "error of the curve so far"], rows),
        f"People's scores: {found.scale}. Errors: root mean square, on the scale of 1 to 5{left}.",
    ]
    if found.left_out:
        said.append("Too few rows for a curve: " + ", ".join(f"{name} ({n})" for name, n in found.left_out.items()))
    return "\n\n".join(said) + "\n"


def _plain(words: str) -> str:
    """Words that break no table and no line."""
    return " ".join(words.split()).replace("|", "\\|")


def _head(found: Evaluation) -> str:
    said = [f"{found.rows:,} rows, {found.failed:,} of them failed."]
    if found.scale:
        said.append(f"People's scores: {found.scale}.")
        drawn = {
            "reference": f"whole references ({found.units:,}; images without one singly)",
            "group": f"whole groups ({found.units:,})",
            "row": "single rows",
        }[found.unit]
        said.append(
            f"Intervals of 95 %: {found.resamples:,} resamples of {drawn}; that of the PLCC holds the fit fixed."
        )
    return " ".join(said)


def shown(figure: Estimate | None, *, sign: bool = False, whole: bool = True) -> str:
    """A figure with its interval, as ``0.874 [0.851, 0.893]``; a dash where there is none.

    Args:
        figure: The figure.
        sign: Whether to write the plus sign.
        whole: Whether to write the interval too.
    """
    if figure is None or not math.isfinite(figure.value):
        return "-"
    form = "+.3f" if sign else ".3f"
    held = f" [{figure.low:{form}}, {figure.high:{form}}]" if whole and math.isfinite(figure.low) else ""
    return f"{figure.value:{form}}{held}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _agreement(part: Part) -> str:
    rows = [
        [item.tool, f"{item.srcc.rows:,}", shown(item.srcc), shown(item.plcc), shown(item.krcc), shown(item.rmse),
         shown(item.behind, sign=True)]
        for item in part.tools
    ]  # fmt: skip
    return _table(["", "rows", "SRCC", "PLCC", "KRCC", "RMSE (of 1 to 5)", "answer's SRCC less this"], rows)


def _curves(part: Part) -> list[str]:
    said = [f"{item.tool}: {item.curve}" for item in part.tools if item.curve != "five-parameter logistic"]
    return [f"PLCC without the five-parameter logistic: {'; '.join(said)}."] if said else []


def _by(key: str, parts: list[Part]) -> str:
    tools = list(dict.fromkeys(item.tool for part in parts for item in part.tools))
    rows: list[list[str]] = []
    for part in parts:
        held = {item.tool: item for item in part.tools}
        cells = [shown(held[tool].srcc, whole=False) if tool in held else "-" for tool in tools if tool != ANSWER]
        rows.append([_plain(part.value), str(part.rows), shown(held[ANSWER].srcc) if ANSWER in held else "-", *cells])
    return _table([key, "rows", ANSWER, *(tool for tool in tools if tool != ANSWER)], rows)


def _recognition(found: Evaluation) -> str:
    rows = [
        [_plain(item.title), str(item.rows), *(_share(count, item.rows) for count in
         (item.right, item.sibling, item.abstained, item.wrong))]
        for item in found.recognition
    ]  # fmt: skip
    return _table(["", "rows", "right", "another of its kind", "abstained", "wrong"], rows)


def _share(count: int, rows: int) -> str:
    return f"{count} ({count / rows:.0%})"
