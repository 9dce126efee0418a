"""Tells whether a checkpoint was written by the graph that is about to go on from it.

A run that goes on with another graph would lose its place, or repeat work under other rules. The structure's hash is
in the ledger; a resume compares. Limits, prompts and code may change between two starts.
"""

import hashlib
import json
from collections.abc import Collection
from typing import Any

from langgraph.checkpoint.base import CheckpointTuple

from loopwright.engine.ledger import LEDGER, OF_THE_RUN
from loopwright.engine.proof.read import builder_of, read_topology, subgraphs
from loopwright.errors import GraphChanged

FORCE = "loopwright_force"
"""The key of a config's ``configurable`` that lets a run go on with a changed graph."""


def structure_of(graph: Any) -> str:
    """A hash of the nodes, fixed edges and loops of a graph and of those inside, not of limits and routers."""
    topology = read_topology(graph)
    gates = {loop.gate for loop in topology.loops}
    # Edges that do not depend on whether a router's source can be read here.
    fixed = (edge for edge in topology.edges if edge.kind in ("static", "join") and edge.target not in gates)
    edges = sorted([edge.source, edge.target, edge.kind] for edge in fixed)
    loops = sorted(
        [loop.name, loop.target, *sources]
        for loop in topology.loops
        for sources in ([loop.sources] if isinstance(loop.exhausted, str) else [(source,) for source in loop.exhausted])
    )
    inner = {node: structure_of(child) for node, child in sorted(subgraphs(builder_of(graph)).items())}
    text = json.dumps([sorted(topology.nodes), edges, loops, inner])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def require_same_graph(name: str, structure: str, nodes: Collection[str], saved: CheckpointTuple) -> None:
    """Refuse, with `GraphChanged`, to go on from a checkpoint that a graph of another structure wrote.

    One without a hash was not written by a bounded graph, and is let pass.
    """
    written = saved.checkpoint["channel_values"].get(LEDGER, {}).get(OF_THE_RUN, {}).get("graph")
    if written in (None, structure):
        return
    ran = [node for node in saved.checkpoint["versions_seen"] if not node.startswith("__")]
    gone = sorted(set(ran) - set(nodes))
    missing = f" Of the nodes that ran, it has no {', '.join(map(repr, gone))} any more." if gone else ""
    thread = saved.config.get("configurable", {}).get("thread_id")
    raise GraphChanged(
        f"thread {thread!r} was begun by a graph of another structure ({written}) "
        f"than {name!r} has now ({structure}).{missing} Resume it with the graph that began it, start a new thread, or "
        f"go on all the same: resume(..., force=True), --force, or {{'configurable': {{'{FORCE}': True}}}} as config.",
        written,
    )
