"""An evaluation as a whole: agreement with people, and distortion types."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loopwright.workflows.iqa.batch.processes import Progress
from loopwright.workflows.iqa.batch.samples import configuration_digest, versions
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, kind_of
from loopwright.workflows.iqa.evaluating.agreement import RESAMPLES, Agreement, Estimate, Part, agreement, unit_of
from loopwright.workflows.iqa.evaluating.calibrating import FittedCurves
from loopwright.workflows.iqa.evaluating.manifest import NO_DISTORTION, Scale, read_rows, refuse_lost, scale_of
from loopwright.workflows.iqa.evaluating.measuring import ANSWER, Measured, measure_rows
from loopwright.workflows.iqa.measuring.severity import SAME_THING, closeness


@dataclass(frozen=True, slots=True)
class Recognition:
    """How the stated distortions compare with the true types."""

    title: str
    """The type, or what the rows have in common."""
    rows: int
    """How many rows have a type."""
    right: int
    """Stated is the true type, or a sub-type of it."""
    sibling: int
    """Stated is another type of the same kind."""
    abstained: int
    """Nothing is stated."""
    wrong: int
    """Stated is another kind."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that an evaluation found."""

    manifest: str
    """The manifest's name."""
    rows: int
    """How many rows it has."""
    problems: list[tuple[int, str, str]]
    """Line, name and problem of each row that could not be measured in full."""
    failed: int
    """How many rows gave nothing at all."""
    scale: Scale | None
    """The scale of people's scores, if there are any."""
    unit: str
    """What was resampled as a whole."""
    units: int
    """How many of these there are."""
    resamples: int
    """How often."""
    parts: list[Part] = field(default_factory=list[Part])
    """The agreement with people, all rows first."""
    recognition: list[Recognition] = field(default_factory=list[Recognition])
    """The distortion types, all rows first."""
    configuration: str = ""
    """A hash of the configuration."""
    versions: str = ""
    """What measured."""

    def as_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "manifest": self.manifest,
            "rows": self.rows,
            "failed": self.failed,
            "problems": [{"line": line, "row": name, "problem": said} for line, name, said in self.problems],
            "scale": str(self.scale) if self.scale else None,
            "resampled": {"unit": self.unit, "units": self.units, "times": self.resamples},
            "agreement": [
                {"by": part.by, "value": part.value, "rows": part.rows, "tools": list(map(_tool, part.tools))}
                for part in self.parts
            ],
            "recognition": [{name: getattr(item, name) for name in item.__slots__} for item in self.recognition],
            "configuration": self.configuration,
            "versions": self.versions,
        }


def _tool(item: Agreement) -> dict[str, Any]:
    figures = {name: getattr(item, name).as_json() for name in ("srcc", "plcc", "krcc", "rmse")}
    behind = item.behind.as_json() if item.behind else None
    return {"tool": item.tool, **figures, "fit": item.curve, "srcc of the answer less this": behind}


def evaluate(
    path: Path,
    config: IQAConfig | None = None,
    *,
    scale: str | None = None,
    lower_is_better: bool = False,
    tools: tuple[str, ...] | None = None,
    by: Sequence[str] = ("distortion",),
    unit: str | None = None,
    resamples: int = RESAMPLES,
    workers: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> Evaluation:
    """Measure a manifest and compare with what it says.

    Args:
        path: The manifest; see `read_rows`.
        config: The configuration; by default the embedded one.
        scale: The range of people's scores, like ``"0,9"``; by default the narrowest known one that fits.
        lower_is_better: Whether a low score means good quality.
        tools: Names of the tools to judge; None judges all.
        by: By what the agreement is told apart; see `agreement`.
        unit: What is resampled as a whole; see `unit_of`.
        resamples: How often.
        workers: How many processes.
        on_progress: Hears how far it has come.

    Returns:
        The figures. They do not depend on `workers`.

    Raises:
        InputError: If the manifest or the scale is wrong, or none of several images is there.
        ConfigError: If a model's settings or the curves are wrong.
    """
    config = config or IQAConfig()
    rows = read_rows(path)
    scored = any(row.mos is not None for row in rows)
    known = scale_of(rows, scale, lower_is_better=lower_is_better, path=path) if scored else None
    refuse_lost(rows, path)
    measured = measure_rows(rows, path.parent, config, tools=tools, workers=workers, on_progress=on_progress)
    found_unit, units = unit_of([row for row in rows if row.mos is not None], unit)
    return Evaluation(
        manifest=path.name,
        rows=len(rows),
        problems=[(item.row.line, item.row.name, said) for item in measured for said in item.problems],
        failed=sum(item.failed for item in measured),
        scale=known,
        unit=found_unit,
        units=len(set(units)),
        resamples=resamples,
        parts=agreement(measured, known, by=by, unit=unit, resamples=resamples) if known else [],
        recognition=recognition(measured),
        configuration=configuration_digest(config),
        versions=versions(),
    )


def recognition(measured: Sequence[Measured]) -> list[Recognition]:
    """How the pipeline's stated distortions compare with the true types.

    Args:
        measured: What was measured; rows without a known type are left out.

    Returns:
        All rows first, then those with and those without a reference if there are both, then each type.
    """
    known = {*SUBTYPES, *Distortion, NO_DISTORTION}
    typed = [item for item in measured if item.row.distortion in known]
    typed = [item for item in typed if item.scores or not item.problems]
    if not typed:
        return []
    with_reference = [item for item in typed if item.row.reference]
    without = [item for item in typed if not item.row.reference]
    groups = {"all": typed}
    if with_reference and without:
        groups |= {"with a reference": with_reference, "without a reference": without}
    for name in sorted({str(item.row.distortion) for item in typed}):
        groups[name] = [item for item in typed if item.row.distortion == name]
    return [_recognised(title, items) for title, items in groups.items()]


def _recognised(title: str, items: Sequence[Measured]) -> Recognition:
    verdicts = [_verdict(item) for item in items]
    return Recognition(
        title, len(items), *(verdicts.count(name) for name in ("right", "sibling", "abstained", "wrong"))
    )


def _verdict(item: Measured) -> str:
    true = str(item.row.distortion)
    if item.found is None:
        if item.clean:
            return "right" if true == NO_DISTORTION else "wrong"
        return "abstained"
    if true == NO_DISTORTION:
        return "wrong"
    if closeness(true, item.found) >= SAME_THING:
        return "right"
    return "sibling" if kind_of(true) is kind_of(item.found) else "wrong"


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
