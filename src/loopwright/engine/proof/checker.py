"""A second opinion on a certificate: the part that a sceptic reads. It shares no code with the prover.

It reads the compiled graph's own edges. Along none may a path gain more supersteps than the witness's `level` grows,
with what a pass of a loop may add (`detour`). So no run is longer than the highest level with all passes' detours, and
every cycle crosses a gate. What it cannot check it refuses, as "not checked".
"""

from collections import Counter
from typing import Any

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.proof.certificate import Certificate

_DISPATCHER = "loop..dispatch"


def check_certificate(graph: Any, certificate: Certificate) -> list[str]:  # noqa: C901 - read in one piece
    """Check that a certificate holds for a graph: that no figure in it is less than what is proven.

    Args:
        graph: What `bounded` returned.
        certificate: Its certificate, or one that was kept.

    Returns:
        Objections in plain words; none if it is accepted.
    """
    if not hasattr(graph, "jumps"):
        return ["not checked: this graph was not made by bounded(), so nothing holds its nodes to known ways"]
    witness, specs, loops = certificate.witness, graph.builder.nodes, {loop.name: loop for loop in graph.loops}
    if not certificate.bounded or certificate.unbounded_cycles or witness is None:
        return ["it carries no proof that the graph is bounded"]
    if own := [loop.removeprefix("limit:") for loop in witness.passes if loop.startswith("limit:")]:
        return [f"not checked: LangChain's own limit of {', '.join(own)}"]
    runnables = {n: getattr(spec.runnable, "bound", spec.runnable) for n, spec in specs.items()}
    inner: dict[str, Any] = {n: child for n, child in runnables.items() if isinstance(child, CompiledStateGraph)}
    if inner.keys() != witness.inner.keys():
        return [f"the graphs inside are {sorted(inner)}, not {sorted(witness.inner)}"]
    if found := [f"{n}: {said}" for n, child in inner.items() for said in check_certificate(child, witness.inner[n])]:
        return found

    def scopes(loop: Any) -> int:
        return 1 if loop.scope == "run" else passes(loops[loop.scope]) + 1

    def passes(loop: Any) -> int:
        return loop.ceiling * scopes(loop) + loop.first_free

    if witness.passes != (most := {name: passes(loop) for name, loop in loops.items()}):
        return [f"the gates grant {most}, not {witness.passes}"]
    named, sent = _edges(graph)
    runs, steps, wrong = _count(graph, named, sent, START, (witness.level, witness.within, witness.detour), most)
    if not wrong and any(source == _DISPATCHER and end != END for source, end in named):  # a budget's fallback, at last
        last = _count(graph, named, sent, _DISPATCHER, (witness.closing, {}, {}), dict.fromkeys(most, 0))
        runs, steps, wrong = runs + last[0], steps + 1 + last[1], last[2]
    if wrong:
        return wrong
    handled = {(n, spec.error_handler_node) for n, spec in specs.items() if spec.error_handler_node}
    for node, handler in handled:  # it runs in the superstep of the node that failed
        runs[handler] += runs[node]
    unknown = {end for (_, end), width in sent.items() if width is None}
    unknown |= {end for _, end in graph.builder.crossed if end not in graph.builder.fan_out}
    while more := {end for source, end in {*sent, *handled} if source in unknown} - unknown:
        unknown |= more
    by_node = {node: None if node in unknown else runs[node] for node in specs if node != _DISPATCHER}
    if certificate.max_runs_by_node.keys() != by_node.keys():
        return [f"the nodes are {sorted(by_node)}, not {sorted(certificate.max_runs_by_node)}"]

    def total(what: str, each: int = 0) -> float | None:
        found: float = 0
        for node, runs in by_node.items():
            own = each or ((specs[node].metadata or {}).get(f"loopwright_max_{what}") if node in graph.jumps else 0)
            cost = getattr(witness.inner[node], f"max_{what}") if node in inner else own
            if runs is None or cost is None:
                return None
            found += runs * (cost + each * (node in inner))
        return found

    seconds, calls, budget = total("seconds"), total("model_calls"), graph.budget
    waits = sum(scopes(loop) * loop.backoff.total(loop.ceiling) for loop in graph.loops if loop.backoff)
    proven: dict[str, float | None] = {
        "max_supersteps": steps, "max_node_runs": total("node_runs", 1), "max_tokens": budget and budget.tokens,
        "max_seconds": None if seconds is None else seconds + waits,
        "max_model_calls": min((n for n in (calls, budget and budget.model_calls) if n is not None), default=None),
    }  # fmt: skip
    figures = {name: (getattr(certificate, name), least) for name, least in proven.items()}
    figures |= {f"max_runs_by_node of {n}": (certificate.max_runs_by_node[n], runs) for n, runs in by_node.items()}
    return [
        f"{name} is at least {least}, as far as is proven, not {said}"
        for name, (said, least) in figures.items()
        if said is not None and (least is None or said < least - 1e-9 * abs(least))
    ]


