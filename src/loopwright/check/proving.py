"""The proof of `loopwright.engine.proof.verify`, for graphs that were read from source."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from loopwright.check.counters import counter_of, key_of, with_helpers
from loopwright.check.found import END, START, FoundGraph, FoundLoop, Place
from loopwright.check.values import ClassValue, FunctionValue, GraphValue, held_in
from loopwright.engine.proof.choice import Choice, choose, cycles_of, loop_name, loop_text
from loopwright.engine.proof.graph import AS_DECLARED, Edge, Topology, reached, refusal_of
from loopwright.engine.proof.source import UNKNOWN, returned_words
from loopwright.engine.proof.syntax import every

Verdict = Literal["bounded", "unbounded", "not proven", "unreachable", "not read"]
"""What is known of a graph.

``not proven``: each of its cycles may be bounded by something that nobody counts on, a counter that was written by
hand; ``unreachable``: no path from the start reaches one of its nodes.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong with a graph."""

    rule: Literal["unbounded-cycle", "unproven-cycle", "unreachable-node", "graph-not-read"]
    """Which rule it breaks."""
    place: Place
    """Where; of a cycle, where the edge is written that closes it."""
    why: str
    """What is wrong, in one line."""
    cycle: tuple[str, ...] = ()
    """The nodes of the cycle, in order; those of a graph within a node as ``node/inner``."""
    suggestion: str | None = None
    """The source code of what would bound it, said once for all cycles that it bounds."""

    @property
    def way(self) -> str:
        """The cycle as people write it."""
        return " -> ".join((*self.cycle, *self.cycle[:1]))

    @property
    def message(self) -> str:
        """What is wrong, with the cycle."""
        return f"{self.why}: {self.way}" if self.cycle else self.why


def cycle_finding(cycle: tuple[str, ...], place: Place, suggestion: str | None, hope: str | None = None) -> Finding:
    """The finding for a cycle that crosses no bound, or none but what nobody counts on."""
    if hope:
        return Finding("unproven-cycle", place, f"not proven: {hope}", cycle, suggestion)
    return Finding("unbounded-cycle", place, "cycle without a bound", cycle, suggestion)


def _not_read(place: Place, why: str) -> Finding:
    return Finding("graph-not-read", place, f"not read: {why}")


@dataclass(frozen=True, slots=True)
class Proof:
    """What is known of a graph."""

    cycles: tuple[Finding, ...] = ()
    """Cycles that cross no bound."""
    lost: Mapping[str, Finding] = field(default_factory=dict[str, Finding])
    """Nodes that no path from the start reaches."""
    problem: Finding | None = None
    """What could not be read; then nothing is proven."""
    unread: tuple[Finding, ...] = ()
    """What may lead anywhere; without a cycle that is known, nothing is proven then."""
    missed: bool = False
    """Whether it has nodes or ways that were not read, which come first among these."""
    assumptions: tuple[str, ...] = ()
    """What the proof rests on."""
    notes: tuple[str, ...] = ()
    """What else is worth saying."""

    def verdict(self, partial: bool) -> tuple[Verdict, tuple[Finding, ...]]:
        """What is known, and what is wrong; `partial` where more may be added to the graph."""
        if self.problem:
            return "not read", (self.problem,)
        lost = {} if partial or self.unread else self.lost
        cycles = tuple(cycle for cycle in self.cycles if cycle.cycle[0].partition("/")[0] not in lost)
        if cycles:
            hoped = all(cycle.rule == "unproven-cycle" for cycle in cycles)
            more = self.unread[:1] if hoped or self.missed else ()  # there may be others
            return "not proven" if hoped else "unbounded", (*cycles, *lost.values(), *more)
        if lost:
            return "unreachable", tuple(lost.values())
        return ("not read" if self.unread else "bounded"), self.unread[:1]


def prove(graph: FoundGraph, known: dict[FoundGraph, Proof], read: dict[Any, Any]) -> Proof:
    """Look for cycles that cross no bound, in a graph and in those that are nodes of it; `known` were looked at."""
    if graph not in known:
        known[graph] = Proof(problem=_not_read(graph.place, "it is a node of itself"))
        known[graph] = _proven(graph, known, read)
    return known[graph]


def _proven(graph: FoundGraph, proven: dict[FoundGraph, Proof], read: dict[Any, Any]) -> Proof:
    base, loops, fallbacks = graph, list[FoundLoop](), set[str]()
    while base.problem is None and base.origin is not None:  # bounded one time after the other
        loops += base.loops or ()
        fallbacks |= {*base.fallbacks}
        base = base.origin
    if base.problem:
        return Proof(problem=_not_read(*base.problem))
    edges = base.all_edges()
    known = {START, END, *base.nodes}
    strange = ((name, place) for edge, place in edges for name in (edge.source, edge.target) if name not in known)
    for name, place in () if base.missed else strange:
        return Proof(problem=_not_read(place, f"there is no node {name!r}"))
    entered = {way for loop in loops for way in loop.exhausted.values()} | fallbacks
    on_the_way = reached(_ways(base, edges), (START, *entered))
    apart = ((name, node.place) for name, node in base.nodes.items() if name not in on_the_way)
    lost = {name: Finding("unreachable-node", at, f"no path from the start reaches {name!r}") for name, at in apart}
    limited = graph.origin is not None and graph.loops is None  # bounded(limit=...) bounds the graphs inside, too
    cycles, notes = list[Finding](), base.notes
    if not limited and not base.bounds:
        for loop in loops:
            if not base.missed and (problem := _misfit(loop, base, edges, fallbacks)):
                return Proof(problem=_not_read(graph.place, problem))
        cycles, entered_at = _cycles(base, _gated(edges, loops), [loop.name for loop in loops], read)
        notes += entered_at
    inner = {name: prove(node.graph, proven, read) for name, node in base.nodes.items() if node.graph}
    if problems := [proof.problem for proof in inner.values() if proof.problem]:
        return Proof(problem=problems[0])
    inside = [
        replace(cycle, cycle=tuple(f"{name}/{node}" for node in cycle.cycle), suggestion=None)
        for name, proof in inner.items()
        for cycle in (() if limited else proof.cycles[:MOST_INSIDE])
    ]
    cycles += [replace(cycle, suggestion=WHOLE) for cycle in inside[:1]] + inside[1:]
    rests_on = [*base.assumptions, *(text for proof in inner.values() for text in proof.assumptions)]
    unread = [_not_read(*each) for each in base.missed]
    around = {base, *(each for each, proof in proven.items() if proof.problem)}  # those that are being proven
    running = [(node.place, name, node.functions) for name, node in base.nodes.items()]
    running += [(route.place, route.source, route.functions) for route in base.routes]
    for place, name, functions in () if cycles else running:  # a cycle tells enough
        called, again = _called(functions, around, read)
        calls = f"{name} calls {len(called)} graph(s) inside; their steps and passes are not counted here"
        rests_on += [calls] if called else []
        unread += [_not_read(place, f"what runs at {name!r} {CALLED_AGAIN}")] if again else []
    if graph.origin:  # what bounded() compiles refuses a jump that nobody declared
        rests_on = [text for text in rests_on if text != AS_DECLARED]
    else:
        routers = [each for route in base.routes if route.declared for each in route.functions]
        declared = any(node.declared and node.words is None for node in base.nodes.values())
        if declared or any(returned_words(each.helper) is None for each in routers):  # what they return was not read
            rests_on.append(AS_DECLARED)
        own = ((name, node) for name, node in base.nodes.items() if node.unread)
        unread += (_not_read(node.place, f"node {name!r}: {node.unread}") for name, node in own)
        unread += (why for proof in inner.values() for why in proof.unread[:1])
    missed = bool(base.missed) or any(proof.missed for proof in inner.values())
    return Proof(tuple(cycles), lost, None, tuple(unread), missed, tuple(dict.fromkeys(rests_on)), notes)


def _called(functions: Sequence[Any], around: Set[FoundGraph], read: dict[Any, Any]) -> tuple[set[FoundGraph], bool]:
    """The graphs that functions run, as far as they are known, and whether they may run one of those `around`."""
    called, seen, again = set[FoundGraph](), dict[Any, Any](), False
    waiting, made = [*functions], {graph.made_by for graph in around}
    while found := {at: each for each in with_helpers(waiting, read, 1) if (at := key_of(each)) not in seen}:
        seen |= found
        waiting = [each for each in found.values() if each.bound is not UNKNOWN]  # the others are a guess
        again = again or any(not made.isdisjoint(every(each.node)) for each in waiting)  # it makes it once more
        values = [value for each in waiting for value in each.mentions()]
        for value in values:
            match value:
                case FunctionValue():
                    waiting.append(value)
                case ClassValue():  # an object of it may be made
                    values += [value.find("__init__")]
                case GraphValue(graph=graph):
                    inner = graph.origin or graph
                    again = again or not around.isdisjoint((graph, inner))
                    called |= {inner} - around
                    waiting += (each for part in (*inner.nodes.values(), *inner.routes) for each in part.functions)
                case _:
                    held = held_in(value, bound=False)
                    values += (each for each in held if isinstance(each, GraphValue | FunctionValue))
    return called, again


def _misfit(
    loop: FoundLoop, graph: FoundGraph, edges: Sequence[tuple[Edge, Place]], fallbacks: Collection[str]
) -> str | None:
    known = {END, *graph.nodes, *fallbacks}
    for node in (loop.target, *loop.sources, *loop.exhausted.values()):
        if node not in known:
            return f"loop {loop.name!r} names a node {node!r} that is not there"
    pairs = {(edge.source, edge.target) for edge, _ in edges}
    for source in loop.sources:
        if (source, loop.target) not in pairs:
            return f"loop {loop.name!r}: there is no edge {source} -> {loop.target}"
    return None


def rings(graph: FoundGraph) -> set[tuple[str, ...]]:
    """The cycles of a graph, whatever bounds them, but for those of graphs inside."""
    follow = _ways(graph, graph.all_edges())
    return {*cycles_of(choose(follow), follow)}


def _gated(edges: Sequence[tuple[Edge, Place]], loops: Sequence[FoundLoop]) -> list[tuple[Edge, Place]]:
    """The edges with gates in the loops' ways, without those that a gate grants: a gate grants a counted number."""
    for loop in loops:
        gate, by_source = f"loop.{loop.name}", len(set(loop.exhausted.values())) > 1
        moved: list[tuple[Edge, Place]] = []
        for edge, place in edges:
            if edge.source not in loop.sources or edge.target != loop.target or edge.kind == "handler":
                moved.append((edge, place))
                continue
            refusal = refusal_of(loop.name, edge.source) if by_source else gate
            moved.append((Edge(edge.source, refusal, "request"), place))
            moved.append((Edge(refusal, loop.exhausted[edge.source], "exhausted"), place))
        edges = moved
    return [*edges]


