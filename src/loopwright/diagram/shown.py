"""A graph as pages, pictures and ``graph show --format json`` have it: one value, made in one place."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.constants import END, START

from loopwright.config import Frozen
from loopwright.diagram.flowchart import ShownEdge, arrows, caption, shown_nodes
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.read import builder_of, read_topology, subgraphs
from loopwright.engine.proof.verify import verify


class NodeInfo(Frozen):
    """What people are shown of a node."""

    label: str
    """What people call it."""
    icon: str = ""
    """An emoji, or nothing."""
    has_llm: bool = False
    """Whether it asks a chat model where one is configured."""
    prompt: str | None = None
    """The id of its prompt, or None without one."""
    description: str = ""
    """What it does, in a sentence."""


class ShownNode(NodeInfo):
    """A node of the picture."""

    name: str
    """Its name in the graph; ``__start__`` and ``__end__`` for entry and exit."""
    kind: Literal["start", "node", "end"]
    """What it is."""
    max_runs: int | None = None
    """How often it can run at most; None if that is not known."""


class ShownLoop(Frozen):
    """A bounded loop of the picture."""

    name: str
    """Its name."""
    gate: str
    """The name of its gate node, which the picture leaves out."""
    target: str
    """The node that a granted pass enters."""
    sources: tuple[str, ...]
    """The nodes that ask for a pass."""
    limit: str
    """The limit in words."""
    exhausted: tuple[str, ...]
    """Where control goes when the bound is reached."""


class ShownGraph(Frozen):
    """A graph without gates and hidden nodes, with its loops and its certificate."""

    name: str
    """The graph's name."""
    nodes: tuple[ShownNode, ...]
    """The nodes in the order of declaration, ``__start__`` first and ``__end__`` last."""
    edges: tuple[ShownEdge, ...]
    """The arrows."""
    loops: tuple[ShownLoop, ...]
    """The bounded loops."""
    certificate: Certificate
    """The worst case of one run, known before it starts."""
    inside: dict[str, ShownGraph] = {}  # noqa: RUF012 - pydantic copies it
    """Node that is a graph itself -> that graph."""


def shown_graph(graph: Any) -> ShownGraph:
    """Describe a graph as it is shown.

    Raises:
        GraphError: If it is no graph that can be read.
    """
    topology, certificate = read_topology(graph), verify(graph)
    kinds: dict[str, Literal["start", "end"]] = {START: "start", END: "end"}
    runs = certificate.max_runs_by_node
    return ShownGraph(
        name=topology.name,
        nodes=tuple(
            ShownNode(name=name, kind=kinds.get(name, "node"), label=caption(name), max_runs=runs.get(name))
            for name in shown_nodes(topology)
        ),
        edges=arrows(topology),
        loops=tuple(
            ShownLoop(name=loop.name, gate=loop.gate, target=loop.target, sources=loop.sources,
                      limit=loop.limit_text, exhausted=loop.fallbacks)
            for loop in topology.loops
        ),
        certificate=certificate,
        inside={node: shown_graph(inner) for node, inner in subgraphs(builder_of(graph)).items()},
    )  # fmt: skip
