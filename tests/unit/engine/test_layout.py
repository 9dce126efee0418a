"""The layout: nothing overlaps, arrows bend round boxes, and control flows down."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from loopwright.engine.diagram.layout import Curve, Layout, Point, Rect, lay_out
from loopwright.engine.diagram.lettering import text_width, wrapped
from loopwright.engine.diagram.ordering import acyclic, layers, order_rows, spread
from loopwright.engine.topology import Edge, LoopEdge, Topology

START, END = "__start__", "__end__"


@st.composite
def topologies(draw: st.DrawFn) -> Topology:
    words = st.sampled_from(["plan", "run", "grade the evidence", "a_rather_long_name_of_a_node", "Wm"])
    names = [f"{draw(words)}_{number}" for number in range(draw(st.integers(1, 7)))]
    label = st.one_of(st.none(), st.sampled_from(["yes", "not supported by what was found", "x"]))
    kinds = st.sampled_from(["static", "conditional", "handler", "assumed", "join"])
    ends = st.tuples(st.sampled_from([START, *names]), st.sampled_from([*names, END]))
    edges = [Edge(a, b, draw(kinds), draw(label)) for a, b in draw(st.lists(ends, max_size=12))]
    edges.append(Edge(START, names[0], "static"))
    loops: list[LoopEdge] = []
    for number in range(draw(st.integers(0, 3))):
        source, target, fallback = (
            draw(st.sampled_from(names)),
            draw(st.sampled_from(names)),
            draw(st.sampled_from([*names, END])),
        )
        gate = f"loop.l{number}"
        loops.append(
            LoopEdge(
                f"l{number}", gate, target, (source,), draw(st.sampled_from(["2", "a_key, at most 10"])), (fallback,)
            )
        )
        edges.append(Edge(source, gate, "request", draw(label)))
    return Topology("drawn", (*names, *(loop.gate for loop in loops)), tuple(edges), tuple(loops))


def overlap(a: Rect, b: Rect) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def inside(point: Point, rect: Rect, inset: float = 0.5) -> bool:
    return (
        rect.x + inset < point[0] < rect.x + rect.width - inset
        and rect.y + inset < point[1] < rect.y + rect.height - inset
    )


def sampled(curve: Curve, steps: int = 24) -> list[Point]:
    """Points on the curve by de Casteljau's construction, which the code under test does not use."""
    found: list[Point] = []
    for start in range(0, len(curve.points) - 1, 3):
        for step in range(steps + 1):
            points = list(curve.points[start : start + 4])
            while len(points) > 1:
                t = step / steps
                points = [(a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t) for a, b in itertools.pairwise(points)]
            found.append(points[0])
    return found


def labels(layout: Layout) -> list[Rect]:
    return [curve.label for curve in layout.curves if curve.label]


@settings(max_examples=100, deadline=None)
@given(topologies())
def test_no_box_label_or_arrow_covers_another(topology: Topology):
    layout = lay_out(topology)
    for a, b in itertools.combinations([*layout.boxes.values(), *labels(layout)], 2):
        assert not overlap(a, b)
    for curve in layout.curves:
        for point in sampled(curve):
            assert not any(inside(point, box) for box in layout.boxes.values())
            assert not any(inside(point, label) for label in labels(layout) if label is not curve.label)
            assert 0 <= point[0] <= layout.width and 0 <= point[1] <= layout.height
    for rect in [*layout.boxes.values(), *labels(layout)]:
        assert rect.x >= 0 and rect.y >= 0
        assert rect.x + rect.width <= layout.width and rect.y + rect.height <= layout.height


@settings(max_examples=40, deadline=None)
@given(topologies())
def test_arrows_start_and_end_at_their_boxes(topology: Topology):
    layout = lay_out(topology)
    for curve in layout.curves:
        for node, (x, y) in ((curve.arrow.source, curve.points[0]), (curve.arrow.target, curve.points[-1])):
            box = layout.boxes[node]
            assert box.x <= x <= box.x + box.width
            assert box.y - 0.01 <= y <= box.y + box.height + 0.01
        if curve.label and curve.arrow.source != curve.arrow.target:
            x, y = curve.label.middle
            assert min(math.dist(point, (x, y)) for point in sampled(curve)) < 4, "a label stands on its own arrow"


@settings(max_examples=30, deadline=None)
@given(topologies())
def test_a_layout_is_the_same_every_time(topology: Topology):
    assert lay_out(topology) == lay_out(topology)


