"""Where the nodes of a neighbourhood are drawn: linked ones close together, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEP = (230.0, 120.0)
_GAP = (26.0, 22.0)
_ROUNDS = 400


def positions(sizes: Sequence[tuple[float, float]], links: Sequence[tuple[int, int]]) -> Floats:
    """Place boxes in the plane; the same boxes and links always give the same places.

    The places are those of T. Kamada and S. Kawai, "An algorithm for drawing general undirected graphs", Information
    Processing Letters 31, 1989, spread wider than high as boxes with words are; boxes that overlap then move apart.

    Args:
        sizes: Width and height of each box, in pixels.
        links: Pairs of boxes that belong together, by their numbers.

    Returns:
        The centre of each box, in pixels, shape (boxes, 2).
    """
    if not sizes:
        return np.empty((0, 2))
    graph: Any = networkx.Graph()
    graph.add_nodes_from(range(len(sizes)))
    graph.add_edges_from((left, right) for left, right in links if left != right)
    steps: dict[int, dict[int, int]] = dict(networkx.all_pairs_shortest_path_length(graph))
    apart = 1 + max(max(lengths.values()) for lengths in steps.values())
    distances = {
        left: {right: steps[left].get(right, apart) for right in range(len(sizes))} for left in range(len(sizes))
    }
    placed: dict[int, Any] = networkx.kamada_kawai_layout(graph, dist=distances)
    centres = np.array([placed[number] for number in range(len(sizes))], dtype=np.float64)
    # The algorithm scales its drawing to the unit square; here one step between nodes has a length.
    lengths = [float(np.hypot(*(centres[left] - centres[right]))) for left, right in graph.edges]
    centres = centres / (float(np.mean(lengths)) if lengths else 1.0) * _STEP
    return _without_overlaps(centres, np.array(sizes, dtype=np.float64) + _GAP)


def _without_overlaps(centres: Floats, boxes: Floats) -> Floats:
    """Push overlapping boxes apart, each pair along the way that is shorter, until none is left or rounds run out."""
    centres = centres.copy()
    reach = (boxes[:, None] + boxes[None]) / 2
    order = np.arange(len(boxes))
    # Where two boxes have the same centre, their numbers say which goes where.
    tie = np.sign(order[:, None] - order[None]).astype(np.float64)[..., None]
    for _ in range(_ROUNDS):
        between = centres[:, None] - centres[None]
        overlap = reach - np.abs(between)
        hit: NDArray[np.bool_] = np.min(overlap, axis=2) > 0.5
        np.fill_diagonal(hit, False)
        if not hit.any():
            break
        direction = np.where(between == 0, tie, np.sign(between))
        shorter = overlap[..., 0] < overlap[..., 1]
        along = np.stack([shorter, ~shorter], axis=2) & hit[..., None]
        centres += (along * direction * overlap).sum(axis=1) / 2
    return centres
