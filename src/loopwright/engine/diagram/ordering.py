"""The arithmetic of a layered drawing: which arrows lead down, in which row a node stands, and where in its row.

Plain functions on numbers and names, which know nothing of boxes, text or pictures.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import pairwise

_ORDER_SWEEPS = 12
_PLACE_SWEEPS = 60


def acyclic(pairs: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Keep each pair unless it closes a cycle with the pairs kept before it.

    Args:
        pairs: Source and target, those that should lead down first.

    Returns:
        The pairs that were kept; they form no cycle.
    """
    kept: set[tuple[str, str]] = set()
    successors: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        if not _reaches(successors, target, source):
            kept.add((source, target))
            successors[source].append(target)
    return kept


def breadth_first(nodes: Sequence[str], pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Number the nodes in the order in which they are found from the first one, and then from each that is left.

    Args:
        nodes: The nodes.
        pairs: Source and target.

    Returns:
        The number of each node, from 0.
    """
    successors: dict[str, list[str]] = defaultdict(list)
    for source, target in pairs:
        successors[source].append(target)
    found: dict[str, int] = {}
    for start in nodes:
        ready = deque([start])
        while ready:
            node = ready.popleft()
            if node not in found:
                found[node] = len(found)
                ready += successors[node]
    return found


def layers(nodes: Sequence[str], pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Give each node the length of the longest path to it.

    A node that nothing leads to stands just above what it leads to, but never beside the first node.

    Args:
        nodes: The nodes, the entry first.
        pairs: Source and target, without a cycle.

    Returns:
        The layer of each node, from 0; every pair leads from a lower to a higher number.
    """
    successors: dict[str, list[str]] = defaultdict(list)
    waiting = dict.fromkeys(nodes, 0)
    for source, target in sorted(pairs):
        successors[source].append(target)
        waiting[target] += 1
    roots = [node for node in nodes if not waiting[node]]
    layer = {node: int(node in roots[1:]) for node in nodes}
    ready = list(roots)
    while ready:
        node = ready.pop()
        for target in successors[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for root in roots[1:]:
        if successors[root]:
            layer[root] = min(layer[target] for target in successors[root]) - 1
    return layer


def order_rows(row_of: Sequence[int], links: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Order the items of each row so that few links cross.

    Args:
        row_of: The row of each item, from 0.
        links: Pairs of items, the one in the upper row first; each leads to the next row.

    Returns:
        The items of each row, from left to right.
    """
    above, below = _neighbours(links)
    rows: list[list[int]] = [[] for _ in range(max(row_of, default=-1) + 1)]
    for item in _depth_first(row_of, below):
        rows[row_of[item]].append(item)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(_ORDER_SWEEPS):
        neighbours = above if sweep % 2 == 0 else below
        for row in rows if sweep % 2 == 0 else reversed(rows):
            _sort_by_barycenter(row, rows, neighbours, row_of)
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def place_rows(
    rows: Sequence[Sequence[int]],
    reach: Sequence[tuple[float, float]],
    links: Sequence[tuple[int, int]],
    chains: Sequence[Sequence[int]],
) -> list[float]:
    """Choose x for each item so that links run straight down where they can, and nothing overlaps.

    Each sweep moves a row to the weighted means of its neighbours, or as near as the order and the widths allow. The
    weights shrink with the distance, which turns the mean into a median: many links exactly upright instead of all of
    them slightly askew.

    Args:
        rows: The items of each row, from left to right.
        reach: How far each item reaches to the left and to the right of its x.
        links: Pairs of items in neighbouring rows.
        chains: Items in successive rows that should stand exactly above one another.

    Returns:
        The x of each item.
    """
    x = [0.0] * len(reach)
    around: dict[int, list[tuple[int, float]]] = defaultdict(list)
    chained = {item for chain in chains for item in chain}
    for upper, lower in links:
        weight = 8.0 if upper in chained and lower in chained else 2.0
        around[upper].append((lower, weight))
        around[lower].append((upper, weight))
    for sweep in range(_PLACE_SWEEPS):
        softness = 200 * 0.9**sweep
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wishes, weights = _wishes(row, x, around, softness)
            for item, position in zip(row, spread(wishes, weights, _gaps(row, reach)), strict=True):
                x[item] = position
        if sweep % 5 == 4:
            _straighten(x, rows, reach, chains)
    return x


def _straighten(
    x: list[float], rows: Sequence[Sequence[int]], reach: Sequence[tuple[float, float]], chains: Sequence[Sequence[int]]
) -> None:
    """Give the items of each chain one x, as far as their neighbours in the rows let them."""
    sides = {
        item: (left, right)
        for row in rows
        for left, item, right in zip([None, *row], row, [*row[1:], None], strict=False)
    }

    def room(item: int) -> tuple[float, float]:
        left, right = sides[item]
        least = -math.inf if left is None else x[left] + reach[left][1] + reach[item][0]
        return least, math.inf if right is None else x[right] - reach[right][0] - reach[item][1]

    for chain in chains:
        runs: list[tuple[list[int], float, float]] = []
        for item in chain:
            least, most = room(item)
            run, low, high = runs.pop() if runs else ([], -math.inf, math.inf)
            if run and max(low, least) > min(high, most):
                runs.append((run, low, high))
                run, low, high = [], -math.inf, math.inf
            runs.append(([*run, item], max(low, least), min(high, most)))
        for run, low, high in runs:
            middle = sorted(x[item] for item in run)[len(run) // 2]
            for item in run:
                x[item] = min(max(middle, low), high)


def _wishes(
    row: Sequence[int], x: Sequence[float], around: dict[int, list[tuple[int, float]]], softness: float
) -> tuple[list[float], list[float]]:
    wishes: list[float] = []
    weights: list[float] = []
    for item in row:
        pulls = [(x[other], weight / (abs(x[other] - x[item]) + softness + 0.1)) for other, weight in around[item]]
        total = sum(weight for _, weight in pulls)
        wishes.append(sum(at * weight for at, weight in pulls) / total if pulls else x[item])
        weights.append(total if pulls else 1e-6)
    return wishes, weights


def _gaps(row: Sequence[int], reach: Sequence[tuple[float, float]]) -> list[float]:
    """Return the least distance of each item from the one to its left; 0 for the first."""
    return [0.0, *(reach[left][1] + reach[right][0] for left, right in pairwise(row))][: len(row)]


def spread(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """Find the positions nearest to the wishes that keep the gaps, by pooling adjacent violators.

    Args:
        wishes: Where each item should be, from left to right.
        weights: How much that matters, above 0; the weighted sum of squared distances is made least.
        gaps: The least distance of each item from the one to its left; the first one is not used.

    Returns:
        The positions.
    """
    offsets: list[float] = []
    pools: list[tuple[float, float, int]] = []
    offset = 0.0
    for wish, weight, gap in zip(wishes, weights, gaps, strict=True):
        offset += gap
        offsets.append(offset)
        mean, total, count = wish - offset, weight, 1
        while pools and pools[-1][0] > mean:
            other, mass, size = pools.pop()
            mean = (mean * total + other * mass) / (total + mass)
            total, count = total + mass, count + size
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _reaches(successors: dict[str, list[str]], start: str, goal: str) -> bool:
    seen, ready = {start}, [start]
    while ready:
        node = ready.pop()
        if node == goal:
            return True
        fresh = [target for target in successors.get(node, ()) if target not in seen]
        seen.update(fresh)
        ready += fresh
    return False


def _neighbours(links: Sequence[tuple[int, int]]) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    above: dict[int, list[int]] = defaultdict(list)
    below: dict[int, list[int]] = defaultdict(list)
    for upper, lower in links:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _depth_first(row_of: Sequence[int], below: dict[int, list[int]]) -> list[int]:
    """List the items so that what hangs together comes together, in the order of declaration."""
    found: dict[int, None] = {}
    for start in sorted(range(len(row_of)), key=lambda item: row_of[item]):
        ready = [start]
        while ready:
            item = ready.pop()
            if item not in found:
                found[item] = None
                ready += reversed(below[item])
    return list(found)


def _sort_by_barycenter(
    row: list[int], rows: Sequence[Sequence[int]], neighbours: dict[int, list[int]], row_of: Sequence[int]
) -> None:
    """Sort a row by the mean place of each item's neighbours; an item without any keeps its relative place."""
    place: dict[int, float] = {}
    for number, item in enumerate(row):
        others = neighbours[item]
        row_places = rows[row_of[others[0]]] if others else ()
        index = {other: at for at, other in enumerate(row_places)}
        place[item] = (
            sum(index[other] for other in others) / (len(others) * max(1, len(index) - 1))
            if others
            else (number / max(1, len(row) - 1))
        )
    row.sort(key=lambda item: place[item])


def _crossings(rows: Sequence[Sequence[int]], below: dict[int, list[int]]) -> int:
    crossings = 0
    for upper, lower in pairwise(rows):
        place = {item: at for at, item in enumerate(lower)}
        ended: list[int] = []
        for item in upper:
            ends = sorted(place[other] for other in below[item])
            crossings += sum(len(ended) - bisect_left(ended, end + 1) for end in ends)
            for end in ends:
                insort(ended, end)
    return crossings
