"""SVG and PNG: complete, legible, alike, and without a network."""

from __future__ import annotations

import io
import re
import socket
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageColor, ImageFont

from loopwright.engine.diagram import drawing
from loopwright.engine.diagram.drawing import DARK, LIGHT, png, svg
from loopwright.engine.diagram.layout import lay_out
from loopwright.engine.diagram.lettering import BOX_FONT, LABEL_FONT
from loopwright.engine.topology import Edge, LoopEdge, Topology
from loopwright.errors import InputError, LoopwrightError

START, END = "__start__", "__end__"
SVG = "{http://www.w3.org/2000/svg}"

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
    (LoopEdge("replan", "loop.replan", "planner", ("summarizer",), "max_replan_iterations, at most 10", (END,)),),
)


def picture(topology: Topology, scale: float = 2) -> Image.Image:
    return Image.open(io.BytesIO(png(topology, scale=scale))).convert("RGB")


def texts(document: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(document).iter(f"{SVG}text")]


def test_the_svg_shows_every_node_and_the_limit():
    shown = texts(svg(IQA))
    assert shown.count("START") == shown.count("END") == shown.count("Planner") == 1
    assert {"Executor", "Summarizer", "on error"} <= set(shown)
    assert "replan, limit max_replan_iterations, at most 10" in " ".join(shown)
    assert "done, or replan bound reached" in " ".join(shown)
    assert not any("loop" in text.lower() for text in shown)


def test_the_svg_has_one_line_and_one_head_for_each_arrow():
    root = ElementTree.fromstring(svg(IQA))
    lines, heads = list(root.iter(f"{SVG}path")), list(root.iter(f"{SVG}polygon"))
    assert len(lines) == len(heads) == len(lay_out(IQA).curves) == 6
    assert [line.get("class") for line in lines].count("s-loop") == 1
    assert sum(line.get("stroke-dasharray") is not None for line in lines) == 1


def test_the_svg_refers_to_nothing_outside():
    document = svg(IQA).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"href|url\(|@import|@font-face|<script|<image|https?:|//", document)


def test_the_svg_has_dark_colours():
    style = ElementTree.fromstring(svg(IQA)).find(f"{SVG}style")
    assert style is not None and style.text is not None
    light, dark = style.text.split("@media (prefers-color-scheme: dark)")
    for colours, rules in ((LIGHT, light), (DARK, dark)):
        for name, colour in colours.items():
            assert f".f-{name}{{fill:{colour}}}" in rules
    used = {
        name for element in ElementTree.fromstring(svg(IQA)).iter() for name in (element.get("class") or "").split()
    }
    assert {name[2:] for name in used} <= LIGHT.keys() == DARK.keys()


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_makes_a_valid_svg(name: str, label: str):
    node = f"n{name}"
    topology = Topology(name, (node,), (Edge(START, node, "conditional", label), Edge(node, END, "static")))
    assert {"START", "END"} <= set(texts(svg(topology)))


def test_markup_in_names_is_text():
    node = '<b onload="x">&amp;</b>'
    root = ElementTree.fromstring(svg(Topology('a"b<c>', (node,), (Edge(START, node, "static"),))))
    assert root.get("aria-label") == root.findtext(f"{SVG}title") == 'a"b<c>'
    assert [(text.text or "").lower() for text in root.iter(f"{SVG}text")] == ["start", node]
    assert not list(root.iter(f"{SVG}b"))


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [part / 255 for part in ImageColor.getrgb(colour)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("front", "ground", "least"),
    [
        ("text", "box", 4.5),
        ("text", "pill", 4.5),
        ("label", "page", 4.5),
        ("loop-label", "page", 4.5),
        ("line", "page", 3),
        ("loop", "page", 3),
    ],
)
def test_contrast(colours: dict[str, str], front: str, ground: str, least: float):
    low, high = sorted((luminance(colours[front]), luminance(colours[ground])))
    assert (high + 0.05) / (low + 0.05) >= least


