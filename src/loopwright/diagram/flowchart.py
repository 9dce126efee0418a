"""What a diagram of a graph shows, and its text in Mermaid.

Gates and hidden nodes are not shown: a loop is one arrow from each of its sources to its target, labelled with its name
and its limit, and an arrow to where control goes when the bound is reached::

    graph TD
        START([START]) --> planner[Planner]
        planner --> executor[Executor]
        executor --> summarizer[Summarizer]
        summarizer -->|replan, at most 2 passes| planner
        summarizer -->|done, or replan bound reached| END([END])

An arrow that may or may not be taken is solid where its label says when, and dotted where nothing says so; ``on error``
and ``assumed`` are always dotted.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

from langgraph.constants import END, START

from loopwright.config import Frozen
from loopwright.engine.loop import Loop
from loopwright.engine.proof.graph import Edge, EdgeKind, Topology
from loopwright.errors import ConfigError

_UNCONDITIONAL: frozenset[EdgeKind] = frozenset({"static", "join"})
_UNCERTAIN: frozenset[EdgeKind] = frozenset({"handler", "assumed"})

_MERMAID_WORDS = frozenset(
    "end graph flowchart subgraph default style linkstyle classdef class click href call direction interpolate "
    "accdescr acctitle start td tb bt lr rl br v _self _blank _parent _top".split()
)
_BARE_TEXT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_, ]*")
_TO_ENCODE = re.compile(r"""[!"#$%&'*+;<>?@\[\\\]^`{|}~]""")
_LIST_MARK = re.compile(r"^(\d*)([.)-])")


class ShownEdge(Frozen):
    """An arrow of the picture: every way from one shown node to another."""

    source: str
    """The node that it leaves; ``__start__`` for the entry."""
    target: str
    """The node that it enters; ``__end__`` for the exit."""
    label: str
    """When it is taken; empty if nothing is to be said."""
    dotted: bool
    """Whether nothing says when it is taken, or only an error takes it."""
    loop: str | None
    """The loop whose granted pass it is, or None."""


def arrows(topology: Topology) -> tuple[ShownEdge, ...]:
    """List what is drawn: one arrow for each pair of shown nodes that control can pass between.

    They stand by source in the order of declaration, ``__start__`` first; of each source those to ``__end__`` last.
    """
    passages: dict[tuple[str, str], list[list[Edge]]] = defaultdict(list)
    for source in shown_nodes(topology):
        for passage in _passages(topology, source):
            passages[source, passage[-1].target].append(passage)
    found = [_arrow(source, target, ways, topology.loops) for (source, target), ways in passages.items()]
    order = {node: index for index, node in enumerate(shown_nodes(topology))}
    return tuple(sorted(found, key=lambda arrow: (order[arrow.source], arrow.target == END)))


def shown_nodes(topology: Topology) -> tuple[str, ...]:
    """List the nodes that a diagram shows: neither gates nor hidden ones, ``__start__`` first and ``__end__`` last."""
    unseen = topology.hidden | {loop.gate for loop in topology.loops}
    return (START, *(node for node in topology.nodes if node not in unseen), END)


def caption(node: str) -> str:
    """Write a node's name for a reader: ``nodes_and_edges_grading`` is shown as ``Nodes And Edges Grading``."""
    if node in (START, END):
        return "START" if node == START else "END"
    words = re.sub(r"[_\s]+", " ", node).strip().split(" ")
    return " ".join(word[:1].title() + word[1:] for word in words).strip() or "(blank)"


def mermaid(topology: Topology) -> str:
    """Write a graph as a Mermaid flowchart, top down, with a newline at its end."""
    ids = _identifiers(shown_nodes(topology))
    boxed: set[str] = set()

    def mention(node: str) -> str:
        if node in boxed:
            return ids[node]
        boxed.add(node)
        shape = "([{}])" if node in (START, END) else "[{}]"
        return ids[node] + shape.format(_escaped(caption(node)))

    lines = ["graph TD"]
    for arrow in arrows(topology):
        line = "-.->" if arrow.dotted else "-->"
        text = f"|{_escaped(arrow.label)}|" if arrow.label else ""
        lines.append(f"    {mention(arrow.source)} {line}{text} {mention(arrow.target)}")
    lines += [f"    {mention(node)}" for node in shown_nodes(topology)[1:-1] if node not in boxed]
    return "\n".join(lines) + "\n"


def _passages(topology: Topology, source: str) -> Iterator[list[Edge]]:
    """Yield each way from a shown node to the next shown one: an edge, or one into a gate and what the gate decides.

    Each source of a loop has all of its fallbacks, or its own.
    """
    decided: dict[str, list[Edge]] = {loop.gate: [] for loop in topology.loops}
    for loop in topology.loops:
        routes = [loop.fallback_of(source)] if source in loop.sources else loop.fallbacks  # as an error handler's node
        decided[loop.gate].append(Edge(loop.gate, loop.target, "granted"))
        decided[loop.gate] += [Edge(loop.gate, route, "exhausted") for route in routes]
    for edge in topology.edges:
        if edge.source == source and edge.target in decided:
            yield from ([edge, behind] for behind in decided[edge.target])
        elif edge.source == source and edge.target not in topology.hidden:
            yield [edge]


