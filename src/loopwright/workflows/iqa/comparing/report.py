"""A comparison as one HTML file that opens anywhere, offline.

The page holds everything that it shows. It has no script and loads nothing, and its content security policy would allow
neither. All text is escaped where it is put in.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar, cast

import cv2
import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from loopwright.errors import ImageError
from loopwright.workflows.iqa.comparing.results import CurvePair, CurvePoint, FolderComparison, ImageComparison, Pairing
from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.report.pictures import Picture, data_uri
from loopwright.workflows.iqa.schemas import Box
from loopwright.workflows.iqa.sources.images import MAX_PIXELS, RGB, LoadedImage, load_image
from loopwright.workflows.pages import policy_hash, write_page

WIDTH, HEIGHT = 360, 260
"""Of a chart, in units of its view box."""

_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 10, 10, 36
_MOST_POINTS = 2000
"""Points of a scatter; of more, evenly chosen ones are drawn."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis."""

    at: float
    """Its place along the axis."""
    text: str
    """What it says."""


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one kind."""

    kind: str
    """Class of their colour: "a", "b" or "pair"."""
    points: list[tuple[float, float, str]]
    """Place and what it is."""
    line: bool
    """Whether they are joined."""

    @property
    def path(self) -> str:
        """The line through the points, as SVG's ``points``."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in self.points)


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart."""

    title: str
    """What it shows."""
    note: str
    """What came of it, or nothing."""
    x_label: str
    """The horizontal axis."""
    y_label: str
    """The vertical axis."""
    x_ticks: list[Tick]
    """Marks on it."""
    y_ticks: list[Tick]
    """Marks on the vertical axis."""
    series: list[Series]
    """What is drawn."""
    diagonal: tuple[float, float, float, float] | None = None
    """The line of equal values, from x, y to x, y."""
    left: float = _LEFT
    """Where the plot begins."""
    right: float = WIDTH - _RIGHT
    """Where it ends."""
    top: float = _TOP
    """Its upper edge."""
    bottom: float = HEIGHT - _BOTTOM
    """Its lower edge."""


@dataclass(frozen=True, slots=True)
class _Axis:
    """Maps values to places."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def scatter(pairs: Sequence[Pairing], scores: Sequence[tuple[float, float]], tool: str) -> Chart:
    """The scores of B over those of A, one point for each pair.

    Args:
        pairs: At least one pair.
        scores: Score of A and of B of each.
        tool: Whose scores they are.
    """
    step = math.ceil(len(pairs) / _MOST_POINTS)
    values = [value for both in scores for value in both]
    ticks = _quality_ticks(values)
    x = _Axis(ticks[0], ticks[-1], _LEFT, WIDTH - _RIGHT)
    y = _Axis(ticks[0], ticks[-1], HEIGHT - _BOTTOM, _TOP)
    points = [
        (x.at(a), y.at(b), f"{pair.name}: A {a:.2f}, B {b:.2f}")
        for pair, (a, b) in list(zip(pairs, scores, strict=True))[::step]
    ]
    return Chart(
        title=f"{tool}: B over A, above the line B is better",
        note="",
        x_label=f"{tool} score of A",
        y_label="score of B",
        x_ticks=[Tick(x.at(value), f"{value:g}") for value in ticks],
        y_ticks=[Tick(y.at(value), f"{value:g}") for value in ticks],
        series=[Series("pair", points, line=False)],
        diagonal=(x.start, y.start, x.end, y.end),
    )


def rate_chart(curve: CurvePair) -> Chart | None:
    """Quality over rate of one reference, the rate by its logarithm.

    Args:
        curve: The curves; None is returned if either has no points.
    """
    if not curve.a or not curve.b:
        return None
    points = [*curve.a, *curve.b]
    ticks = _quality_ticks([point.score for point in points])
    rates = [point.bits_per_pixel for point in points]
    x_ticks = _rate_ticks(min(rates), max(rates))
    x = _Axis(math.log(x_ticks[0]), math.log(x_ticks[-1]), _LEFT, WIDTH - _RIGHT)
    y = _Axis(ticks[0], ticks[-1], HEIGHT - _BOTTOM, _TOP)

    def places(of: Sequence[CurvePoint]) -> list[tuple[float, float, str]]:
        return [
            (
                x.at(math.log(item.bits_per_pixel)),
                y.at(item.score),
                f"{item.path}: {item.score:.2f} at {item.bits_per_pixel:.3f} bits per pixel",
            )
            for item in of
        ]

    note = curve.problem or ("" if curve.bd_rate is None else f"BD-rate {curve.bd_rate:+.1%}")
    return Chart(
        title=curve.reference,
        note=note,
        x_label="bits per pixel",
        y_label=f"{curve.tool} score",
        x_ticks=[Tick(x.at(math.log(value)), f"{value:g}") for value in x_ticks],
        y_ticks=[Tick(y.at(value), f"{value:g}") for value in ticks],
        series=[Series("a", places(curve.a), line=True), Series("b", places(curve.b), line=True)],
    )


