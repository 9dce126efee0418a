"""`assert_bounded`: a test fails when somebody adds a cycle that nothing bounds, or makes the worst case worse."""

from collections.abc import Mapping, Sequence
from typing import Any

from loopwright.check.loading import suggestions
from loopwright.engine.bind import bind
from loopwright.engine.loop import Loop
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.read import builder_of
from loopwright.engine.proof.verify import verify


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
    """Assert that every cycle of a graph is bounded and its worst case as small as it should be; gives its certificate.

    Args:
        graph: A ``StateGraph`` or a compiled one, bounded already or not; it is not changed, and nothing runs.
        loops: Loops to bind first, for a graph that has no gates yet.
        fan_out: As for `loopwright.verify`.
        max_supersteps: The most supersteps that a run may take.
        max_node_runs: The most runs of nodes.
        max_model_calls: The most calls of chat models.
        max_seconds: The most seconds.

    Raises:
        AssertionError: If a cycle is unbounded, with the `Loop`s that would bound it; or if a figure is greater than
            allowed, or unknown.
    """
    __tracebackhide__ = True
    certificate = verify(graph, loops, fan_out=fan_out)
    name = getattr(graph, "name", None) or "the graph"
    if not certificate.bounded:
        raise AssertionError(_unbounded(name, bind(builder_of(graph), loops) if loops else graph, certificate))
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


def _unbounded(name: str, graph: Any, certificate: Certificate) -> str:
    cycles = certificate.unbounded_cycles
    lines = [f"{name} can run away: nothing bounds {len(cycles)} cycle{'s' * (len(cycles) != 1)}"]
    lines += [f"  {' -> '.join((*cycle, cycle[0]))}" for cycle in cycles]
    lines.append("These would bound it:")
    lines += [f"  {line}," for text in suggestions(graph, cycles).values() for line in text.splitlines()]
    return "\n".join(lines)


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
