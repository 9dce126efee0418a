"""Where everything in a drawing stands: a layered layout, top down, in pixels at scale 1.

Control flows down, and what goes round again goes up at the right-hand side. The steps are those of K. Sugiyama et al.
("Methods for visual understanding of hierarchical system structures", 1981): make the graph acyclic (a loop's granted
pass is the first arrow to be left out), layer it by longest path, order the rows by barycenters, place the items.

Rows alternate: nodes stand in even rows, labels in odd ones, and an arrow crosses a row upright, in a place of its own.
So no arrow crosses a box and no label covers one; arrows bend in the gaps between rows only.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise

from langgraph.constants import END, START

from loopwright.engine.diagram.flowchart import Arrow, arrows, caption, shown_nodes
from loopwright.engine.diagram.lettering import BOX_FONT, LABEL_FONT, text_height, text_width, wrapped
from loopwright.engine.diagram.ordering import acyclic, breadth_first, layers, order_rows, place_rows, spread
from loopwright.engine.topology import Topology

Point = tuple[float, float]
"""x to the right and y down, in pixels."""

_MARGIN = 24
_GAP = 30
_STUB = 11
_BOX_PADDING = 16
_LABEL_PADDING = 5
_LANE = 22
_SELF_LOOP = 34
_PORT = 14


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle with lines of text in its middle."""

    x: float
    """Left edge, in pixels."""
    y: float
    """Top edge, in pixels."""
    width: float
    """Width, in pixels."""
    height: float
    """Height, in pixels."""
    lines: tuple[str, ...]
    """The text, one entry per line."""

    @property
    def middle(self) -> Point:
        """The centre."""
        return (self.x + self.width / 2, self.y + self.height / 2)


@dataclass(frozen=True, slots=True)
class Curve:
    """The line of one arrow: cubic Bézier segments, end to end, with an arrowhead at the end."""

    arrow: Arrow
    """What is drawn."""
    points: tuple[Point, ...]
    """The start, then for each segment two control points and its end."""
    label: Rect | None
    """The label, None where there is none."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A graph, laid out."""

    width: float
    """Width of the drawing, in pixels."""
    height: float
    """Height of the drawing, in pixels."""
    boxes: dict[str, Rect]
    """The box of each shown node."""
    curves: tuple[Curve, ...]
    """The line of each arrow."""


@dataclass(slots=True)
class _Item:
    """What takes up room in a row: a node, or the place where an arrow crosses the row."""

    row: int
    lines: tuple[str, ...] = ()
    left: float = 3
    right: float = 3
    height: float = 0
    beside: float = 0  # the height of what stands to the right of it
    x: float = 0


@dataclass(slots=True)
class _Route:
    """An arrow and the places that it crosses, from the upper to the lower end."""

    arrow: Arrow
    upward: bool
    places: list[_Item] = field(default_factory=list[_Item])
    upper_x: float = 0
    lower_x: float = 0

    @property
    def ends(self) -> tuple[str, str]:
        """The upper and the lower node."""
        arrow = self.arrow
        return (arrow.target, arrow.source) if self.upward else (arrow.source, arrow.target)


