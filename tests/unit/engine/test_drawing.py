"""SVG and PNG: every node, label and limit is in the picture, it refers to nothing outside, and no network is used."""

from __future__ import annotations

import io
from xml.etree import ElementTree

import pytest
from PIL import Image, ImageColor

from loopwright.diagram.drawing import png, svg
from loopwright.engine.loop import Loop, StateLimit
from loopwright.engine.proof.graph import Edge, Topology

START, END = "__start__", "__end__"
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


NASTY = [
    "end", "graph", "a[b](c){d}", 'a"b', "a#b", "a#quot;b", "a;b", "%%{init: {}}%%", "<b onload='x'>&amp;</b>", "a|b", "größe", "日本語", "1. plan",
    "- x", "a-->b", "__proto__", "a@{shape: rect}", "`code`", "*bold*",
]  # fmt: skip


@pytest.mark.slow
def test_any_name_is_drawn_as_text() -> None:
    edges = tuple(Edge(a, b, "conditional", f"{a}!") for a, b in zip((START, *NASTY), (*NASTY, END), strict=True))
    document = svg(Topology("nasty", tuple(NASTY), edges))
    shown = [text.lower() for text in words(document)]
    for name in NASTY:
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
