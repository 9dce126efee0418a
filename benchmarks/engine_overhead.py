"""What a bound costs: microseconds per granted pass and per node outside loops, against plain LangGraph.

    python benchmarks/engine_overhead.py [--write]

A granted pass runs one gate node. The measure is one more node of plain LangGraph in the same loop, which counts.
All variants are run in turn, so that a slow moment of the machine hits them all alike; times are ``time.process_time``.
``--write`` puts the table into ``benchmarks/RESULTS.md``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from common import Variant, machine, main, measure
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from loopwright.engine import Loop, bounded

TITLE = "Engine overhead"
PASSES = 200
REPETITIONS = 25
NODES = 10


class State(TypedDict):
    """A counter that the nodes raise, and one that the user's own bound uses."""

    n: int
    count: int


def step(state: State) -> dict[str, int]:
    """The trivial node."""
    return {"n": state["n"] + 1}


def stay(_state: State) -> dict[str, int]:
    """A trivial node that decides nothing."""
    return {}


def loop_of_two(passes: int, *, third: bool = False, by_hand: bool = False) -> StateGraph[Any]:
    """``a -> b -> a ...``: plain, with a third node that counts on the way back, or with a counter written by hand."""
    graph = StateGraph(State)
    graph.add_node("a", step)
    graph.add_node("b", _counting if by_hand else stay)
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    back = "a"
    if third:
        graph.add_node("c", _counting)
        graph.add_edge("c", "a")
        back = "c"
    if by_hand:
        graph.add_conditional_edges("b", lambda s: back if s["count"] <= passes else END, [back, END])
    else:
        graph.add_conditional_edges("b", lambda s: back if s["n"] <= passes else END, [back, END])
    return graph


def _counting(state: State) -> dict[str, int]:
    return {"count": state["count"] + 1}


def line() -> StateGraph[Any]:
    """Ten nodes in a row."""
    graph = StateGraph(State)
    for place in range(NODES):
        graph.add_node(f"n{place}", step)
        graph.add_edge(f"n{place - 1}" if place else START, f"n{place}")
    return graph


def _invoke(graph: Any, limit: int) -> Callable[[], Any]:
    return lambda: graph.invoke({"n": 0, "count": 0}, {"recursion_limit": limit})


def report(repetitions: int = REPETITIONS) -> str:
    """Measure, and show the figures as Markdown."""
    logging.getLogger("loopwright").setLevel(logging.ERROR)
    room = 4 * PASSES + 20
    gate = Loop(name="again", target="a", sources=("b",), limit=PASSES, counter="count")
    plain, hand, third, gated = loops = [
        Variant("plain, no bound", _invoke(loop_of_two(PASSES).compile(), room)),
        Variant("plain, counter by hand", _invoke(loop_of_two(PASSES, by_hand=True).compile(), room)),
        Variant("plain, a third node that counts", _invoke(loop_of_two(PASSES, third=True).compile(), room)),
        Variant("bounded", _invoke(bounded(loop_of_two(PASSES), [gate]), room)),
    ]
    measure(loops, repetitions)
    straight, lined = lines = [
        Variant("plain", _invoke(line().compile(), room)),
        Variant("bounded", _invoke(bounded(line()), room)),
    ]
    measure(lines, repetitions * 8)

    rows = ["| loop of two nodes | us per pass, least | median | over plain, least | median |", "|---|---|---|---|---|"]
    base = plain.per(PASSES)
    for variant in loops:
        least, median = variant.per(PASSES)
        rows.append(
            f"| {variant.name} | {least:.0f} | {median:.0f} | {least - base[0]:+.0f} | {median - base[1]:+.0f} |"
        )
    node = [value - known for value, known in zip(third.per(PASSES), base, strict=True)]
    bound = [value - known for value, known in zip(gated.per(PASSES), base, strict=True)]
    rows += ["", "| line of ten nodes | us per node, least | median |", "|---|---|---|"]
    rows += [f"| {v.name} | {v.per(NODES)[0]:.1f} | {v.per(NODES)[1]:.1f} |" for v in lines]
    ratio = [ours / theirs for ours, theirs in zip(lined.per(NODES), straight.per(NODES), strict=True)]
    by_hand = [ours / theirs for ours, theirs in zip(gated.per(PASSES), hand.per(PASSES), strict=True)]
    verdicts = [
        f"{what}: {value:.3f} against a target of at most {target:.2f}: {'met' if value <= target else 'missed'}"
        for what, value, target in (
            ("a granted pass, in plain node steps (median)", bound[1] / node[1], 1.25),
            ("a node outside loops, against plain (median)", ratio[1], 1.01),
        )
    ]
    rows += [
        "",
        *(f"- {verdict}" for verdict in verdicts),
        "",
        f"A granted pass costs {bound[0] / node[0]:.2f} (median {bound[1] / node[1]:.2f}) times one more node of plain "
        f"LangGraph; the whole loop takes {by_hand[0]:.2f} ({by_hand[1]:.2f}) times the one with a counter by hand. "
        f"A node of a graph without loops takes {ratio[0]:.3f} (median {ratio[1]:.3f}) times as long.",
        "",
        f"{machine()}, LangGraph {version('langgraph')}; {PASSES} passes, {repetitions} repetitions "
        f"(lines {repetitions * 8}), interleaved, process time.",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    main(TITLE, __doc__, report, REPETITIONS)
