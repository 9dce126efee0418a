"""Runs of the pipeline as one HTML file that opens anywhere, offline, worst image first.

The page holds everything that it shows: its style, its pictures, the diagram of the graph. It has no script and
loads nothing, and its content security policy would allow neither. All text is escaped where it is put in.
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image, ImageDraw

from loopwright.errors import ImageError
from loopwright.workflows.iqa.answering.fusion import LEVEL_NAMES, level_name, level_of, quality_score
from loopwright.workflows.iqa.images import load_image
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput, SummarizerOutput
from loopwright.workflows.iqa.state import AgenticIQAState

THUMBNAIL_SIDE = 320
"""The longer side of a thumbnail, in pixels."""

OPEN_ROWS = 30
"""Up to this many rows, the measurements are unfolded from the start."""

_PACKAGE = "loopwright.workflows.iqa"


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One run of the pipeline."""

    name: str
    """What the row is called."""
    image_path: Path
    """The image in question; the row says so if it cannot be read any more."""
    reference_path: Path | None
    """The pristine image, if there was one."""
    query: str
    """The user's question."""
    state: Mapping[str, Any]
    """The final state, an `AgenticIQAState`; any key but the input's may be missing, as after an error."""
    path: Sequence[str]
    """The stages that ran, in order, and in parentheses what the loop decided: ``"(replan 1/2)"``."""
    seconds: float
    """Wall time of the run."""


def write_report(rows: Sequence[ReportRow], path: Path, *, title: str, svg: str | None = None) -> Path:
    """Write a report as one self-contained HTML file.

    Rows are sorted by the answer's quality score, lowest first; where the form of the answer has none, the primary
    tool's score stands in, and the row says so. Rows without any score come last. Thumbnails are made one at a time
    while the file is written, which appears under its name only when it is complete.

    Args:
        rows: The runs.
        path: The file to write; its folder is made, and an older file is replaced.
        title: The page's heading.
        svg: The graph's diagram, as `loopwright.engine.diagram.svg` draws it.

    Returns:
        The path, as given.

    Raises:
        OSError: If the file cannot be written.
    """
    views = sorted(map(View, rows), key=lambda view: math.inf if view.score is None else view.score)
    style = files(_PACKAGE).joinpath("templates", "report.css").read_text("utf-8")
    pieces = _environment().get_template("report.html.j2").generate(
        title=title,
        style=Markup(style),
        style_hash=base64.b64encode(hashlib.sha256(style.encode()).digest()).decode(),
        diagram=None if svg is None else _data_uri("image/svg+xml", svg.encode("utf-8", "replace")),
        views=views,
        summary=_summary(views),
        unfolded=len(views) <= OPEN_ROWS,
        made=datetime.now(UTC),
    )  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    try:
        # A file name that is not UTF-8 is full of lone surrogates, which no encoder but this one takes.
        with unfinished.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(pieces)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the path that a run took."""

    text: str
    """The stage's name, or what a loop decided."""
    kind: str
    """``stage``, ``granted`` (the loop went round again) or ``refused`` (it reached its bound or stalled)."""

    @classmethod
    def of(cls, text: str) -> Step:
        """Read a step as `ReportRow.path` has it."""
        if not (text.startswith("(") and text.endswith(")")):
            return cls(text, "stage")
        return cls(text[1:-1], "refused" if text.endswith(("exhausted)", "stalled)")) else "granted")


@dataclass(frozen=True, slots=True)
class Picture:
    """A thumbnail, or why there is none."""

    caption: str
    """Where the image was, shortened."""
    uri: str | None = None
    """The thumbnail as a ``data:`` address."""
    width: int = 0
    """Of the thumbnail, in pixels."""
    height: int = 0
    """Of the thumbnail, in pixels."""
    problem: str | None = None
    """Why there is none."""


class View:
    """A row as the template needs it."""

    def __init__(self, row: ReportRow) -> None:
        state = cast("AgenticIQAState", row.state)
        self.row = row
        self.answer: SummarizerOutput | None = state.get("summarizer_result")
        self.evidence: ExecutorOutput = state.get("executor_evidence") or ExecutorOutput()
        self.plan: PlannerOutput | None = state.get("plan")
        self.error: str | None = state.get("error") or self.evidence.error
        self.history: list[str] = state.get("replan_history") or []
        self.replans: int = state.get("iteration_count") or 0
        self.region = state.get("region")
        stop = state.get("stop_reason") or []
        self.stops: list[dict[str, Any]] = stop if isinstance(stop, list) else [stop]
        self.steps = [Step.of(text) for text in row.path]
        self.score, self.score_tool = _score(self.answer, self.evidence)
        self.flags = [
            *(["replanned"] if self.replans else []),
            *(["stopped"] if self.stops else []),
            *(["failed"] if self.error or self.answer is None else []),
        ]

    def pictures(self) -> Iterator[Picture]:
        """The image and its reference, read when they are asked for."""
        yield _picture(self.row.image_path, self.region)
        if self.row.reference_path is not None:
            yield _picture(self.row.reference_path, self.region)


def _score(answer: SummarizerOutput | None, evidence: ExecutorOutput) -> tuple[float | None, str | None]:
    """The score to sort by, and the tool that it is from if it is not the answer's own."""
    if answer is not None and answer.quality_score is not None:
        return answer.quality_score, None
    measured = quality_score(evidence)
    if measured is None or not 1 <= measured.value <= 5:
        return None, None
    return measured.value, measured.tool


def _summary(views: Sequence[View]) -> dict[str, Any]:
    flags = Counter(flag for view in views for flag in view.flags)
    levels = Counter(level_of(view.score) for view in views if view.score is not None)
    return {
        "flags": flags,
        "answered": sum(view.answer is not None for view in views),
        "seconds": sum(view.row.seconds for view in views),
        "levels": [(level, name, levels[level]) for level, name in LEVEL_NAMES.items()],
        "most": max(levels.values(), default=0),
    }


def _picture(path: Path, region: Sequence[int] | None) -> Picture:
    """A thumbnail, upright, with the region outlined."""
    try:
        image = Image.fromarray(load_image(path).rgb)
    except ImageError as error:
        return Picture(_shown(path), problem=str(error))
    scale = min(1.0, THUMBNAIL_SIDE / max(image.size))
    image.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE), Image.Resampling.LANCZOS)
    if region:
        _outline(image, [side * scale for side in region])
    buffer = io.BytesIO()
    image.save(buffer, "WEBP", quality=82)
    return Picture(_shown(path), _data_uri("image/webp", buffer.getvalue()), image.width, image.height)


def _outline(image: Image.Image, box: Sequence[float]) -> None:
    """Draw a box, black within white to be seen on any picture; a box too small to draw is left out."""
    left, top, width, height = box
    pen = ImageDraw.Draw(image)
    for inset, colour, thickness in ((0, "white", 3), (1, "black", 1)):
        if min(width, height) > 2 * inset:
            edges = (left + inset, top + inset, left + width - inset, top + height - inset)
            pen.rectangle(edges, outline=colour, width=thickness)


def _shown(path: Path) -> str:
    """A path as it was given; of an absolute one only the end: who reads the report need not know the way to it."""
    return f"…/{path.parent.name}/{path.name}" if path.is_absolute() else str(path)


def _data_uri(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(content).decode()}"


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
    return f"{seconds * 1000:,.0f}" if seconds >= 0.001 else "< 1"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters.update(number=_number, milliseconds=_milliseconds, level=level_of, level_name=level_name)
    return environment