MOST_INSIDE = 20
"""Of a graph that is a node, no more cycles than these are told: a graph in it may be in it many times."""

CALLED_AGAIN = "may call the graph that it is in; how often, no import tells either"
BY_LIMIT = "bounded(GRAPH, limit=5)  # an error handler goes round"

WHOLE = "bounded(GRAPH, limit=5)  # bounds the graphs inside it, too"
"""What bounds the cycles of graphs that are nodes, and of agents, whose middleware has nodes that are not read."""


def _ways(graph: FoundGraph, edges: Sequence[tuple[Edge, Place]]) -> dict[str, dict[str, None]]:
    """Node -> the nodes that it leads to, both in the order of declaration; gates and a fallback too."""
    nodes = dict.fromkeys((*graph.nodes, *(edge.target for edge, _ in edges)))
    return Topology("", tuple(nodes), tuple(edge for edge, _ in edges)).ways()


def _cycles(
    graph: FoundGraph, edges: Sequence[tuple[Edge, Place]], taken: Collection[str], read: dict[Any, Any]
) -> tuple[list[Finding], tuple[str, ...]]:
    follow = _ways(graph, edges)
    places = {(edge.source, edge.target): place for edge, place in reversed(edges)}
    choices = choose(follow)
    counters = {cycle: counter_of(cycle, graph, read) for cycle in cycles_of(choices, follow)}
    hopes = "; ".join(graph.hopes) or None
    limits = {cycle: counter[1] for cycle, counter in counters.items() if counter}
    suggestions = suggested(choices, [*counters], [edge for edge, _ in edges], graph.compiled_as, taken, limits)
    if graph.made and counters:  # a Loop would name nodes that are not there
        suggestions = {next(iter(counters)): WHOLE}
    cycles = [
        cycle_finding(nodes, places[nodes[-1], nodes[0]], suggestions.get(nodes), counter[0] if counter else hopes)
        for nodes, counter in counters.items()
    ]
    passed = {node for nodes in counters for node in nodes}
    assumed = sorted({edge.source for edge, _ in edges if edge.kind == "assumed"} & passed)
    notes = [
        f"a cycle through {choice.target!r} has several entrances; bounded(limit=5) lets its first visit pass uncounted"
        for choice in choices
        if choice.first_free
    ]
    notes += [
        f"where {node!r} goes was not read, so any node is assumed; if it does not go back, name them: "
        "-> Literal[...] of its router, or -> Command[Literal[...]]"
        for node in assumed
    ]
    return cycles, tuple(notes)


