"""A second opinion on a certificate: the part that a sceptic reads. It shares no code with the prover.

It reads the compiled graph's own edges, and the wrappers that hold nodes and routers to them. Along every edge the
witness's `level` must grow, so nothing goes round but through a gate, whose passes fall back by their `detour`. A run
is then no longer than the highest level and all detours. What cannot be checked is refused, as "not checked".
"""

from collections import Counter
from math import inf
from typing import Any

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.proof.certificate import Certificate

TRUSTED = "not checked: that LangChain's own limits grant no more than"
"""With what is said of a limit that is no gate's begins."""


def check_certificate(graph: Any, certificate: Certificate) -> list[str]:
    """Objections, in plain words, to a certificate of what `bounded` returned; none if all its figures are proven."""
    if not hasattr(graph, "certificate"):
        return ["not checked: this graph was not made by bounded(), so nothing holds its nodes to known ways"]
    witness, specs = certificate.witness, graph.builder.nodes
    if not certificate.bounded or certificate.unbounded_cycles or witness is None:
        return ["it carries no proof that the graph is bounded"]
    runnables = {n: getattr(spec.runnable, "bound", spec.runnable) for n, spec in specs.items()}
    inner: dict[str, Any] = {n: child for n, child in runnables.items() if isinstance(child, CompiledStateGraph)}
    if inner.keys() != witness.inner.keys():
        return [f"the graphs inside are {sorted(inner)}, not {sorted(witness.inner)}"]
    inside = [f"{n}: {said}" for n, child in inner.items() for said in check_certificate(child, witness.inner[n])]
    if any(TRUSTED not in each for each in inside):
        return inside
    scopes = {"run": 1}  # how often a loop of that scope begins to count
    while loose := [loop for loop in graph.loops if loop.scope in scopes and loop.name not in scopes]:
        scopes |= {loop.name: scopes[loop.scope] * loop.ceiling + loop.first_free + 1 for loop in loose}
    trusted = {name: most for name, most in witness.passes.items() if name.startswith("limit:")}  # LangChain's own
    if witness.passes != (most := {loop.name: scopes[loop.name] - 1 for loop in graph.loops} | trusted):
        return [f"the gates grant {most}, not {witness.passes}"]
    named, sent, held = _edges(graph)
    named, sent = _onward(dict.fromkeys(named), trusted), _onward(sent, trusted)
    runs, steps, wrong = _count(graph, named, sent, START, witness.level, witness.detour, most)
    if not wrong and any(source == "loop..dispatch" and end != END for source, end in named):  # the budget's fallback
        more, last, wrong = _count(graph, named, sent, "loop..dispatch", witness.closing, {}, Counter())
        runs, steps = runs + more - Counter(["loop..dispatch"]), steps + 1 + last  # a step, and no run of a node
    if wrong:
        return wrong
    for node, handler in {(n, spec.error_handler_node) for n, spec in specs.items() if spec.error_handler_node}:
        runs[handler] += runs[node]  # it runs in the superstep of the node that failed
    limits = graph.budget.limits if graph.budget else {}
    proven = {"max_supersteps": steps, "max_tokens": limits.get("tokens", inf)}
    proven |= {f"max_runs_by_node of {n}": runs[n] for n in specs}
    for what in ("node_runs", "seconds", "model_calls"):
        own = {n: 1 if what == "node_runs" else inf if n in held.keys() - inner.keys() else 0 for n in specs}
        costs = [((specs[n].metadata or {}).get(f"loopwright_max_{what}", cost), runs[n]) for n, cost in own.items()]
        costs += [(getattr(child, f"max_{what}"), runs[n]) for n, child in witness.inner.items()]
        costs += [(loop.backoff.total(loop.ceiling), scopes[loop.scope])
                  for loop in graph.loops if loop.backoff and what == "seconds"]  # fmt: skip
        spent = sum(n * (inf if cost is None else cost) for cost, n in costs if n)
        proven[f"max_{what}"] = min(spent, limits.get(what, inf) if what == "model_calls" else inf)
    said = vars(certificate) | {f"max_runs_by_node of {n}": most for n, most in certificate.max_runs_by_node.items()}
    return [
        f"{name} is at least {least}, as far as is proven, not {said.get(name, 0)}"
        for name, least in proven.items()
        if (one := said.get(name, 0)) is not None and one * (1 + 1e-9) < least
    ] + [*inside, *[f"{TRUSTED} {trusted}"] * bool(trusted)]


def _onward(ways: Any, trusted: Any) -> Any:
    """The ways with those apart, as from a gate of its own, that a node's own limit grants: all but to the end."""
    limits = {name.removeprefix("limit:"): name for name in trusted}
    ends = {end for _, end in ways if end == END or end.endswith(".after_agent")}
    return {(u if end in ends else limits.get(u, u), end): width for (u, end), width in ways.items()}