def test_loops_go_up_on_the_right_and_everything_else_goes_down():
    topology = Topology(
        "nested",
        ("plan", "draft", "review", "loop.inner", "loop.outer"),
        (
            Edge(START, "plan", "static"),
            Edge("plan", "draft", "static"),
            Edge("draft", "review", "static"),
            Edge("review", END, "conditional"),
            Edge("review", "loop.inner", "request"),
            Edge("review", "loop.outer", "request"),
        ),
        (
            LoopEdge("inner", "loop.inner", "draft", ("review",), "3", (END,)),
            LoopEdge("outer", "loop.outer", "plan", ("review",), "1", (END,)),
        ),
    )
    layout = lay_out(topology)
    tops = [layout.boxes[node].y for node in (START, "plan", "draft", "review", END)]
    assert tops == sorted(tops) and len(set(tops)) == 5
    middles = {layout.boxes[node].middle[0] for node in layout.boxes}
    assert max(middles) - min(middles) < 1, "a chain is straight"
    lanes = {curve.arrow.target: max(x for x, _ in curve.points) for curve in layout.curves if curve.arrow.loop}
    rightmost = max(box.x + box.width for box in layout.boxes.values())
    assert rightmost < lanes["draft"] < lanes["plan"], "the inner loop is inside the outer one"


def test_a_node_that_only_a_loop_enters_stands_above_what_it_leads_to():
    loop = LoopEdge("requery", "loop.requery", "rewrite", ("grade",), "3", (END,))
    edges = (
        Edge(START, "route", "static"),
        Edge("route", "search", "static"),
        Edge("search", "grade", "static"),
        Edge("grade", "loop.requery", "request"),
        Edge("rewrite", "search", "static"),
    )
    boxes = lay_out(Topology("rag", ("route", "search", "grade", "rewrite", "loop.requery"), edges, (loop,))).boxes
    assert boxes["rewrite"].y == boxes["route"].y
    assert boxes[START].y < boxes["rewrite"].y < boxes["search"].y


def test_an_empty_graph_has_a_layout():
    layout = lay_out(Topology("empty", (), ()))
    assert layout.boxes == {} and layout.curves == ()
    assert layout.width > 0 and layout.height > 0


PAIRS = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg")).filter(lambda pair: pair[0] != pair[1])
)


@given(PAIRS)
def test_layers_are_longest_paths(pairs: list[tuple[str, str]]):
    nodes = ["__start__", *"abcdefg"]
    kept = acyclic([("__start__", node) for node in "abcdefg"] + pairs)
    layer = layers(nodes, kept)

    def longest(node: str) -> int:
        return max((longest(source) + 1 for source, target in kept if target == node), default=0)

    assert layer == {node: longest(node) for node in nodes}
    for source, target in pairs:
        assert (source, target) in kept or layer[target] < layer[source], "only what closes a cycle is left out"


@given(st.lists(st.tuples(st.floats(-100, 100), st.floats(0.1, 10), st.floats(0, 30)), min_size=1, max_size=12))
def test_spread_is_isotonic_regression(items: list[tuple[float, float, float]]):
    wishes, weights, gaps = zip(*items, strict=True)
    found = spread(wishes, weights, gaps)
    offsets = list(itertools.accumulate(gaps))
    reference = isotonic_regression(
        [wish - offset for wish, offset in zip(wishes, offsets, strict=True)], weights=weights
    ).x
    assert all(
        math.isclose(x, mean + offset, abs_tol=1e-6) for x, mean, offset in zip(found, reference, offsets, strict=True)
    )


def test_crossings_are_undone():
    ordered = order_rows([0, 0, 0, 1, 1, 1], [(0, 5), (1, 4), (2, 3)])
    place = {item: at for row in ordered for at, item in enumerate(row)}
    assert [place[0], place[1], place[2]] == [place[5], place[4], place[3]]


@given(st.text(alphabet="abc de_", max_size=120))
def test_wrapping_keeps_every_word(text: str):
    lines = wrapped(text)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(0 < len(line) <= 26 for line in lines)


def test_wrapping_balances_the_lines():
    assert wrapped("one two three four five six") == ("one two three", "four five six")
    assert wrapped("") == ()


def test_the_widest_line_counts():
    assert text_width((), 14) == 0
    assert text_width(("i", "WWW", "a"), 10) == text_width(("WWW",), 10) > text_width(("W",), 20)
    assert text_width(("日本",), 10) > text_width(("ab",), 10)
