"""The cycles of a directed graph, and what can be reached in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def reached(follow: Mapping[str, Iterable[str]], starts: Iterable[str], without: str | None = None) -> set[str]:
    """The nodes that can be reached, the starts among them.

    Args:
        follow: Node -> the nodes that it leads to.
        starts: Where ways begin.
        without: A node that no way passes.
    """
    found = {*starts} - {without}
    queue = [*found]
    while queue:
        fresh = {*follow.get(queue.pop(), ())} - found - {without}
        found |= fresh
        queue += fresh
    return found


def cyclic_components(follow: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that can all reach each other, in the order of declaration."""
    back: dict[str, list[str]] = {node: [] for node in follow}
    for node, targets in follow.items():
        for target in targets:
            back[target].append(node)
    components: list[set[str]] = []
    taken: set[str] = set()
    for node in follow:
        if node not in taken:
            component = reached(follow, [node]) & reached(back, [node])
            taken |= component
            if len(component) > 1 or node in follow[node]:
                components.append(component)
    return components


def shortest_path(follow: Mapping[str, Iterable[str]], start: str, goal: str) -> tuple[str, ...]:
    """A shortest way from a node to one that it can reach, both among its nodes."""
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