def suggested(
    choices: Sequence[Choice],
    cycles: Sequence[tuple[str, ...]],
    edges: Sequence[Edge],
    name: str | None,
    taken: Collection[str] = (),
    limits: Mapping[tuple[str, ...], str] = {},
) -> dict[tuple[str, ...], str]:
    """One `Loop` for each node at which it goes round, with the first cycle that it bounds.

    `taken` are the names of the loops that the graph `name` has, `limits` those that hand-written counters have.
    """
    found, names = dict[tuple[str, ...], str](), {*taken}
    direct = {(edge.source, edge.target) for edge in edges if edge.kind != "handler"}
    joined = {(edge.source, edge.target) for edge in edges if edge.kind == "join"}
    for choice in choices:
        target, sources = choice.target, choice.sources
        crossed = [cycle for cycle in cycles if cycle[0] == target and cycle[-1] in sources]
        if not crossed:
            continue
        known = [limits[cycle] for cycle in crossed if cycle in limits]
        # Where several cycles share one Loop, a counter of one of them does not tell how many passes all of them take.
        limit = ("..." if len(crossed) > 1 else known[0]) if known else "5"
        gates = [node.split(".", 1)[1].partition(":")[0] for node in (target, *sources) if node.startswith("loop.")]
        if gates:
            found[crossed[0]] = f"exhausted='__end__'  # of the Loop {gates[0]!r}, whose own route leads back into it"
        elif any((source, target) not in direct for source in sources):  # whose nodes have names of LangGraph's own
            found[crossed[0]] = BY_LIMIT
        else:
            names.add(label := loop_name(target, name, names))
            if any((source, target) in joined for source in sources):  # what waits for several goes round as a whole
                sources = dict.fromkeys((*sources, *sorted(source for source, end in joined if end == target)))
            found[crossed[0]] = loop_text(label, target, sources, limit)
    return found
