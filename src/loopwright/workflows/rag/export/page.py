"""A neighbourhood as one HTML file: a drawing to move about in, and everything as lists below.

The file loads nothing, and its content security policy allows no style and no script but its own. All text is escaped
where it is put in. Without JavaScript the drawing stands still, and its nodes lead to their entries in the lists.
"""

from __future__ import annotations

import html
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from loopwright.workflows.pages import policy_hash, write_page
from loopwright.workflows.rag.export.layout import positions
from loopwright.workflows.rag.export.neighbourhood import Edge, Neighbourhood, Node

_PACKAGE = "loopwright.workflows.rag.export"
_LABEL = 26
_RELATION = 24
_CHARACTER = 7.4
_HEIGHT = 32.0
_SMALL_CHARACTER = 6.4
_SMALL_HEIGHT = 15.0
_ABOVE = 9.0
_PLACES = (0.5, 0.42, 0.58, 0.35, 0.65, 0.28, 0.72, 0.2, 0.8)
_WIDE_FROM = "\u1100"
_MARGIN = 40.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node as it is drawn."""

    number: int
    """Its place among the nodes, from 0."""
    node: Node
    """The node."""
    label: str
    """What stands in the box."""
    x: float
    """Its centre, in pixels from the left."""
    y: float
    """Its centre, in pixels from the top."""
    width: float
    """In pixels."""
    height: float
    """In pixels."""
    facts: tuple[int, ...]
    """The facts about an entity, or that a passage states, by their places among all facts."""
    linked: tuple[int, ...]
    """The nodes that a mention links to it."""


@dataclass(frozen=True, slots=True)
class Line:
    """What is drawn between two nodes: a mention, or all facts about the two."""

    source: int
    """The node where it begins."""
    target: int
    """The node where it ends."""
    kind: str
    """``mention`` or ``fact``."""
    label: str
    """What the facts say, shortened; empty for a mention."""
    facts: tuple[int, ...]
    """The facts' places among all facts."""
    directed: bool
    """Whether all facts lead from source to target."""
    at: float = 0.5
    """Where on the way from source to target the label stands, from 0 to 1."""


def save_html(neighbourhood: Neighbourhood, path: Path, *, title: str) -> Path:
    """Write a neighbourhood as one self-contained HTML file.

    Args:
        neighbourhood: What to show.
        path: The file to write; its folder is made, and an older file is replaced.
        title: The page's heading.

    Returns:
        The path, as given.

    Raises:
        OSError: If the file cannot be written.
    """
    boxes = _boxes(neighbourhood)
    lines = _with_room(_lines(neighbourhood), boxes)
    style, script = (_resource(name) for name in ("neighbourhood.css", "neighbourhood.js"))
    page = _environment().get_template("neighbourhood.html.j2").render(
        title=title,
        style=Markup(style),
        style_hash=policy_hash(style),
        script=Markup(script),
        script_hash=policy_hash(script),
        boxes=boxes,
        lines=lines,
        facts=_facts(neighbourhood),
        numbers={box.node.id: box.number for box in boxes},
        view=_view(boxes),
        left_out=neighbourhood.left_out,
        made=datetime.now(UTC),
    )  # fmt: skip
    return write_page(path, [page])


def _boxes(neighbourhood: Neighbourhood) -> list[Box]:
    numbers = {node.id: number for number, node in enumerate(neighbourhood.nodes)}
    linked: defaultdict[str, list[int]] = defaultdict(list)
    for edge in neighbourhood.edges:
        if edge.kind == "mention":
            linked[edge.source].append(numbers[edge.target])
            linked[edge.target].append(numbers[edge.source])
    facts: defaultdict[str, list[int]] = defaultdict(list)
    for place, fact in enumerate(_facts(neighbourhood)):
        for node in dict.fromkeys((fact.source, fact.target, fact.passage)):
            facts[node].append(place)
    labels = [_label(node) for node in neighbourhood.nodes]
    sizes = [(_width(label), _HEIGHT) for label in labels]
    centres = positions(sizes, [(numbers[edge.source], numbers[edge.target]) for edge in neighbourhood.edges])
    return [
        Box(
            number=number,
            node=node,
            label=labels[number],
            x=float(x),
            y=float(y),
            width=sizes[number][0],
            height=sizes[number][1],
            facts=tuple(facts[node.id]),
            linked=tuple(linked[node.id]),
        )
        for number, (node, (x, y)) in enumerate(zip(neighbourhood.nodes, centres, strict=True))
    ]


