"""Chooses the edges that go round, where nobody declared them: one choice for `bounded` and for ``loopwright check``.

An edge goes round if it leads back to a node that every way to it has passed already: its target *dominates* its
source. Cutting these edges leaves every other way free, so a first visit of a node never needs a pass. What is left can
only go round in a cycle with several entrances, of which none comes first in every run (an *irreducible* cycle). There
every edge of the cycle into one of its entrances is chosen, and the gate lets the first visit of that entrance pass
without counting it. Nothing here needs LangGraph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopwright.engine.proof.cycles import cyclic_components, reached, shortest_path
from loopwright.engine.proof.graph import START


@dataclass(frozen=True, slots=True)
class Choice:
    """The edges of one loop."""

    target: str
    """The node at which it goes round."""
    sources: tuple[str, ...]
    """The nodes whose edges into the target go round, in the order of declaration."""
    first_free: bool = False
    """Whether the target may not have run when a source asks, so that its first visit has to be let pass."""


def choose(follow: Mapping[str, Iterable[str]], start: str = START) -> tuple[Choice, ...]:
    """Choose the edges without which a graph has no cycle.

    Args:
        follow: Node -> the nodes that it leads to; both in the order of declaration.
        start: The entry.

    Returns:
        One choice for each node at which it goes round; none for a graph without cycles.
    """
    order = {node: place for place, node in enumerate(follow)}
    left = {node: dict.fromkeys(targets) for node, targets in follow.items()}
    sources: dict[str, set[str]] = {}
    irreducible: set[str] = set()

    def cut(source: str, target: str) -> None:
        del left[source][target]
        sources.setdefault(target, set()).add(source)

    known = reached(left, [start])
    for target in [node for component in cyclic_components(left) for node in component]:
        passed = known - reached(left, [start], without=target)
        for node in passed:
            if target in left[node]:
                cut(node, target)
    while components := cyclic_components(left):
        for component in components:
            entrances = {
                target for node, targets in left.items() if node not in component for target in targets
            } & component
            target = min(entrances or component, key=order.__getitem__)
            irreducible.add(target)
            for node in component:
                if target in left[node]:
                    cut(node, target)
    return tuple(
        Choice(target, tuple(sorted(sources[target], key=order.__getitem__)), target in irreducible)
        for target in sorted(sources, key=order.__getitem__)
    )


MOST_CYCLES = 200
"""More cycles than these are not told: nobody reads them all."""


def loop_name(target: str, graph: str | None) -> str:
    """What to call the loop at a node: the node's name, or the agent's where the node is a middleware's hook."""
    if "." not in target and not target.startswith("_"):
        return target
    return graph if graph and graph != "LangGraph" else "agent"


def unbounded_cycles(follow: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """For every edge that `choose` finds, a shortest cycle that it closes; where they are very many, one for each loop.

    Returns:
        The names of their nodes in order, the target of the edge first; empty if there is none.
    """
    choices = choose(follow)
    many = sum(len(choice.sources) for choice in choices) > MOST_CYCLES
    return [
        shortest_path(follow, choice.target, source)
        for choice in choices
        for source in (choice.sources[:1] if many else choice.sources)
    ]
