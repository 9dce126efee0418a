"""The cycles of a directed graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter


def unbounded_cycles(follow: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Cycles of a directed graph: for every edge that lies on one, a shortest cycle through it, each once.

    Args:
        follow: Node -> the nodes that it leads to.

    Returns:
        The cycles as node names in order, starting with the node that was declared first; empty if there is none.
    """
    order = {node: place for place, node in enumerate(follow)}
    found: dict[tuple[str, ...], None] = {}
    for component in _cyclic_components(follow):
        nodes = sorted(component, key=order.__getitem__)
        inside = {node: sorted(component & set(follow[node]), key=order.__getitem__) for node in nodes}
        for source in nodes:
            for target in inside[source]:
                path = _shortest_path(inside, target, source)
                first = min(range(len(path)), key=lambda i: order[path[i]])
                found[(*path[first:], *path[:first])] = None
    return list(found)


def _cyclic_components(follow: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that can all reach each other, by peeling off what lies on no cycle and then splitting by reach."""
    before: dict[str, set[str]] = {node: set() for node in follow}
    for node, targets in follow.items():
        for target in targets:
            before[target].add(node)
    try:
        TopologicalSorter(before).prepare()
    except CycleError:
        pass
    else:
        return []
    components: list[set[str]] = []
    left = set(follow)
    while left:
        start = next(node for node in follow if node in left)
        component = _reach(follow, start, left) & _reach(before, start, left)
        if len(component) > 1 or start in follow[start]:
            components.append(component)
        left -= component
    return components


def _reach(follow: Mapping[str, Iterable[str]], start: str, within: set[str]) -> set[str]:
    reached, queue = {start}, [start]
    while queue:
        fresh = (set(follow[queue.pop()]) & within) - reached
        reached |= fresh
        queue += fresh
    return reached


def _shortest_path(follow: Mapping[str, Iterable[str]], start: str, goal: str) -> tuple[str, ...]:
    came: dict[str, str | None] = {start: None}
    queue = [start]
    for node in queue:
        if goal in came:
            break
        for target in follow[node]:
            if target not in came:
                came[target] = node
                queue.append(target)
    path: list[str] = []
    step: str | None = goal
    while step is not None:
        path.append(step)
        step = came[step]
    return tuple(reversed(path))
