"""Runs of the pipeline as one HTML file that opens anywhere, offline, worst image first.

The page holds everything that it shows, its style and its pictures, which are made when they are asked for. It loads
and runs nothing, and its content security policy would not allow it. All text is escaped where it is put in.
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import cv2
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from loopwright.engine.events.reasons import stops_of
from loopwright.engine.ledger import StopReason
from loopwright.errors import ImageError
from loopwright.files import complete
from loopwright.workflows.iqa.answer.facts import QualityScore, level_name, level_of, quality_score
from loopwright.workflows.iqa.distortions import Severity, in_words
from loopwright.workflows.iqa.measuring.detection import is_sure
from loopwright.workflows.iqa.measuring.features.planes import checked, whole_view
from loopwright.workflows.iqa.schemas import Box, DistortionFinding, ExecutorOutput, SummarizerOutput
from loopwright.workflows.iqa.sources.images import MAX_PIXELS, LoadedImage, load_image
from loopwright.workflows.iqa.sources.pixels import RGB
from loopwright.workflows.iqa.tools.full_reference import dissimilarity

BINS = 16
"""Columns of the histogram of scores, each a quarter of a level wide."""

FAILURES_SHOWN = 100
"""How many failed rows are named with their errors."""

_ROUNDING = 1e-3

STRENGTHS = tuple(severity for severity in Severity if severity > Severity.NONE)
"""The severities of what is there."""


@dataclass(frozen=True)
class ReportRow:
    """One run of the pipeline, and what the page tells of it."""

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
    seconds: float
    """Wall time of the run."""
    max_pixels: int = MAX_PIXELS
    """The most pixels of an image that is shown."""

    @property
    def answer(self) -> SummarizerOutput | None:
        """The answer, if there is one."""
        return self.state.get("summarizer_result")

    @cached_property
    def evidence(self) -> ExecutorOutput:
        """What was measured."""
        return self.state.get("executor_evidence") or ExecutorOutput()

    @property
    def error(self) -> str | None:
        """What went wrong, or None."""
        return self.state.get("error") or self.evidence.error

    @property
    def failed(self) -> bool:
        """Whether there is an error or no answer."""
        return self.error is not None or self.answer is None

    @property
    def replans(self) -> int:
        """How many replans there were."""
        return self.state.get("iteration_count") or 0

    @property
    def stops(self) -> list[StopReason]:
        """Which loops ended at their bound."""
        return stops_of(self.state.get("stop_reason"))

    @cached_property
    def _measured(self) -> QualityScore | None:
        return quality_score(self.evidence)

    @property
    def _own(self) -> float | None:
        return self.answer.quality_score if self.answer else None

    @property
    def score(self) -> float | None:
        """The answer's score, or where its form has none the measured one."""
        return self._own if self._own is not None or self._measured is None else self._measured.value

    @property
    def score_source(self) -> str | None:
        """Whose score it is; where it is not its tool's alone, also what it was weighed with."""
        if self._measured is None:
            return None if self._own is None else "answer"
        weighed = self._own is not None and abs(self._measured.value - self._own) > _ROUNDING
        used = (self.answer.used_evidence if self.answer else None) or {}
        beside = " + opinion" if used.get("opinion") else " + findings"
        return self._measured.tool + (beside if weighed else "")

    @property
    def stated(self) -> list[DistortionFinding]:
        """What was analysed, the absent too, without guesses, in all regions; the strongest first."""
        analysed = [item for items in self.evidence.distortion_analysis.values() for item in items]
        known = (item for item in analysed if (item.severity is Severity.NONE and item.confidence) or is_sure(item))
        return sorted(known, key=lambda item: (item.severity, item.confidence), reverse=True)

    @property
    def boxes(self) -> dict[str, Box]:
        """Scope -> the part of the image that it stands for, without scopes that are the whole image."""
        located, region = self.evidence.regions, self.state.get("region")
        # A region that was asked for may be located too, under a name of its own; it is told once.
        asked = {"region": region} if region and region not in located.values() else {}
        return {**asked, **located}


