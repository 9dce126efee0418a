"""How long a check takes: a graph of 500 nodes and about 1,000 edges, read from source and proven after its import.

    python benchmarks/check_speed.py [--write]

The figures are milliseconds of ``time.process_time`` for one check, all variants of a kind in turn. Reading includes
parsing the file, and is done as ``loopwright check`` does it: before anything imports LangGraph, and with a collector
that looks as seldom as there. ``verify`` is given the living graph. What Loopwright remembers of functions it has read
is forgotten before each check, so that each is the first one of its graph.
"""

from __future__ import annotations

import gc
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import Variant, machine, main, measure

from loopwright.check.findings import Checker

TITLE = "Speed of a check"
NODES = 500
REPETITIONS = 15
READERS = ("loopwright.check", "loopwright.engine.proof")
TARGET = 200.0
"""Milliseconds that the check of a graph of 500 nodes may take."""

HEAD = """
from typing_extensions import TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict):
    n: int

g = StateGraph(State)
"""


def source(back_edges: int, typed: bool) -> str:
    """A file with a graph of `NODES` nodes, each with a function of its own and a way to the next two."""
    lines = [HEAD]
    for place in range(NODES):
        lines += [f"def work_{place}(state: State):", '    return {"n": state["n"] + 1}', ""]
        lines.append(f'g.add_node("n{place}", work_{place})')
    lines.append('g.add_edge(START, "n0")')
    for place in range(NODES):
        following = [f"n{other}" if other < NODES else "__end__" for other in (place + 1, place + 2)]
        if back_edges and place % (NODES // back_edges) == 20:
            following[1] = f"n{place - 20}"
        words = f'lambda state: "{following[0]}" if state["n"] else "{following[1]}"'
        lines.append(f'g.add_conditional_edges("n{place}", {words}{f", {following}" if typed else ""})')
    return "\n".join([*lines, "app = g.compile()", ""])


def first(check: Callable[[Any], Any], given: Any) -> Callable[[], Any]:
    """A check by a process that has not seen the graph before."""
    modules = [module for name, module in sys.modules.items() if name.startswith(READERS)]
    known = {id(each): each for module in modules for each in vars(module).values() if hasattr(each, "cache_clear")}

    def run() -> Any:
        for each in known.values():
            each.cache_clear()
        return check(given)

    return run


def report(repetitions: int = REPETITIONS) -> str:
    """Measure, and show the figures as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        read, proven = list[Variant](), list[Variant]()
        cycles: dict[Path, int] = {}
        for name, back, typed in (
            ("no cycle, path maps", 0, True),
            ("no cycle, routers read from source", 0, False),
            ("10 cycles, path maps", 10, True),
        ):
            file = Path(folder) / f"graph_{len(read)}.py"
            file.write_text(source(back, typed), encoding="utf-8")
            (found,) = Checker([]).check(file)
            cycles[file] = len(found.findings)
            assert cycles[file] >= back
            read.append(Variant(name, first(lambda file: Checker([]).check(file), file)))
        assert "langgraph" not in sys.modules
        before = gc.get_threshold()
        gc.set_threshold(100_000)
        measure(read, repetitions)
        gc.set_threshold(*before)

        from loopwright.check.loading import load_graphs
        from loopwright.engine.proof.verify import verify

        for file, found in cycles.items():
            (graph,) = load_graphs(str(file)).values()
            assert len(verify(graph).unbounded_cycles) == found
            proven.append(Variant(file.stem, first(verify, graph)))
        measure(proven, repetitions)
    rows = [f"| {NODES} nodes, {2 * NODES} edges | read from source, ms, least | median | verify, ms, least | median |"]
    rows.append("|---|---|---|---|---|")
    for reading, proof in zip(read, proven, strict=True):
        figures = [value / 1000 for value in (*reading.per(), *proof.per())]
        rows.append(f"| {reading.name} | {' | '.join(f'{figure:.0f}' for figure in figures)} |")
    slowest = max(variant.per()[1] / 1000 for variant in (*read, *proven))
    met = "met" if slowest <= TARGET else "missed"
    rows += [
        "",
        f"- the slowest median: {slowest:.0f} ms against a target of at most {TARGET:.0f} ms: {met}",
        "",
        f"{machine()}, LangGraph {version('langgraph')}; {repetitions} repetitions, interleaved, process time.",
    ]
    return "\n".join(rows)


if __name__ == "__main__":
    main(TITLE, __doc__, report, REPETITIONS)
