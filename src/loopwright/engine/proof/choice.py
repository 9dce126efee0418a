"""Chooses the edges that go round, where nobody declared them: one choice for `bounded` and for ``loopwright check``.

An edge goes round if it leads back to a node that every way to it has passed already: its target *dominates* its
source. Cutting these edges leaves every other way free, so a first visit of a node never needs a pass. What is left can
only go round in a cycle with several entrances, of which none comes first in every run (an *irreducible* cycle). There
every edge of the cycle into one of its entrances is chosen, and the gate lets the first visit of that entrance pass
without counting it. Nothing here needs LangGraph.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count

from loopwright.engine.proof.graph import START, cyclic_components, depth_first, reached, shortest_path


@dataclass(frozen=True, slots=True)
class Choice:
    """The edges of one loop."""

    target: str
    """The node at which it goes round."""
    sources: tuple[str, ...]
    """The nodes whose edges into the target go round, in the order of declaration."""
    first_free: bool = False
    """Whether the target may not have run when a source asks, so that its first visit has to be let pass."""


def choose(follow: Mapping[str, Iterable[str]]) -> tuple[Choice, ...]:
    """Choose the edges without which a graph has no cycle: one choice for each node at which it goes round.

    `follow`: node -> the nodes that it leads to, both in the order of declaration.
    """
    order = {node: place for place, node in enumerate(follow)}
    left = {node: dict.fromkeys(targets) for node, targets in follow.items()}
    sources: dict[str, set[str]] = {}
    irreducible: set[str] = set()

    def cut(nodes: Iterable[str], target: str) -> None:
        for source in nodes:
            if target in left[source]:
                del left[source][target]
                sources.setdefault(target, set()).add(source)

    if not (components := cyclic_components(left)):
        return ()
    known = reached(left, [START])
    for target in depth_first(left, [START])[1]:  # whom it passed, it led back to them: any search does
        cut(known - reached(left, [START], without=target), target)
    while components:
        component = components.pop()
        inside = {node: [*(left[node].keys() & component)] for node in component}
        for smaller in cyclic_components(inside):
            entering = (targets.keys() & smaller for node, targets in left.items() if node not in smaller)
            target = min(set[str]().union(*entering) or smaller, key=order.__getitem__)
            irreducible.add(target)
            cut(smaller, target)
            components.append(smaller)
    return tuple(
        Choice(target, tuple(sorted(sources[target], key=order.__getitem__)), target in irreducible)
        for target in sorted(sources, key=order.__getitem__)
    )


MOST_CYCLES = 200
"""More cycles than these are not told: nobody reads them all."""

_MODELS = ("model", "agent")
"""What the node that calls the model is called in each agent of LangChain and LangGraph."""


def loop_name(target: str, graph: str | None, taken: Collection[str] = ()) -> str:
    """What to call the loop at a node: the node's name, or the agent's at its model or a hook; numbered if `taken`."""
    own = "." in target or target.startswith("_")  # a middleware's hook
    called = re.sub(r"[:|\s]+", " ", graph if graph and graph != "LangGraph" else "").strip(" ").lstrip(". ")
    if own or target in _MODELS:
        target = called or ("agent" if own else target)
    # A loop's scope of the first name is the whole run, and the second one is LangGraph's own limit.
    name = f"{target} again" if target in ("run", "recursion_limit") else target
    return next(one for one in chain([name], (f"{name} {n}" for n in count(2))) if one not in taken)


def loop_text(name: str, target: str, sources: Iterable[str], limit: object, more: str = "") -> str:
    """A `Loop` as source code, ready to paste."""
    name, target, *sources = (str.__str__(each) for each in (name, target, *sources))  # members of enumerations, too
    return f"Loop(name={name!r}, target={target!r}, sources={(*sources,)!r}, limit={limit}{more})"


def cycles_of(choices: Sequence[Choice], follow: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """For every edge that `choose` found, a shortest cycle that it closes; where they are very many, one for each loop.

    Each is the names of its nodes in order, the target of the edge first.
    """
    many = sum(len(choice.sources) for choice in choices) > MOST_CYCLES
    return [
        shortest_path(follow, choice.target, source)
        for choice in choices
        for source in (choice.sources[:1] if many else choice.sources)
    ]