def _arrow(source: str, target: str, ways: list[list[Edge]], loops: tuple[Loop, ...]) -> ShownEdge:
    """Merge the ways between two nodes; where one has a label, the others get a word, so that none is overlooked."""
    ways = sorted(ways, key=lambda way: any(edge.kind == "exhausted" for edge in way))
    if {edge.kind for way in ways for edge in way} == {"static", "handler"}:
        # Control goes there in any case, after an error too.
        ways = [way for way in ways if way[0].kind == "static"]
    gates = {loop.gate: loop for loop in loops}
    said = [_label(way, gates) for way in ways]
    labels = [text or _unsaid(way) for text, way in zip(said, ways, strict=True)] if any(said) else []
    dotted = all(_is_dotted(way, text) for text, way in zip(said, ways, strict=True))
    granted = next((gates[edge.source].name for way in ways for edge in way if edge.kind == "granted"), None)
    label = ", or ".join(dict.fromkeys(labels))
    return ShownEdge(source=source, target=target, label=label, dotted=dotted, loop=granted)


def _label(way: list[Edge], gates: dict[str, Loop]) -> str:
    """Say when a way is taken; empty if nothing is known beyond where it leads."""
    words: list[str] = []
    for edge in way:
        loop = gates.get(edge.source)
        if edge.kind == "exhausted" and loop is not None:
            # What the router said led to the gate; that the gate refused is what leads here.
            words = [f"{loop.name} bound reached"]
        elif edge.kind == "granted" and loop is not None:
            words = [word for word in words if word != loop.name]
            most = loop.limit_text
            passes = f"at most {most} pass{'es' * (most != '1')}" if most.isdecimal() else f"limit {most}"
            words.append(f"{loop.name}, {passes}")
        elif edge.kind in ("handler", "assumed") or (edge.kind == "join" and len(way) == 1):
            words.append("on error" if edge.kind == "handler" else edge.kind)
        elif edge.label and edge.label not in (edge.target, way[-1].target, caption(way[-1].target)):
            words.append(edge.label)
    return ": ".join(words)


def _unsaid(way: list[Edge]) -> str:
    if all(edge.kind in _UNCONDITIONAL for edge in way):
        return "always"
    return "done" if way[-1].target == END else "chosen"


def _is_dotted(way: list[Edge], label: str) -> bool:
    kinds = {edge.kind for edge in way}
    if "exhausted" in kinds or "granted" in kinds:
        return False
    return bool(kinds & _UNCERTAIN) or not (label or kinds <= _UNCONDITIONAL)


def _identifiers(nodes: tuple[str, ...]) -> dict[str, str]:
    """Give every node an identifier that Mermaid accepts; two names never share one."""
    ids = {START: "START", END: "END"}
    taken = {"start", "end"}
    for node in nodes:
        if node in ids:
            continue
        safe = re.sub(r"[^A-Za-z0-9_]+", "_", node).strip("_")
        if not safe or not safe[0].isalpha() or safe.lower() in _MERMAID_WORDS:
            safe = f"node_{safe}".rstrip("_")
        names = chain([safe], (f"{safe}_{number}" for number in count(2)))
        ids[node] = next(name for name in names if name.lower() not in taken)
        taken.add(ids[node].lower())
    return ids


def _escaped(text: str) -> str:
    """Write a label so that Mermaid shows exactly this text, in quotes where a bare one could be misread."""
    text = " ".join("".join(character if character.isprintable() else " " for character in text).split())
    if not text:
        return '" "'  # Mermaid refuses an empty string
    if _BARE_TEXT.fullmatch(text) and not _MERMAID_WORDS & set(re.split(r"[ ,]+", text)):
        return text
    encoded = _TO_ENCODE.sub(lambda match: f"#{ord(match[0])};", text)
    # "1. Plan" or "- plan" at the start would be taken for a Markdown list.
    encoded = _LIST_MARK.sub(lambda match: f"{match[1]}#{ord(match[2])};", encoded)
    return f'"{encoded}"'


def save_mermaid(topology: Topology, folder: Path) -> Path:
    """Write a graph's diagram to ``graph_structure.mmd`` in a folder, which is made if it is missing; the file.

    Raises:
        ConfigError: If the folder cannot be written.
    """
    path = folder / "graph_structure.mmd"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(mermaid(topology), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write the diagram {path}: {error.strerror}; set langgraph.log_dir") from error
    return path