def _facts(neighbourhood: Neighbourhood) -> list[Edge]:
    return [edge for edge in neighbourhood.edges if edge.kind == "fact"]


def _lines(neighbourhood: Neighbourhood) -> list[Line]:
    numbers = {node.id: number for number, node in enumerate(neighbourhood.nodes)}
    lines = [
        Line(numbers[edge.source], numbers[edge.target], "mention", "", (), True)
        for edge in neighbourhood.edges
        if edge.kind == "mention"
    ]
    together: defaultdict[tuple[str, ...], list[tuple[int, Edge]]] = defaultdict(list)
    for place, fact in enumerate(_facts(neighbourhood)):
        if fact.source != fact.target:
            together[tuple(sorted((fact.source, fact.target)))].append((place, fact))
    for members in together.values():
        first = members[0][1]
        said = list(dict.fromkeys(fact.relation for _, fact in members))
        more = f" +{len(said) - 1}" if len(said) > 1 else ""
        lines.append(
            Line(
                source=numbers[first.source],
                target=numbers[first.target],
                kind="fact",
                label=_shortened(said[0], _RELATION) + more,
                facts=tuple(place for place, _ in members),
                directed=all(fact.source == first.source for _, fact in members),
            )
        )
    return lines


def _with_room(lines: Sequence[Line], boxes: Sequence[Box]) -> list[Line]:
    """Move the labels along their lines to where they cover the least of boxes and of each other."""
    taken = [(box.x, box.y, box.width, box.height) for box in boxes]
    placed: list[Line] = []
    for line in lines:
        if line.label:
            a, b = boxes[line.source], boxes[line.target]
            width = _SMALL_CHARACTER * len(line.label)
            options = [
                (at, (a.x + at * (b.x - a.x), a.y + at * (b.y - a.y) - _ABOVE, width, _SMALL_HEIGHT)) for at in _PLACES
            ]
            at, spot = min(options, key=lambda option: sum(_overlap(option[1], other) for other in taken))
            taken.append(spot)
            line = replace(line, at=at)
        placed.append(line)
    return placed


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> float:
    """The area that two boxes share; each is the centre, the width and the height."""
    wide = (one[2] + other[2]) / 2 - abs(one[0] - other[0])
    high = (one[3] + other[3]) / 2 - abs(one[1] - other[1])
    return max(0.0, wide) * max(0.0, high)


def _label(node: Node) -> str:
    cited = "".join(f"[{number}]" for number in node.citations)
    # Some data sets keep the titles of web pages as they were written: "Bank &amp; Trust".
    return f"{_shortened(html.unescape(node.label), _LABEL)} {cited}".strip()


def _shortened(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _width(label: str) -> float:
    # Characters from Hangul on are about twice as wide as Latin ones.
    return 22 + _CHARACTER * sum(2 if character >= _WIDE_FROM else 1 for character in label)


def _view(boxes: Sequence[Box]) -> tuple[float, float, float, float]:
    """Left, top, width and height of all boxes with a margin."""
    left = min((box.x - box.width / 2 for box in boxes), default=0.0) - _MARGIN
    top = min((box.y - box.height / 2 for box in boxes), default=0.0) - _MARGIN
    right = max((box.x + box.width / 2 for box in boxes), default=0.0) + _MARGIN
    bottom = max((box.y + box.height / 2 for box in boxes), default=0.0) + _MARGIN
    return left, top, right - left, bottom - top


def _resource(name: str) -> str:
    return files(_PACKAGE).joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    options: dict[str, Any] = {"undefined": StrictUndefined, "trim_blocks": True, "lstrip_blocks": True}
    return Environment(loader=PackageLoader(_PACKAGE), autoescape=True, **options)