def _edges(graph: Any) -> tuple[set[tuple[str, str]], dict[tuple[str, str], int | None]]:
    """Where control goes by name, granted passes and joins apart; and by Send, with how many (None: not declared)."""
    builder, named, sent = graph.builder, set(graph.builder.edges), dict[tuple[str, str], int | None]()
    written = {n for n in graph.jumps if not builder.nodes[n].is_error_handler}
    routers = [(n, branch) for n, branches in builder.branches.items() for branch in branches.values()]
    ways = [(n, branch.path.ways, branch.ends and branch.ends.values()) for n, branch in routers]
    for node in graph.jumps:
        served = [n for n, its in builder.nodes.items() if its.error_handler_node == node]
        ways += [(source, graph.nodes[node].bound.ways, builder.nodes[node].ends) for source in served or [node]]
    for source, its, declared in ways:
        known = {*written, END} if its.known is None else its.known
        for end in {*(declared or (its.gates[end].gate if end in its.gates else end for end in known))}:
            if its.sends and end in written:
                width = builder.fan_out.get(end)
                sent[source, end] = width if width is None else width + (sent.get((source, end)) or 0)
            else:
                named.add((source, end))
    named |= (
        {(_DISPATCHER, end) for end in builder.nodes[_DISPATCHER].ends or ()} if _DISPATCHER in graph.nodes else set()
    )
    for loop in graph.loops:
        own: Any = {} if isinstance(loop.exhausted, str) else loop.exhausted
        for asking in {source for source, end in named if own and end == loop.gate}:
            for source in {asking} & own.keys() or own:  # who is refused has asked
                named |= {(asking, f"{loop.gate}:{source}"), (f"{loop.gate}:{source}", own[source])}
        named |= {(loop.gate, route) for route in (loop.own_routes if own else loop.fallbacks)}
    return named, sent


def _count(
    graph: Any, named: set[Any], sent: dict[Any, int | None], start: str, levels: Any, most: dict[str, int]
) -> tuple[Counter[str], int, list[str]]:
    """Node -> how often it can run, how many supersteps there can be, and the edges that prove it of neither."""
    level, inside, detour = levels
    back = {loop.name: (loop.gate, loop.target) for loop in graph.loops if most[loop.name]}
    joins = [*graph.builder.waiting_edges]
    ordinary = named | {(source, end) for sources, end in joins for source in sources}
    deferred = {node for node, spec in graph.builder.nodes.items() if spec.defer}
    # A deferred node waits for all that runs, and behind it paths begin anew anywhere: then no loop is ever left.
    within = {v: set(back).intersection(back if deferred else inside.get(v, ())) for v in level}
    room = {loop: most[loop] * detour.get(loop, 0) for loop in back}
    if level.get(start) != 0 or min(*level.values(), *detour.values(), 0) < 0:
        return Counter(), 0, ["no level may be < 0"]
    ways = [(*way, "") for way in sorted(ordinary | sent.keys()) if way[0] in level and way[1] != END]
    ways += [(*way, loop) for loop, way in back.items() if way[0] in level]
    wrong: list[str] = []
    for source, end, loop in ways:
        least = level[source] + 1 + sum(room[left] for left in within[source] - within.get(end, set()))
        least -= detour.get(loop, 0) if loop in within.get(end, ()) else 0
        if end not in level or level[end] < least:
            wrong.append(f"the edge {source} -> {end} proves a level of {least}, not {level.get(end)}")
    if wrong:
        return Counter(), 0, wrong
    late = {v: level[v] + sum(room[loop] for loop in within[v]) for v in level}
    steps = max(late[v] for v in level if v in graph.nodes or v == start)
    if deferred:  # on one path, each is waited for once between two passes
        steps = max(level.values()) * (1 + len(deferred) * (1 + sum(most.values()))) + sum(room.values())
    # A gate sends on what waits before it, and is itself never sent to.
    crossing = {loop.name for loop in graph.loops for source in loop.sources
                if (source, loop.target) in graph.builder.crossed}  # fmt: skip
    widths = sent | {way: graph.builder.fan_out.get(way[1]) for loop, way in back.items() if loop in crossing}
    tasks = {v: {u: n for (u, end), n in widths.items() if end == v and n is not None} for v in level}
    by_name = {v: {u for u, end in {*ordinary, *back.values()} if end == v} for v in level}
    into = {v: [u for u, end in named | sent.keys() if end == v and u in level] for v in level}
    grants = {gate: most[loop] for loop, (gate, _) in back.items()}
    # By time: a run in each superstep in which something leads to a node, up to its latest; and each task that is sent.
    active, runs, last = Counter[str](), Counter[str](), Counter({start: 1})
    exact = not deferred and steps * len(ways) <= 2_000_000
    for step in range(1, steps + 1 if exact else 1):
        ends = {end for source, end, _ in ways if source in last and step <= late[end]}
        last = Counter(
            {v: bool(by_name[v] & last.keys()) + sum(last[u] * n for u, n in tasks[v].items()) or 1 for v in ends}
        )
        active.update(last.keys())
        runs.update(last)
    widest = Counter[str]()
    for v in sorted(level.keys() - {start}, key=lambda v: level[v]):
        if not exact:
            widest[v] = bool(by_name[v]) + sum(max(widest[u], 1) * n for u, n in tasks[v].items()) or 1
            active[v], runs[v] = steps, steps * widest[v]
        # By inflow: as often as what leads to it, and as passes are granted; what is sent to a node does not wait.
        active[start] = runs[start] = 1
        entries = sum(most[loop] for loop, (_, end) in back.items() if end == v)
        entries += sum(min(active[source] for source in sources) for sources, end in joins if end == v)
        twice = v in deferred and any((u, v) in sent for u in into[v])
        active[v] = min(active[v], entries + sum(active[u] for u in into[v]) * (2 if twice else 1))
        entries += sum(active[u] for u in into[v] if (u, v) in named)
        entries += sum(grants.get(u, runs[u]) * n for u, n in tasks[v].items())
        runs[v] = min(runs[v], entries) if tasks[v] else active[v]
    return runs, min(steps, sum(active[v] for v in graph.builder.nodes if v != start)), []