def _quality_ticks(values: Sequence[float]) -> list[float]:
    """Round numbers around some scores, at least two."""
    spread = max(values) - min(values)
    step = next((step for step in (0.1, 0.25, 0.5) if spread <= 5 * step), 1.0)
    low = math.floor(min(values) / step)
    high = max(low + 1, math.ceil(max(values) / step))
    return [round(number * step, 2) for number in range(low, high + 1)]


def _rate_ticks(low: float, high: float) -> list[float]:
    """Powers of two around a range of rates, at least two."""
    first = math.floor(math.log2(low))
    last = max(first + 1, math.ceil(math.log2(high)))
    return [round(2.0**power, 6) for power in range(first, last + 1)]


SHOWN_PAIRS = 6
"""Pairs with pictures in each direction: where B loses most, and where A does."""

SHOWN_CURVES = 48
"""Charts of curves, the largest BD-rates in either direction first."""

SIDE = 256
"""The longer side of a picture, in pixels."""

SHOWN_LEFT_OUT = 200
"""Left-out files that are named; the JSON names them all."""

_PACKAGE = "loopwright.workflows.iqa.comparing"

T = TypeVar("T")


def write_comparison_report(
    result: ImageComparison | FolderComparison, path: Path, *, max_pixels: int = MAX_PIXELS
) -> Path:
    """Write a comparison as one self-contained HTML file.

    Args:
        result: What was compared; its images are read again for the pictures.
        path: The file to write; its folder is made, and an older file is replaced.
        max_pixels: The largest image that is decoded.

    Returns:
        The path, as given.

    Raises:
        OSError: If the file cannot be written.
    """
    style = files(_PACKAGE).joinpath("templates", "compare.css").read_text("utf-8")
    shown = _image_rows(result) if isinstance(result, ImageComparison) else _folder_rows(result)
    pieces = _environment().get_template("compare.html.j2").generate(
        result=result,
        style=Markup(style),
        style_hash=policy_hash(style),
        charts=[] if isinstance(result, ImageComparison) else _charts(result),
        size=(WIDTH, HEIGHT),
        rows=((row, *_pictures(row, max_pixels)) for row in shown),
        left_out_shown=SHOWN_LEFT_OUT,
        made=datetime.now(UTC),
    )  # fmt: skip
    return write_page(path, pieces)


@dataclass(frozen=True, slots=True)
class Row:
    """Two images with pictures."""

    name: str
    """What the row is called."""
    a: Path
    """The image of A."""
    b: Path
    """The image of B."""
    reference: Path | None
    """The reference."""
    said: tuple[str, str]
    """What is said of A and of B."""


def _image_rows(result: ImageComparison) -> Iterator[Row]:
    a, b = result.a, result.b
    said = [f"{side.image.bytes:,} bytes, {side.bits_per_pixel:.2f} bits per pixel" for side in (a, b)]
    reference = None if a.image.reference is None else Path(a.image.reference)
    yield Row("A and B", Path(a.image.path), Path(b.image.path), reference, (said[0], said[1]))


def _folder_rows(result: FolderComparison) -> Iterator[Row]:
    """The pairs that differ most; of curves, images of one reference that weigh about the same."""
    if result.by_curves:
        primary = next(item.tool for item in result.codecs if item.bd_rate is not None)
        curves = [curve for curve in result.curves if curve.tool == primary and curve.bd_rate is not None]
        curves.sort(key=lambda curve: -(curve.bd_rate or 0))
        for curve in _both_ends(curves):
            yield _row_of_curve(curve, result)
        return
    if not result.tools:
        return
    primary = result.tools[0].tool
    pairs = [pair for pair in result.pairs if primary in pair.differences]
    pairs.sort(key=lambda pair: pair.differences[primary])
    images = {("A", item.path): item for item in result.images_a} | {("B", item.path): item for item in result.images_b}
    for pair in _both_ends(pairs):
        of_a, of_b = images["A", pair.a], images["B", pair.b]
        said = [
            f"{primary} {item.scores[primary]:.2f} at {item.bits_per_pixel:.3f} bits per pixel" for item in (of_a, of_b)
        ]
        reference = None if pair.reference is None else Path(result.references or "") / pair.reference
        yield Row(pair.name, Path(result.a) / pair.a, Path(result.b) / pair.b, reference, (said[0], said[1]))