def _edges(graph: Any) -> tuple[set[tuple[str, str]], Counter[Any], dict[str, Any]]:
    """Where control goes by name, passes and joins apart; by Send, and how wide; and what holds each node to that."""
    builder, named, sent = graph.builder, set(graph.builder.edges), Counter[Any]()
    held = {n: node.bound.ways for n, node in graph.nodes.items() if hasattr(node.bound, "ways")}
    senders = [(n, branch.path.ways) for n, branches in builder.branches.items() for branch in branches.values()]
    for node, ways in held.items():
        served = [n for n, spec in builder.nodes.items() if spec.error_handler_node == node]
        senders += [(source, ways) for source in served or [node]]
    anywhere = {n for n in held if not builder.nodes[n].is_error_handler} | {END}
    for source, ways in senders:
        for end in anywhere if ways.known is None else ways.known:
            end = ways.gates[end].gate if end in ways.gates else end
            if ways.sends and end in held:
                sent[source, end] += builder.fan_out.get(end, inf)
            else:
                named.add((source, end))
    named |= {(n, end) for n, spec in builder.nodes.items() if n == "loop..dispatch" for end in spec.ends or ()}
    for loop in graph.loops:
        own: Any = {} if isinstance(loop.exhausted, str) else loop.exhausted
        for asking in {source for source, end in named if own and end == loop.gate}:
            for source in {asking} & own.keys() or own:  # who is refused has asked
                named |= {(asking, f"{loop.gate}:{source}"), (f"{loop.gate}:{source}", own[source])}
        named |= {(loop.gate, route) for route in (() if own else loop.fallbacks)}
        if builder.crossed & {(source, loop.target) for source in loop.sources}:  # what waits is sent on with a pass
            sent[loop.gate, loop.target] = builder.fan_out.get(loop.target, inf)
    return named, sent, held


def _count(graph: Any, named: Any, sent: Any, start: str, level: Any, detour: Any, most: Any) -> Any:
    """How often each node can run, in how many supersteps; and the edges along which the witness does not hold."""
    joins, nodes = graph.builder.waiting_edges, graph.builder.nodes
    waits = {v for v in level if getattr(nodes.get(v.partition(":")[0]), "defer", False)}
    passes = {(loop.gate, loop.target): loop.name for loop in graph.loops}
    passes |= {(name.removeprefix("limit:"), name): name for name in most if ":" in name}
    plain = {*named, *(sent.keys() - passes.keys()), *((u, end) for sources, end in joins for u in sources)}
    ways = [(*way, 0) for way in plain if way[1] != END]
    ways += [(*way, detour.get(name, 0)) for way, name in passes.items() if most[name]]
    wrong = [f"the edge {u} -> {v} proves a level of {level[u] + 1 - less}, not {level.get(v)}" for u, v, less in ways
             if u in level and (v not in level or level[v] <= level[u] - less)]  # fmt: skip
    if wrong or level.get(start) != 0 or min(detour.values(), default=0) < 0:
        return Counter(), 0, wrong or ["no level and no detour may be less than 0"]
    added = sum(most[name] * detour.get(name, 0) for name in passes.values())
    # A run of a node goes back along a path to an origin: the start, a pass, or a node that waits for others.
    springs, paths, everywhere = {start: 1}, {start: {start: 1}}, Counter[str]()  # origin -> lengths of paths, as bits
    active, runs = Counter({start: 1}), Counter[Any]({start: 1})
    for v in sorted(level.keys() - {start}, key=lambda v: level[v]):
        into = {u for u, end in named if end == v}
        sending = {u: width for (u, end), width in sent.items() if end == v and (u, v) not in passes}
        springs[v] = sum(most[name] for way, name in passes.items() if way[1] == v)
        springs[v] += sum(min(active[u] for u in sources) for sources, end in joins if end == v)
        entries, paths[v] = springs[v] + sum(active[u] for u in into), Counter({v: 1})
        if v in waits:  # what is sent to it does not wait: it runs at once, and again where it is named
            springs[v] = entries + 2 * sum(active[u] for u in sending)
        for u in {*into, *sending} & paths.keys() if v not in waits else ():
            for origin, lengths in paths[u].items():
                paths[v][origin] |= lengths << 1
        active[v] = sum(springs[origin] * lengths.bit_count() for origin, lengths in paths[v].items())
        active[v] = active[v] if waits else min(active[v], level[v] + added)
        tasks = [(runs[u], width) for u, width in sending.items()]
        tasks += [(most[name], sent[way]) for way, name in passes.items() if way[1] == v and way in sent]
        runs[v] = entries + sum(n * width for n, width in tasks if n) if tasks else active[v]
        for origin, lengths in paths[v].items() if v in graph.nodes else ():
            everywhere[origin] |= lengths
    steps = sum(springs[origin] * lengths.bit_count() for origin, lengths in everywhere.items())
    return runs, steps if waits else min(steps, max(level.values()) + added), []