@dataclass
class Overview:
    """Counts over rows; a row takes eight bytes."""

    rows: int = 0
    """All rows."""
    answered: int = 0
    """Rows with an answer."""
    replanned: int = 0
    """Rows with a replan."""
    stopped: int = 0
    """Rows of which a loop reached its bound."""
    failed: int = 0
    """Rows with an error or without an answer."""
    seconds: float = 0.0
    """Wall time of all runs."""
    distortions: dict[str, Counter[Severity]] = field(default_factory=lambda: dict[str, Counter[Severity]]())
    """Canonical name -> severity -> rows that have it."""
    failures: list[tuple[str, str]] = field(default_factory=lambda: list[tuple[str, str]]())
    """Name and error of the first `FAILURES_SHOWN` failed rows."""
    _scores: array[float] = field(default_factory=lambda: array("d"), repr=False)

    def add(self, row: ReportRow) -> None:
        """Count a row."""
        self.rows += 1
        self.answered += row.answer is not None
        self.replanned += bool(row.replans)
        self.stopped += bool(row.stops)
        self.seconds += row.seconds
        if row.failed:
            self.failed += 1
            if len(self.failures) < FAILURES_SHOWN:
                self.failures.append((row.name, row.error or "no answer"))
        if row.score is not None:
            self._scores.append(row.score)
        for name, severity in {item.type: item.severity for item in reversed(row.stated)}.items():
            if severity > Severity.NONE:
                self.distortions.setdefault(name, Counter())[severity] += 1

    @property
    def scored(self) -> int:
        """Rows with a score."""
        return len(self._scores)

    def columns(self) -> list[tuple[float, int]]:
        """The histogram of the scores, from 1 to 5: where each column begins, and its rows."""
        counts, edges = np.histogram(np.frombuffer(self._scores), bins=BINS, range=(1, 5))
        return list(zip(edges[:-1].tolist(), counts.tolist(), strict=True))

    def quantile(self, share: float) -> float:
        """The score that a share of the scored rows lies below; there must be one."""
        return float(np.quantile(np.frombuffer(self._scores), share))

    @property
    def by_distortion(self) -> list[tuple[str, Counter[Severity]]]:
        """The distortions with their rows by severity, the most frequent first."""
        return sorted(self.distortions.items(), key=lambda item: (-item[1].total(), item[0]))


THUMBNAIL_SIDE = 320
"""The longer side of a thumbnail, in pixels."""

THUMBNAIL_BYTES = 40_000
"""A thumbnail that takes more is made with less quality."""

_QUALITIES = (82, 60, 35, 10)
"""Of WebP, in the order in which they are tried."""

_WEAK, _STRONG = 0.01, (0.1, 0.5)
"""The difference that is nothing on a map, and the bounds of the one that is its strongest colour."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A thumbnail, or why there is none."""

    role: str
    """What it is: ``Image``, ``Map`` or ``Reference``."""
    caption: str
    """Where the image was, shortened; or what the map shows."""
    uri: Markup | None = None
    """The thumbnail as a ``data:`` address."""
    width: int = 0
    """Of the thumbnail, in pixels."""
    height: int = 0
    """Of the thumbnail, in pixels."""
    problem: str | None = None
    """Why there is none."""
    scale: str | None = None
    """Of a map: what its strongest colour means."""


def pictures(row: ReportRow) -> Iterator[Picture]:
    """The image, and if there is a reference, where the two differ and the reference.

    Yields:
        Pictures, each read and made when it is its turn.
    """
    boxes = row.boxes.values()
    image = _read(row.image_path, row.max_pixels)
    yield _shown("Image", row.image_path, image, boxes)
    if row.reference_path is not None:
        reference = _read(row.reference_path, row.max_pixels)
        if isinstance(image, LoadedImage) and isinstance(reference, LoadedImage):
            if reference.rgb.shape == image.rgb.shape:
                yield _map(row, image, reference)
        yield _shown("Reference", row.reference_path, reference, boxes)