def _both_ends(ordered: Sequence[T]) -> list[T]:
    return list(ordered) if len(ordered) <= 2 * SHOWN_PAIRS else [*ordered[:SHOWN_PAIRS], *ordered[-SHOWN_PAIRS:]]


def _row_of_curve(curve: CurvePair, result: FolderComparison) -> Row:
    def distance(places: tuple[int, int]) -> float:
        rates = curve.a[places[0]].bits_per_pixel, curve.b[places[1]].bits_per_pixel
        return max(rates) / min(rates)

    # The highest rates of either are left out if they can be: there both look alike.
    lower = range((len(curve.a) + 1) // 2), range((len(curve.b) + 1) // 2)
    at_a, at_b = min(((i, j) for i in lower[0] for j in lower[1]), key=distance)
    a, b = curve.a[at_a], curve.b[at_b]
    said = [f"{curve.tool} {point.score:.2f} at {point.bits_per_pixel:.3f} bits per pixel" for point in (a, b)]
    name = f"{curve.reference}: BD-rate {curve.bd_rate:+.1%}"
    reference = Path(result.references or "") / curve.reference
    return Row(name, Path(result.a) / a.path, Path(result.b) / b.path, reference, (said[0], said[1]))


def _charts(result: FolderComparison) -> list[Chart]:
    if result.codecs:
        primary = next((item.tool for item in result.codecs if item.bd_rate is not None), result.codecs[0].tool)
        curves = [curve for curve in result.curves if curve.tool == primary]
        curves.sort(key=lambda curve: -abs(curve.bd_rate or 0))
        chosen = sorted(curves[:SHOWN_CURVES], key=lambda curve: curve.reference)
        return [chart for curve in chosen if (chart := rate_chart(curve))]
    if not result.tools:
        return []
    primary = result.tools[0].tool
    scores_a = {item.path: item.scores.get(primary) for item in result.images_a}
    scores_b = {item.path: item.scores.get(primary) for item in result.images_b}
    scored: list[tuple[Pairing, tuple[float, float]]] = []
    for pair in result.pairs:
        score_a, score_b = scores_a[pair.a], scores_b[pair.b]
        if score_a is not None and score_b is not None:
            scored.append((pair, (score_a, score_b)))
    return [scatter([pair for pair, _ in scored], [scores for _, scores in scored], primary)]


def _pictures(row: Row, max_pixels: int) -> tuple[list[Picture], Box | None]:
    """A, B and the reference, and the part of them that is shown.

    Images of one size are cropped, not scaled, to where A and B differ most, since scaling hides what codecs do; they
    are kept without loss for the same reason.
    """
    loaded: list[LoadedImage | str] = []
    for path in (row.a, row.b, *([] if row.reference is None else [row.reference])):
        try:
            loaded.append(load_image(path, max_pixels=max_pixels))
        except ImageError as error:
            loaded.append(str(error))
    captions = (("A", row.said[0]), ("B", row.said[1]), ("Reference", ""))
    images = [item for item in loaded if not isinstance(item, str)]
    if len(images) < len(loaded) or len({image.rgb.shape for image in images}) > 1:
        return [_scaled(item, *caption) for item, caption in zip(loaded, captions, strict=False)], None
    box = left, top, width, height = _where_they_differ(images)
    parts = [image.rgb[top : top + height, left : left + width] for image in images]
    return [_encoded(part, *caption) for part, caption in zip(parts, captions, strict=False)], box


def _where_they_differ(images: Sequence[LoadedImage]) -> Box:
    """The window with the largest mean absolute difference of the first two."""
    first, second = images[0].rgb, images[1].rgb
    width, height = min(SIDE, images[0].width), min(SIDE, images[0].height)
    sums = cv2.integral(np.asarray(cv2.absdiff(first, second).max(axis=2)))
    window = sums[height:, width:] - sums[:-height, width:] - sums[height:, :-width] + sums[:-height, :-width]
    top, left = np.unravel_index(int(window.argmax()), window.shape)
    return int(left), int(top), width, height


def _scaled(image: LoadedImage | str, role: str, said: str) -> Picture:
    if isinstance(image, str):
        return Picture(role, said, problem=image)
    picture = Image.fromarray(image.rgb)
    picture.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    return _encoded(np.asarray(picture), role, said)


def _encoded(rgb: RGB, role: str, said: str) -> Picture:
    buffer = io.BytesIO()
    Image.fromarray(rgb).save(buffer, "WEBP", lossless=True)
    return Picture(role, said, data_uri("image/webp", buffer.getvalue()), rgb.shape[1], rgb.shape[0])


def _number(value: float | None, form: str = ".2f") -> str:
    return "–" if value is None else format(value, form).replace("-", "−")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader(_PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    filters = cast("dict[str, Any]", environment.filters)
    filters.update(number=_number, in_words=in_words)
    return environment
