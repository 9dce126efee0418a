"""Mermaid text, SVG and PNG: what is drawn, how loops are labelled, that any name is safe, and no network is used."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageColor

from loopwright.diagram.drawing import png, svg
from loopwright.diagram.flowchart import arrows, caption, mermaid, shown_nodes
from loopwright.engine.loop import Loop, StateLimit
from loopwright.engine.proof.graph import Edge, Topology

START, END = "__start__", "__end__"


def small(*edges: Edge, loops: tuple[Loop, ...] = (), hidden: frozenset[str] = frozenset()) -> Topology:
    names = dict.fromkeys(name for edge in edges for name in (edge.source, edge.target))
    return Topology("small", tuple(n for n in names if n not in (START, END)), edges, loops, hidden)


@pytest.mark.parametrize("source", ["a", "__error_handler__a"])  # a handler asks in its node's name
def test_gates_and_hidden_nodes_are_not_drawn(source: str):
    topology = small(
        Edge(START, "a", "static"),
        Edge("a", "loop.x", "request", "poor"),
        Edge("a", "b", "static"),
        loops=(Loop(name="x", target="a", sources=(source,), limit=1, exhausted="b"),),
        hidden=frozenset({"loop..dispatch"}),
    )
    assert shown_nodes(topology) == (START, "a", "b", END)
    assert {(arrow.source, arrow.target): arrow.label for arrow in arrows(topology)} == {
        (START, "a"): "",
        ("a", "a"): "poor: x, at most 1 pass",
        ("a", "b"): "always, or x bound reached",
    }
    assert "loop" not in mermaid(topology)


@pytest.mark.parametrize(
    ("edge", "line"),
    [
        (Edge("a", "b", "static"), "a[A] --> b[B]"),
        (Edge("a", "b", "join"), "a[A] -->|join| b[B]"),
        (Edge("a", "b", "conditional"), "a[A] -.-> b[B]"),
        (Edge("a", "b", "conditional", "yes"), "a[A] -->|yes| b[B]"),
        (Edge("a", "b", "command", "b"), "a[A] -.-> b[B]"),
        (Edge("a", "b", "assumed"), "a[A] -.->|assumed| b[B]"),
        (Edge("a", "b", "handler"), "a[A] -.->|on error| b[B]"),
    ],
)
def test_each_kind_of_edge(edge: Edge, line: str):
    assert mermaid(small(edge)) == f"graph TD\n    {line}\n"


TEXT = r'(?:[A-Za-z0-9][A-Za-z0-9_, ]*|"(?:[^"#&<>`\\%;{}\[\]|\n]|#\d+;)+")'
MENTION = rf"([A-Za-z]\w*)(?:\(\[({TEXT})\]\)|\[({TEXT})\])?"
LINE = re.compile(rf"    {MENTION}(?: (-->|-\.->)(?:\|({TEXT})\|)? {MENTION})?")
WORDS = {*"end graph flowchart subgraph default style linkstyle classdef class click href call".split()}
NASTY = [
    *WORDS, "END", "START", "a.b", "a b", "a[b]", "a(b)", "a{b}", "a|b", 'a"b', "a`b`", "a#b", "a#quot;b", "a;b", "%%{init: {}}%%", "<b>x</b>",
    "a\\nb", "a\nb", "日本語", "größe", "😀", "1", "1. plan", "- x", "a-->b", "__proto__", "a@{shape: rect}", "   ", "***", "\u2028", "\x07", "v",
]  # fmt: skip


def decoded(text: str) -> str:
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), text.strip('"'))


def flat(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


@given(st.lists(st.one_of(st.sampled_from(NASTY), st.text(max_size=12)), min_size=1, max_size=8, unique=True))
def test_any_name_is_safe_and_shown_as_it_is(names: list[str]):
    names = [name for name in names if name not in (START, END)]
    edges = tuple(Edge(a, b, "conditional", f"{a}!") for a, b in zip((START, *names), (*names, END), strict=True))
    first, *lines = mermaid(Topology("nasty", tuple(names), edges)).splitlines()
    matches = [LINE.fullmatch(line) for line in lines]
    assert first == "graph TD"
    assert None not in matches, lines
    assert len(lines) == len(edges)
    boxes: dict[str, str] = {}
    for match in filter(None, matches):
        for identifier, pill, box in (match.group(1, 2, 3), match.group(6, 7, 8)):
            assert identifier.lower() not in WORDS or identifier == "END"
            if pill or box:
                assert identifier not in boxes
                boxes[identifier] = decoded(pill or box).strip()
    assert list(boxes.values()) == [flat(caption(name)) for name in (START, *names, END)]
    labels = [flat(decoded(match[5])) for match in matches if match and match[5]]
    # A label that only repeats the name of where it leads is left out.
    told = [edge.label or "" for edge in edges if edge.label not in (edge.target, caption(edge.target))]
    assert labels == [flat(label) for label in told]


LOOP = ImageColor.getrgb("#b3450b")

IQA = Topology(
    "iqa",
    ("planner", "executor", "summarizer", "loop.replan"),
    (
        Edge(START, "planner", "static"),
        Edge("planner", "executor", "static"),
        Edge("executor", "summarizer", "static"),
        Edge("executor", END, "handler"),
        Edge("summarizer", END, "conditional"),
        Edge("summarizer", "loop.replan", "request"),
    ),
    (
        Loop(
            name="replan",
            target="planner",
            sources=("summarizer",),
            limit=StateLimit(key="max_replan_iterations", default=2, ceiling=10),
        ),
    ),
)
PLAIN = Topology("plain", IQA.nodes[:3], IQA.edges[:3])


def words(document: str) -> list[str]:
    """The texts of a drawing, in its order."""
    found = (" ".join("".join(element.itertext()).split()) for element in ElementTree.fromstring(document).iter()
             if element.tag.endswith("}p"))  # fmt: skip
    return [text for text in found if text]


ODD = [
    "end", "graph", "a[b](c){d}", 'a"b', "a#b", "a#quot;b", "a;b", "%%{init: {}}%%", "<b onload='x'>&amp;</b>", "a|b", "größe", "日本語", "1. plan",
    "- x", "a-->b", "__proto__", "a@{shape: rect}", "`code`", "*bold*",
]  # fmt: skip


@pytest.mark.slow
def test_any_name_is_drawn_as_text() -> None:
    edges = tuple(Edge(a, b, "conditional", f"{a}!") for a, b in zip((START, *ODD), (*ODD, END), strict=True))
    document = svg(Topology("nasty", tuple(ODD), edges))
    shown = [text.lower() for text in words(document)]
    for name in ODD:
        text = " ".join(name.replace("_", " ").split())
        assert text in shown, (name, shown)
    assert not [item for item in ElementTree.fromstring(document).iter() if item.get("onload")]


@pytest.mark.slow
def test_the_png_has_the_size_of_the_drawing_and_the_loop_in_its_colour() -> None:
    root = ElementTree.fromstring(svg(IQA))
    image = Image.open(io.BytesIO(png(IQA))).convert("RGB")
    assert abs(image.width - float(root.get("width", 0)) * 2) <= 2
    assert abs(image.height - float(root.get("height", 0)) * 2) <= 2
    assert image.getpixel((0, 0)) == (255, 255, 255)
    assert LOOP in {colour for _, colour in image.getcolors(1 << 24) or []}
    plain = Image.open(io.BytesIO(png(PLAIN))).convert("RGB")
    assert LOOP not in {colour for _, colour in plain.getcolors(1 << 24) or []}
