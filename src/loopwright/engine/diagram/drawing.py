"""A graph as a picture: SVG text or PNG bytes, without a network and without a browser.

Both show the same layout (`loopwright.engine.diagram.layout`) as the same list of primitives, drawn by two small back
ends.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

from langgraph.constants import END, START

from loopwright.engine.diagram.layout import Curve, Layout, Point, Rect, lay_out
from loopwright.engine.diagram.lettering import BOX_FONT, LABEL_FONT, LINE_HEIGHT
from loopwright.engine.topology import Topology
from loopwright.errors import InputError, LoopwrightError

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

LIGHT = {
    "page": "#ffffff",
    "text": "#1b2330",
    "box": "#eef3fb",
    "box-edge": "#4a6fa5",
    "pill": "#e6e9ee",
    "pill-edge": "#5b6675",
    "line": "#5b6675",
    "label": "#3c4654",
    "loop": "#b3450b",
    "loop-label": "#9a3a08",
}
"""The colours, by what they are for; a PNG is always light."""
DARK = {
    "page": "#12161c",
    "text": "#e8edf4",
    "box": "#1d2b40",
    "box-edge": "#6f9bd8",
    "pill": "#2a3039",
    "pill-edge": "#97a3b3",
    "line": "#97a3b3",
    "label": "#c4ccd8",
    "loop": "#ff9d5c",
    "loop-label": "#ffb27d",
}
"""The same for an SVG that is seen where dark colours are preferred."""

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
_HEAD = (10.0, 4.0)
_DASH = (5.0, 4.0)
_STEPS = 16
_OVERSAMPLING = 2
_MAX_PIXELS = 100_000_000
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Area:
    """A filled rectangle with round corners."""

    rect: Rect
    radius: float
    fill: str
    edge: str | None = None


@dataclass(frozen=True, slots=True)
class _Line:
    """Cubic Bézier segments, end to end."""

    points: Sequence[Point]
    colour: str
    width: float
    dashed: bool


@dataclass(frozen=True, slots=True)
class _Head:
    """An arrowhead: a filled triangle."""

    points: Sequence[Point]
    colour: str


@dataclass(frozen=True, slots=True)
class _Text:
    """One line of text around a point."""

    middle: Point
    text: str
    size: float
    colour: str


_Primitive = _Area | _Line | _Head | _Text


def svg(topology: Topology) -> str:
    """Draw a graph as SVG.

    Args:
        topology: The graph. Loops are drawn as labelled arrows; gates and hidden nodes are not shown.

    Returns:
        A complete SVG document that refers to nothing outside itself and follows the reader's choice of light or dark.
    """
    layout = lay_out(topology)
    width, height = math.ceil(layout.width), math.ceil(layout.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label={quoteattr(_xml_text(topology.name))} font-family="{_FONTS}" text-anchor="middle">',
        f"<title>{escape(_xml_text(topology.name))}</title>",
        f"<style>{_css(LIGHT)}@media (prefers-color-scheme: dark){{{_css(DARK)}}}</style>",
        *(_svg_element(primitive) for primitive in _primitives(layout)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def png(topology: Topology, *, scale: float = 2) -> bytes:
    """Draw a graph as PNG, in light colours.

    Pillow's own font has Latin letters only; use `svg` for names in other scripts.

    Args:
        topology: The graph. Loops are drawn as labelled arrows; gates and hidden nodes are not shown.
        scale: Pixels of the picture for each pixel of the layout; made smaller where the picture would be huge.

    Returns:
        The bytes of a PNG file.

    Raises:
        InputError: The scale is not a positive number.
        LoopwrightError: Pillow is not installed.
    """
    if not (scale > 0 and math.isfinite(scale)):
        raise InputError(f"scale is {scale!r}; it must be a positive number, for example 2.")
    try:
        from PIL import Image, ImageDraw
    except ImportError as error:
        raise LoopwrightError(
            "a PNG needs Pillow, which is not installed: pip install 'loopwright[iqa]'. An SVG needs nothing more."
        ) from error
    layout = lay_out(topology)
    area = layout.width * layout.height * _OVERSAMPLING**2
    zoom = min(scale, math.sqrt(_MAX_PIXELS / area)) * _OVERSAMPLING
    size = (math.ceil(layout.width * zoom), math.ceil(layout.height * zoom))
    image = Image.new("RGB", size, LIGHT["page"])
    pen = _Pen(ImageDraw.Draw(image), zoom)
    for primitive in _primitives(layout):
        pen.draw(primitive)
    file = io.BytesIO()
    image.reduce(_OVERSAMPLING).save(file, "PNG", optimize=True)
    return file.getvalue()


def _primitives(layout: Layout) -> Iterator[_Primitive]:
    """List what to draw, the hindmost first."""
    yield _Area(Rect(0, 0, layout.width + 1, layout.height + 1, ()), 0, "page")
    for curve in sorted(layout.curves, key=lambda curve: curve.arrow.loop):
        yield from _arrow(curve)
    for curve in layout.curves:
        if curve.label:
            yield _Area(curve.label, 3, "page")
            yield from _lines(curve.label, LABEL_FONT, "loop-label" if curve.arrow.loop else "label")
    for node, box in layout.boxes.items():
        pill = node in (START, END)
        kind = "pill" if pill else "box"
        yield _Area(box, box.height / 2 if pill else 7, kind, f"{kind}-edge")
        yield from _lines(box, BOX_FONT, "text")


def _arrow(curve: Curve) -> Iterator[_Primitive]:
    colour = "loop" if curve.arrow.loop else "line"
    (from_x, from_y), (x, y) = curve.points[-2:]
    distance = math.hypot(x - from_x, y - from_y) or 1
    along = ((x - from_x) / distance, (y - from_y) / distance)
    length, half = _HEAD
    base = (x - along[0] * length, y - along[1] * length)
    line = (*curve.points[:-1], (x - along[0] * length / 2, y - along[1] * length / 2))
    yield _Line(line, colour, 1.8 if curve.arrow.loop else 1.4, curve.arrow.dotted)
    sides = [(base[0] - along[1] * side, base[1] + along[0] * side) for side in (half, -half)]
    yield _Head([(x, y), *sides], colour)


def _lines(rect: Rect, size: float, colour: str) -> Iterator[_Primitive]:
    x, y = rect.middle
    top = y - (len(rect.lines) - 1) / 2 * size * LINE_HEIGHT
    for number, line in enumerate(rect.lines):
        yield _Text((x, top + number * size * LINE_HEIGHT), line, size, colour)


def _css(colours: dict[str, str]) -> str:
    return "".join(f".f-{name}{{fill:{colour}}}.s-{name}{{stroke:{colour}}}" for name, colour in colours.items())


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)


def _svg_element(primitive: _Primitive) -> str:
    match primitive:
        case _Area(rect, radius, fill, edge):
            stroke = f" s-{edge}" if edge else ""
            return (
                f'<rect class="f-{fill}{stroke}" x="{rect.x:.1f}" y="{rect.y:.1f}" width="{rect.width:.1f}"'
                f' height="{rect.height:.1f}" rx="{radius:g}"/>'
            )
        case _Line(points, colour, width, dashed):
            start, *rest = (f"{x:.1f} {y:.1f}" for x, y in points)
            dash = f' stroke-dasharray="{_DASH[0]:g} {_DASH[1]:g}"' if dashed else ""
            path = f"M{start}C{' '.join(rest)}"
            return f'<path class="s-{colour}" d="{path}" fill="none" stroke-width="{width:g}"{dash}/>'
        case _Head(points, colour):
            corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
            return f'<polygon class="f-{colour}" points="{corners}"/>'
        case _Text((x, y), text, size, colour):
            place = f'x="{x:.1f}" y="{y + size * 0.35:.1f}" font-size="{size:g}"'
            return f'<text class="f-{colour}" {place}>{escape(_xml_text(text))}</text>'


class _Pen:
    """Draws primitives with Pillow."""

    def __init__(self, draw: ImageDraw.ImageDraw, zoom: float) -> None:
        self._draw = draw
        self._zoom = zoom

    def draw(self, primitive: _Primitive) -> None:
        zoom = self._zoom
        match primitive:
            case _Area(rect, radius, fill, edge):
                box = [value * zoom for value in (rect.x, rect.y, rect.x + rect.width, rect.y + rect.height)]
                outline = LIGHT[edge] if edge else None
                self._draw.rounded_rectangle(box, radius * zoom, LIGHT[fill], outline, max(1, round(zoom)))
            case _Line(points, colour, width, dashed):
                path = [(x * zoom, y * zoom) for x, y in _flattened(points)]
                for piece in _dashes(path, [length * zoom for length in _DASH]) if dashed else [path]:
                    self._draw.line(piece, LIGHT[colour], max(1, round(width * zoom)), joint="curve")
            case _Head(points, colour):
                self._draw.polygon([(x * zoom, y * zoom) for x, y in points], LIGHT[colour])
            case _Text((x, y), text, size, colour):
                self._draw.text((x * zoom, y * zoom), text, LIGHT[colour], _font(size * zoom), anchor="mm")


@cache
def _font(size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _flattened(points: Sequence[Point]) -> list[Point]:
    """Replace each Bézier segment by short straight lines."""
    flat = [points[0]]
    for index in range(0, len(points) - 1, 3):
        (ax, ay), (bx, by), (cx, cy), (dx, dy) = points[index : index + 4]
        for step in range(1, _STEPS + 1):
            t = step / _STEPS
            a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3
            flat.append((a * ax + b * bx + c * cx + d * dx, a * ay + b * by + c * cy + d * dy))
    return flat


def _dashes(path: Sequence[Point], pattern: Sequence[float]) -> Iterator[list[Point]]:
    """Cut a line into the drawn pieces of a dash pattern: drawn, left out, drawn, ..."""
    piece, drawn, left = [path[0]], True, pattern[0]
    for (x, y), (next_x, next_y) in pairwise(path):
        length = math.hypot(next_x - x, next_y - y)
        done = 0.0
        while length - done > left:
            done += left
            cut = (x + (next_x - x) * done / length, y + (next_y - y) * done / length)
            if drawn:
                yield [*piece, cut]
            drawn = not drawn
            piece, left = [cut], pattern[0 if drawn else 1]
        left -= length - done
        piece.append((next_x, next_y))
    if drawn:
        yield piece
