"""Writing the page."""

import base64
import hashlib
import math
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loopwright.files import complete
from loopwright.workflows.iqa.answer.verdicts import level_name, level_of
from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.report.pictures import pictures
from loopwright.workflows.iqa.report.table_rows import STRENGTHS, Overview, ReportRow

OPEN_ROWS = 30
"""Up to this many rows, the measurements are unfolded from the start."""

TEXT_LENGTH = 10_000
"""A longer text is cut, so that no model's answer can make the page too large to open; in characters."""

_PACKAGE = "loopwright.workflows.iqa"


def write_report(rows: Sequence[ReportRow], path: Path, *, title: str, overview: Overview | None = None) -> Path:
    """Write a report as one self-contained HTML file, and give its path back.

    Rows are sorted by the answer's quality score, lowest first; where the form of the answer has none, the primary
    tool's score stands in, and the row says so. Rows without any score come last. Pictures are made one at a time
    while the file is written, which appears under its name only when it is complete.

    Args:
        rows: The runs to show.
        path: The file to write; its folder is made, and an older file is replaced.
        title: The page's heading.
        overview: Counts over more rows than those to show, for the charts; by default they count the rows.

    Raises:
        OSError: If the file cannot be written.
    """
    ordered = sorted(rows, key=lambda row: math.inf if row.score is None else row.score)
    if overview is None:
        overview = Overview()
        for row in ordered:
            overview.add(row)
    style = files(_PACKAGE).joinpath("templates", "report.css").read_text("utf-8")
    pieces = _environment().get_template("report.html.j2").generate(
        title=title,
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        views=ordered,
        pictures=pictures,
        overview=overview,
        strengths=STRENGTHS,
        unfolded=len(ordered) <= OPEN_ROWS,
        made=datetime.now(UTC),
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    # A file name that is not UTF-8 is full of lone surrogates, which no encoder but this one takes.
    with (
        complete(path) as unfinished,
        unfinished.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file,
    ):
        file.writelines(pieces)
    return path


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"


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
    filters.update(number=_number, level=level_of, level_name=level_name, in_words=in_words)
    return environment
