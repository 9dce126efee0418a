"""The cycles of a directed graph, what can be reached in it, and how a cycle would be bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence


def unbounded_cycles(follow: Mapping[str, Iterable[str]]) -> list[tuple[str, ...]]:
    """Cycles of a directed graph: for every edge that lies on one, a shortest cycle through it, each once.

    Args:
        follow: Node -> the nodes that it leads to.

    Returns:
        The cycles as node names in order, starting with the node that was declared first; empty if there is none.
    """
    order = {node: place for place, node in enumerate(follow)}
    found: dict[tuple[str, ...], None] = {}
    components = [sorted(component, key=order.__getitem__) for component in _cyclic_components(follow)]
    for nodes in sorted(components, key=lambda nodes: order[nodes[0]]):
        component = {*nodes}
        inside = {node: sorted(component & set(follow[node]), key=order.__getitem__) for node in nodes}
        for source in nodes:
            for target in inside[source]:
                path = _shortest_path(inside, target, source)
                first = min(range(len(path)), key=lambda i: order[path[i]])
                found[(*path[first:], *path[:first])] = None
    return list(found)


def suggested_loop(cycle: Sequence[str]) -> str:
    """The source code of a `Loop` that would bound a cycle, ready to paste."""
    return f"Loop(name={cycle[0]!r}, target={cycle[0]!r}, sources=({cycle[-1]!r},), limit=5)"


def reached(ways: Iterable[tuple[str, str]], starts: Iterable[str]) -> set[str]:
    """The nodes that can be reached, the starts among them.

    Args:
        ways: From where to where.
        starts: The nodes to begin at.
    """
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


def _cyclic_components(follow: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """Sets of nodes that can all reach each other, by Tarjan's algorithm (SIAM J. Comput. 1, 1972), in linear time."""
    components: list[set[str]] = []
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: dict[str, None] = {}
    for root in follow:
        walk: list[tuple[str, Iterator[str]]] = (
            [] if root in number else [_entered(follow, root, number, lowest, waiting)]
        )
        while walk:
            node, targets = walk[-1]
            for target in targets:
                if target not in number:
                    walk.append(_entered(follow, target, number, lowest, waiting))
                    break
                if target in waiting:
                    lowest[node] = min(lowest[node], number[target])
            else:
                walk.pop()
                if walk:
                    lowest[walk[-1][0]] = min(lowest[walk[-1][0]], lowest[node])
                if lowest[node] == number[node]:
                    component = _taken(waiting, node)
                    if len(component) > 1 or node in follow[node]:
                        components.append(component)
    return components


def _entered(
    follow: Mapping[str, Iterable[str]],
    node: str,
    number: dict[str, int],
    lowest: dict[str, int],
    waiting: dict[str, None],
) -> tuple[str, Iterator[str]]:
    number[node] = lowest[node] = len(number)
    waiting[node] = None
    return node, iter(follow[node])


def _taken(waiting: dict[str, None], until: str) -> set[str]:
    component: set[str] = set()
    while until not in component:
        component.add(waiting.popitem()[0])
    return component


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
