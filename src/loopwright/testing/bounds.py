"""`assert_bounded`: a test fails when somebody adds a cycle that nothing bounds, or makes the worst case worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.engine.bind import BoundBuilder
from loopwright.engine.bounds import choose_loops
from loopwright.engine.gate import is_engine_node
from loopwright.engine.loop import Loop
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.cycles import suggested_loop
from loopwright.engine.proof.read import builder_of
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError, UnboundedCycleError

_SUGGESTED_LIMIT = 5


def assert_bounded(
    graph: Any,
    loops: Sequence[Loop] = (),
    *,
    fan_out: Mapping[str, int] | None = None,
    max_supersteps: int | None = None,
    max_node_runs: int | None = None,
    max_model_calls: int | None = None,
    max_seconds: float | None = None,
) -> Certificate:
    """Assert that every cycle of a graph is bounded, and that its worst case is as small as it should be.

    Args:
        graph: A ``StateGraph`` or a compiled one, bounded already or not; it is not changed, and nothing runs.
        loops: Loops to bind first, for a graph that has no gates yet.
        fan_out: As for `loopwright.verify`.
        max_supersteps: The most supersteps that a run may take.
        max_node_runs: The most runs of nodes.
        max_model_calls: The most calls of chat models.
        max_seconds: The most seconds.

    Returns:
        The certificate.

    Raises:
        AssertionError: If a cycle is unbounded, with the `Loop`s that would bound it; or if a figure is greater than
            allowed, or unknown.
    """
    __tracebackhide__ = True
    certificate = verify(graph, loops, fan_out=fan_out)
    name = getattr(graph, "name", None) or "the graph"
    if not certificate.bounded:
        raise AssertionError(_unbounded(name, graph, loops, certificate))
    allowed = {"max_supersteps": max_supersteps, "max_node_runs": max_node_runs, "max_model_calls": max_model_calls,
               "max_seconds": max_seconds}  # fmt: skip
    figures = {figure: getattr(certificate, figure) for figure in allowed}
    worse = [
        figure
        for figure, most in allowed.items()
        if most is not None and (figures[figure] is None or figures[figure] > most)
    ]
    if worse:
        raise AssertionError(_too_much(name, figures, allowed, worse, certificate))
    return certificate


def _unbounded(name: str, graph: Any, loops: Sequence[Loop], certificate: Certificate) -> str:
    cycles = certificate.unbounded_cycles
    lines = [f"{name} can run away: nothing bounds {_counted(len(cycles), 'cycle')}"]
    lines += [f"  {' -> '.join((*cycle, cycle[0]))}" for cycle in cycles]
    if any(is_engine_node(node) for cycle in cycles for node in cycle):
        try:
            certificate.require()
        except UnboundedCycleError as error:
            return "\n".join([*lines, str(error).partition(". ")[2]])
    lines.append("These would bound it:")
    lines += [f"  {line}," for line in _suggestions(graph, loops, cycles)]
    return "\n".join(lines)


def _suggestions(graph: Any, loops: Sequence[Loop], cycles: Sequence[Sequence[str]]) -> list[str]:
    """The loops that are missing: chosen for the whole graph where it has none, else one for each cycle."""
    builder = builder_of(graph)
    inside = [cycle for cycle in cycles if any("/" in node for node in cycle)]
    outside = [cycle for cycle in cycles if cycle not in inside]
    chosen = [suggested_loop(cycle) for cycle in outside]
    if not loops and not (isinstance(builder, BoundBuilder) and builder.loops):
        try:
            chosen = [
                f"Loop(name={loop.name!r}, target={loop.target!r}, sources={loop.sources!r}, limit={loop.limit})"
                for loop in choose_loops(builder, _SUGGESTED_LIMIT)
            ]
        except GraphError:  # a cycle that no gate can bound; it is listed all the same
            pass
    return [*dict.fromkeys([*chosen, *(_inner_loop(cycle) for cycle in inside)])]


def _inner_loop(cycle: Sequence[str]) -> str:
    graph = cycle[0].rpartition("/")[0]
    return f"in the graph of node {graph!r}: {suggested_loop([node.rpartition('/')[2] for node in cycle])}"


def _too_much(
    name: str, figures: Mapping[str, Any], allowed: Mapping[str, Any], worse: Sequence[str], certificate: Certificate
) -> str:
    lines = [f"{name} is bounded, but its worst case is more than the test allows"]
    for figure, value in figures.items():
        shown = "unknown" if value is None else f"{value:,}"
        limit = "" if allowed[figure] is None else f", allowed {allowed[figure]:,}"
        lines.append(f"  {'>' if figure in worse else ' '} {figure:<16}{shown}{limit}")
    if certificate.assumptions:
        lines.append("It rests on:")
        lines += [f"  {assumption}" for assumption in certificate.assumptions]
    return "\n".join(lines)


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
