"""The cycles of a directed graph, what can be reached in it, and how a cycle would be bounded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence


def unbounded_cycles(follow: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Cycles of a directed graph: for every edge that lies on one, a shortest cycle through it, each once.

    Returns:
        The cycles as node names in order, starting with the node that was declared first; empty if there is none.
    """
    order = {node: place for place, node in enumerate(follow)}
    found: dict[tuple[str, ...], None] = {}
    components = [sorted(component, key=order.__getitem__) for component in cyclic_components(follow)]
    for nodes in sorted(components, key=lambda nodes: order[nodes[0]]):
        component = {*nodes}
        inside = {node: sorted(component & set(follow[node]), key=order.__getitem__) for node in nodes}
        for source in nodes:
            for target in inside[source]:
                path = shortest_path(inside, target, source)
                first = min(range(len(path)), key=lambda i: order[path[i]])
                found[(*path[first:], *path[:first])] = None
    return list(found)


def suggested_loop(cycle: Sequence[str]) -> str:
    """The source code of a `Loop` that would bound a cycle, ready to paste."""
    return f"Loop(name={cycle[0]!r}, target={cycle[0]!r}, sources=({cycle[-1]!r},), limit=5)"


def reached(ways: Iterable[tuple[str, str]], starts: Iterable[str]) -> set[str]:
    """The nodes that can be reached, the starts among them."""
    follow: dict[str, set[str]] = {}
    for source, target in ways:
        follow.setdefault(source, set()).add(target)
    found = {*starts}
    queue = [*found]
    while queue:
        fresh = follow.get(queue.pop(), set()) - found
        found |= fresh
        queue += fresh
    return found


def cyclic_components(follow: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that can all reach each other, by the algorithm of Kosaraju and Sharir, in linear time."""
    back: dict[str, list[str]] = {node: [] for node in follow}
    for node, targets in follow.items():
        for target in targets:
            back[target].append(node)
    components: list[set[str]] = []
    taken: set[str] = set()
    for root in reverse_postorder(follow, follow):
        if root not in taken:
            component, queue = {root}, [root]
            while queue:
                fresh = {node for node in back[queue.pop()] if node not in taken} - component
                component |= fresh
                queue += fresh
            taken |= component
            if len(component) > 1 or root in follow[root]:
                components.append(component)
    return components


def reverse_postorder(follow: Mapping[str, Iterable[str]], starts: Iterable[str]) -> list[str]:
    """The nodes that can be reached, each before all that only it leads to."""
    found: list[str] = []
    seen: set[str] = set()
    for start in starts:
        stack = [] if start in seen else [(start, iter(follow.get(start, ())))]
        seen.add(start)
        while stack:
            node, targets = stack[-1]
            target = next((target for target in targets if target not in seen), None)
            if target is None:
                stack.pop()
                found.append(node)
            else:
                seen.add(target)
                stack.append((target, iter(follow.get(target, ()))))
    return found[::-1]


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