def _read(path: Path, max_pixels: int) -> LoadedImage | ImageError:
    try:
        return load_image(path, max_pixels=max_pixels)
    except ImageError as error:
        return error


def _shown(role: str, path: Path, image: LoadedImage | ImageError, boxes: Iterable[Box]) -> Picture:
    """A thumbnail, upright, with the measured regions outlined."""
    # Of an absolute path only the end: who reads the report need not know the way to it.
    caption = f"…/{path.parent.name}/{path.name}" if path.is_absolute() else str(path)
    if isinstance(image, ImageError):
        return Picture(role, caption, problem=str(image))
    small = _small(image.rgb)
    return _picture(role, caption, _outlined(small, boxes, small.width / image.width))


def _map(row: ReportRow, image: LoadedImage, reference: LoadedImage) -> Picture:
    """Where the image differs from its reference, which is where its distortions are."""
    caption = "Local difference in edges and colours"
    try:
        raw = dissimilarity(*(whole_view(checked(each.rgb)) for each in (image, reference)))
    except ImageError as error:
        return Picture("Map", caption, problem=str(error))
    small = _small(image.rgb)
    # The strongest hundredth of the image is 1, within bounds.
    top = float(np.clip(np.quantile(raw, 0.99), *_STRONG))
    values = np.clip((raw - _WEAK) / (top - _WEAK), 0, 1).astype(np.float32)
    values = np.asarray(cv2.resize(values, small.size, interpolation=cv2.INTER_LINEAR), np.float32)
    picture = _outlined(_tinted(np.asarray(small), values), row.boxes.values(), small.width / image.width)
    said = "; ".join(f"{mark}: a difference of {at:.0%} (as MDSI sees it)" for mark, at in enumerate((_WEAK, top)))
    return _picture("Map", caption, picture, scale=said)


def _tinted(rgb: RGB, values: NDArray[np.float32]) -> Image.Image:
    """A dimmed grey picture under the colours of a map: the more there is, the stronger and lighter the colour."""
    laid = cv2.applyColorMap(np.rint(values * 255).astype(np.uint8), cv2.COLORMAP_PLASMA)[..., ::-1]
    grey = cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float32)[..., np.newaxis] * 0.45 + 20
    cover = 0.7 * np.minimum(values * 2.5, 1)[..., np.newaxis] ** 0.7
    return Image.fromarray((laid * cover + grey * (1 - cover) + 0.5).astype(np.uint8))


def _small(rgb: RGB) -> Image.Image:
    return Image.fromarray(whole_view(rgb, THUMBNAIL_SIDE, 1))


def _picture(role: str, caption: str, image: Image.Image, scale: str | None = None) -> Picture:
    content = b""
    for quality in _QUALITIES:
        buffer = io.BytesIO()
        image.save(buffer, "WEBP", quality=quality, method=2)
        content = buffer.getvalue()
        if len(content) <= THUMBNAIL_BYTES:
            break
    # Nothing in it needs escaping.
    uri = Markup(f"data:image/webp;base64,{base64.b64encode(content).decode()}")
    return Picture(role, caption, uri, image.width, image.height, scale=scale)


def _outlined(image: Image.Image, boxes: Iterable[Box], scale: float) -> Image.Image:
    """Boxes drawn, black within white to be seen on any picture; a box too small to draw is left out."""
    drawn = image.copy()
    pen = ImageDraw.Draw(drawn)
    for box in boxes:
        left, top, width, height = (side * scale for side in box)
        for inset, colour, thickness in ((0, "white", 3), (1, "black", 1)):
            if min(width, height) > 2 * inset:
                edges = (left + inset, top + inset, left + width - inset, top + height - inset)
                pen.rectangle(edges, outline=colour, width=thickness)
    return drawn


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