def lay_out(topology: Topology) -> Layout:
    """Place the nodes, arrows and labels of a graph.

    Args:
        topology: The graph. Gates and hidden nodes are not placed.

    Returns:
        The layout; equal graphs have equal layouts.
    """
    found = arrows(topology)
    used = {node for arrow in found for node in (arrow.source, arrow.target)}
    nodes = [node for node in shown_nodes(topology) if node in used or node not in (START, END)]
    between = [arrow for arrow in found if arrow.source != arrow.target]
    found_at = breadth_first(nodes, [(arrow.source, arrow.target) for arrow in between])
    ranked = sorted(between, key=lambda arrow: (arrow.loop, found_at[arrow.source]))
    forward = acyclic([(arrow.source, arrow.target) for arrow in ranked])
    layer = layers(nodes, forward)
    if END in layer:
        layer[END] = max((at for node, at in layer.items() if node != END), default=0) + 1

    items = {node: _node_item(node, 2 * layer[node]) for node in nodes}
    down = [_route(arrow, items) for arrow in between if (arrow.source, arrow.target) in forward]
    up = [_route(arrow, items) for arrow in between if (arrow.source, arrow.target) not in forward]
    itself = {arrow.source: arrow for arrow in found if arrow.source == arrow.target}
    for node, arrow in itself.items():
        lines = wrapped(arrow.label)
        items[node].right += _SELF_LOOP + text_width(lines, LABEL_FONT)
        items[node].beside = text_height(lines, LABEL_FONT)

    _place_across(items, down)
    _place_lanes(items, down, up)
    everything = [*items.values(), *(place for route in (*down, *up) for place in route.places)]
    left = min((item.x - item.left for item in everything), default=0) - _MARGIN
    for item in everything:
        item.x -= left
    rows = _place_down(everything)

    boxes = {node: _box(item, rows) for node, item in items.items()}
    _choose_ends(boxes, down, room=0.2 if up else 0.3, shift=0)
    _choose_ends(boxes, up, room=0.11, shift=0.32)
    curves = [_curve(route, boxes, rows) for route in (*down, *up)]
    curves += [_self_curve(arrow, boxes[node]) for node, arrow in itself.items()]
    width = max((item.x + item.right for item in everything), default=0) + _MARGIN
    return Layout(width, max(map(sum, rows.values()), default=0) + _MARGIN, boxes, tuple(curves))


def _node_item(node: str, row: int) -> _Item:
    lines = wrapped(caption(node))
    half = max(text_width(lines, BOX_FONT) / 2 + _BOX_PADDING, 44)
    return _Item(row, lines, half, half, text_height(lines, BOX_FONT) + _BOX_PADDING)