def test_the_png_has_the_size_of_the_layout():
    layout = lay_out(IQA)
    for scale in (1, 2, 3.5):
        width, height = picture(IQA, scale).size
        assert abs(width - layout.width * scale) <= 1 and abs(height - layout.height * scale) <= 1


def test_the_png_has_every_box_and_the_loop_in_their_places():
    layout, image = lay_out(IQA), picture(IQA)
    assert image.getpixel((0, 0)) == ImageColor.getrgb(LIGHT["page"])
    for node, box in layout.boxes.items():
        ground = LIGHT["pill" if node in (START, END) else "box"]
        assert image.getpixel((round(box.x * 2 + 40), round(box.y * 2 + 8))) == ImageColor.getrgb(ground)
    (loop,) = [curve for curve in layout.curves if curve.arrow.loop]
    x, y = loop.points[-1]
    assert y == layout.boxes["planner"].y + layout.boxes["planner"].height
    assert image.getpixel((round(x * 2), round(y * 2 + 14))) == ImageColor.getrgb(LIGHT["loop"]), "the head points up"
    without = Topology("plain", IQA.nodes[:3], IQA.edges[:3])
    colours = {colour for _, colour in picture(without).getcolors(1 << 20) or []}
    assert ImageColor.getrgb(LIGHT["loop"]) not in colours


def test_text_is_drawn_inside_its_box():
    layout, image = lay_out(IQA), picture(IQA)
    for rect in [*layout.boxes.values(), *(curve.label for curve in layout.curves if curve.label)]:
        inner = image.crop(
            (
                round(rect.x * 2) + 6,
                round(rect.y * 2) + 6,
                round((rect.x + rect.width) * 2) - 6,
                round((rect.y + rect.height) * 2) - 6,
            )
        )
        dark = sum(count for count, colour in inner.convert("L").getcolors() or [] if colour < 110)
        assert dark > 60, rect.lines


@pytest.mark.parametrize(
    "name",
    ["nodes_and_edges_grading", "WWWW_MMMM_WWWW", "illicit_fiji_trill", "SHOUTING_NAMES_EVERYWHERE", "m%w@1234567890"],
)
def test_names_fit_into_their_boxes_and_labels(name: str):
    layout = lay_out(Topology("x", (name,), (Edge(START, name, "conditional", f"{name} or else"),)))
    box, label = layout.boxes[name], layout.curves[0].label
    assert label is not None
    for rect, size in ((box, BOX_FONT), (label, LABEL_FONT)):
        assert max(ImageFont.load_default(size).getlength(line) for line in rect.lines) <= rect.width
        assert len(rect.lines) * size <= rect.height


def test_dotted_arrows_have_gaps_and_others_do_not():
    def gaps(kind: str) -> int:
        topology = Topology("x", ("a",), (Edge(START, "a", kind),))  # pyright: ignore[reportArgumentType]
        (curve,) = lay_out(topology).curves
        image = picture(topology)
        (x, top), (_, bottom) = curve.points[0], curve.points[-1]
        column = [image.getpixel((round(x * 2), y)) for y in range(round(top * 2) + 3, round(bottom * 2) - 24)]
        return sum(pixel == (255, 255, 255) for pixel in column)

    assert gaps("static") == 0
    assert gaps("conditional") > 15


def test_a_huge_picture_is_made_smaller(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(drawing, "_MAX_PIXELS", 40_000)
    width, height = picture(IQA, scale=50).size
    assert 8_000 <= width * height <= 10_500


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_a_scale_that_is_no_scale(scale: float):
    with pytest.raises(InputError, match="scale"):
        png(IQA, scale=scale)


def test_no_network(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> None:
        raise AssertionError("a drawing needs no network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    assert svg(IQA) and png(IQA)


def test_without_pillow_only_the_png_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert "Planner" in svg(IQA)
    with pytest.raises(LoopwrightError, match=r"Pillow.*pip install 'loopwright\[iqa\]'"):
        png(IQA)


def test_pillow_is_imported_only_when_needed():
    code = "import sys; import loopwright.engine.diagram.drawing; sys.exit('PIL' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
