"""Writing the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loopwright.workflows.iqa.answer.fusion import level_name, level_of
from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.report.pictures import pictures, ramp
from loopwright.workflows.iqa.report.table_rows import STRENGTHS, Overview, ReportRow, View
from loopwright.workflows.pages import policy_hash, write_page

OPEN_ROWS = 30
"""Up to this many rows, the measurements are unfolded from the start."""

TEXT_LENGTH = 10_000
"""A longer text is cut, so that no model's answer can make the page too large to open; in characters."""

_PACKAGE = "loopwright.workflows.iqa"


def write_report(
    rows: Sequence[ReportRow],
    path: Path,
    *,
    title: str,
    overview: Overview | None = None,
) -> Path:
    """Write a report as one self-contained HTML file.

    Rows are sorted by the answer's quality score, lowest first; where the form of the answer has none, the primary
    tool's score stands in, and the row says so. Rows without any score come last. Pictures are made one at a time
    while the file is written, which appears under its name only when it is complete.

    Args:
        rows: The runs to show.
        path: The file to write; its folder is made, and an older file is replaced.
        title: The page's heading.
        overview: Counts over more rows than those to show, for the charts; by default they count the rows.

    Returns:
        The path, as given.

    Raises:
        OSError: If the file cannot be written.
    """
    views = sorted(map(View, rows), key=lambda view: math.inf if view.score is None else view.score)
    if overview is None:
        overview = Overview()
        for view in views:
            overview.add(view.outcome)
    style = files(_PACKAGE).joinpath("templates", "report.css").read_text("utf-8")
    pieces = _environment().get_template("report.html.j2").generate(
        title=title,
        style=Markup(style),
        style_hash=policy_hash(style),
        views=views,
        overview=overview,
        strengths=STRENGTHS,
        unfolded=len(views) <= OPEN_ROWS,
        made=datetime.now(UTC),
    )  # fmt: skip
    return write_page(path, pieces)


def _number(value: float | None) -> str:
    """A measured number, to four digits."""
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 1000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def _milliseconds(seconds: float) -> str:
    """A time; a table of a batch does not keep those of the tools."""
    if not seconds:
        return "–"
    return f"{seconds * 1000:,.0f}" if seconds >= 0.001 else "< 1"


def _bounded(value: object) -> object:
    """Cut a text that is too long; markup is our own."""
    if isinstance(value, Markup) or not isinstance(value, str) or len(value) <= TEXT_LENGTH:
        return value
    return f"{value[:TEXT_LENGTH]} … ({len(value) - TEXT_LENGTH:,} more characters)"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_bounded,
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters.update(number=_number, milliseconds=_milliseconds, level=level_of, level_name=level_name, in_words=in_words)
    globals_ = cast("dict[str, Any]", environment.globals)
    globals_.update(pictures=pictures, ramp=ramp)
    return environment