def _route(arrow: Arrow, items: dict[str, _Item]) -> _Route:
    """Give an arrow a place in every row between its ends; the label stands in the one nearest to the source."""
    first, last = items[arrow.source].row, items[arrow.target].row
    upward = first > last
    rows = range(min(first, last) + 1, max(first, last))
    route = _Route(arrow, upward, [_Item(row) for row in rows])
    if arrow.labels:
        # A lane's label goes half-way up, where nothing leaves the source.
        labelled = route.places[len(rows) // 4 * 2 if upward else 0]
        labelled.lines = wrapped(arrow.label)
        labelled.left = labelled.right = text_width(labelled.lines, LABEL_FONT) / 2 + _LABEL_PADDING
        labelled.height = text_height(labelled.lines, LABEL_FONT) + 2
    return route


def _place_across(items: dict[str, _Item], down: list[_Route]) -> None:
    """Choose x for the nodes and the arrows that lead down."""
    everything = list(items.values())
    number = {node: at for at, node in enumerate(items)}
    chains: list[list[int]] = []
    for route in down:
        first, last = route.ends
        chains.append([number[first], *range(len(everything), len(everything) + len(route.places)), number[last]])
        everything += route.places
    links = [link for chain in chains for link in pairwise(chain)]
    rows = order_rows([item.row for item in everything], links)
    reach = [(item.left + _PORT / 2, item.right + _PORT / 2) for item in everything]
    for item, x in zip(everything, place_rows(rows, reach, links, [chain[1:-1] for chain in chains]), strict=True):
        item.x = x


def _place_lanes(items: dict[str, _Item], down: list[_Route], up: list[_Route]) -> None:
    """Put each arrow that leads up in a straight lane to the right of everything in its rows, short lanes inside."""
    edge: dict[int, float] = defaultdict(lambda: -1e9)
    for item in (*items.values(), *(place for route in down for place in route.places)):
        edge[item.row] = max(edge[item.row], item.x + item.right)
    for route in sorted(up, key=lambda route: len(route.places)):
        least = max(items[node].x + items[node].left for node in route.ends)
        x = max([least, *(edge[place.row] + _LANE + place.left for place in route.places)])
        for place in route.places:
            place.x = x
            edge[place.row] = x + place.right


def _place_down(items: list[_Item]) -> dict[int, tuple[float, float]]:
    """Return the top and the height of each row."""
    heights: dict[int, float] = defaultdict(float)
    for item in items:
        heights[item.row] = max(heights[item.row], item.height, item.beside)
    rows: dict[int, tuple[float, float]] = {}
    y = float(_MARGIN)
    for row in range(max(heights, default=0) + 1):
        rows[row] = (y, heights[row])
        y += heights[row] + _GAP
    return rows


def _box(item: _Item, rows: dict[int, tuple[float, float]]) -> Rect:
    top, height = rows[item.row]
    half = item.left
    return Rect(item.x - half, top + (height - item.height) / 2, 2 * half, item.height, item.lines)


def _choose_ends(boxes: dict[str, Rect], routes: list[_Route], *, room: float, shift: float) -> None:
    """Choose where along its box each arrow starts and ends: straight above or below its next place if there is room.

    Args:
        boxes: The boxes.
        routes: The arrows that share one part of a box's edge.
        room: Half the length of that part, in widths of the box.
        shift: Where its middle is, in widths of the box from the box's middle.
    """
    meeting: dict[tuple[str, bool], list[_Route]] = defaultdict(list)
    for route in routes:
        for node, below in zip(route.ends, (True, False), strict=True):
            meeting[node, below].append(route)
    for (node, below), group in meeting.items():
        box = boxes[node]
        group.sort(key=lambda route: route.places[0 if below else -1].x)
        middle, half = box.middle[0] + shift * box.width, room * box.width
        step = min(_PORT, 2 * half / len(group))
        half -= step * (len(group) - 1) / 2
        wishes = [min(max(route.places[0 if below else -1].x, middle - half), middle + half) for route in group]
        for route, x in zip(group, spread(wishes, [1.0] * len(group), [0, *[step] * (len(group) - 1)]), strict=True):
            if below:
                route.upper_x = x
            else:
                route.lower_x = x


def _curve(route: _Route, boxes: dict[str, Rect], rows: dict[int, tuple[float, float]]) -> Curve:
    """Draw an arrow from place to place: upright within a row, an S in the gap between two rows."""
    above, below = (boxes[node] for node in route.ends)
    first, last = rows[route.places[0].row - 1], rows[route.places[-1].row + 1]
    points: list[Point] = [(route.upper_x, above.y + above.height)]
    _bend(points, (route.upper_x, sum(first) + _STUB))
    label = None
    for place in route.places:
        top, height = rows[place.row]
        if height or route.upward:
            _bend(points, (place.x, top))
            _bend(points, (place.x, top + height))
        if place.lines:
            y = top + (height - place.height) / 2
            label = Rect(place.x - place.left, y, place.left + place.right, place.height, place.lines)
    _bend(points, (route.lower_x, last[0] - _STUB))
    _bend(points, (route.lower_x, below.y))
    return Curve(route.arrow, tuple(reversed(points) if route.upward else points), label)


def _bend(points: list[Point], end: Point) -> None:
    start = points[-1]
    if start == end:
        return
    half = (start[1] + end[1]) / 2
    points += [(start[0], half), (end[0], half), end]


def _self_curve(arrow: Arrow, box: Rect) -> Curve:
    """Draw an arrow from a node to itself, at the right of its box."""
    right, middle = box.x + box.width, box.middle[1]
    up, down, out = middle - box.height / 4, middle + box.height / 4, right + _SELF_LOOP * 0.8
    points = ((right, down), (out, down + 6), (out, up - 6), (right, up))
    lines = wrapped(arrow.label)
    label = None
    if lines:
        height = text_height(lines, LABEL_FONT) + 2
        label = Rect(right + _SELF_LOOP, middle - height / 2, text_width(lines, LABEL_FONT), height, lines)
    return Curve(arrow, points, label)
