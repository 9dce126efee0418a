"""The certificate of a graph that is proven bounded: what one run can cost at most, and what that rests on."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any

from langgraph.graph import END, START
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.bind import BoundBuilder
from loopwright.engine.gate import DISPATCHER, is_engine_node
from loopwright.engine.loop import RUN, Loop
from loopwright.engine.proof.agent_limits import own_limits
from loopwright.engine.proof.certificate import Certificate
from loopwright.engine.proof.choice import choose
from loopwright.engine.proof.counting import count
from loopwright.engine.proof.fan_out import FanOut, read_fan_out
from loopwright.engine.proof.graph import AS_DECLARED, Topology, limit_of, limits_apart, refusals_apart
from loopwright.engine.proof.read import Builder, read_destinations, read_topology, subgraphs


def worst_case(
    builder: BoundBuilder, topology: Topology, inner: Mapping[str, Certificate], limits: Mapping[str, int]
) -> Certificate:
    """The certificate of a graph that is proven bounded, with those of the graphs inside and its `own_limits`."""
    loops, budget, specs = builder.loops, builder.budget, builder.nodes
    fan_out = read_fan_out(builder, topology)
    joins = {end: [starts for starts, at in builder.waiting_edges if at == end] for _, end in builder.waiting_edges}
    by_name = {loop.name: loop for loop in loops}

    def total(loop: Loop) -> int:  # a scoped loop's limit counts anew for every outer pass
        return loop.ceiling * (1 if loop.scope == RUN else total(by_name[loop.scope]) + 1) + loop.first_free

    passes = {loop.name: total(loop) for loop in loops} | {limit_of(node): most for node, most in limits.items()}
    counted = partial(
        count,
        topology=topology,
        joins=joins,
        # A gate that goes on by source stands once more for each, as ``GATE:SOURCE``.
        deferred={node for node in topology.ways() if getattr(specs.get(node.partition(":")[0]), "defer", False)},
        fan_out=fan_out,
    )
    found, supersteps, why = counted(START, passes=passes)
    runs, closing = Counter[Any](found), dict[str, int]()
    if {*topology.ways().get(DISPATCHER, ())} - {END}:
        # When the run's budget is spent, the engine goes to the fallback from here, and nothing goes round any more.
        last, more, behind = counted(DISPATCHER, passes=dict.fromkeys(passes, 0))
        runs.update(last)
        supersteps += 1 + more
        closing = behind.level
    for node, spec in specs.items():
        if spec.error_handler_node:  # which runs in the superstep of a node that failed, of each one that it serves
            runs[spec.error_handler_node] += runs[node]
    nodes = [node for node in topology.nodes if node != DISPATCHER]
    by_node: dict[str, int | None] = {node: None if runs[node] == inf else runs[node] for node in nodes}
    seconds = _total(builder, by_node, inner, "seconds")
    calls = _total(builder, by_node, inner, "model_calls"), budget and budget.model_calls
    scopes = ((loop, 1 if loop.scope == RUN else passes[loop.scope] + 1) for loop in loops)  # how often each begins
    waits = sum(times * loop.backoff.total(loop.ceiling) for loop, times in scopes if loop.backoff)
    return Certificate(
        bounded=True,
        max_supersteps=supersteps,
        max_runs_by_node=by_node,
        max_node_runs=_total(builder, by_node, inner, "node_runs"),
        max_model_calls=min((most for most in calls if most is not None), default=None),
        max_seconds=None if seconds is None else seconds + waits,
        max_tokens=budget and budget.tokens,
        assumptions=tuple(assumptions_of(builder, topology, fan_out, limits)),
        witness=why.model_copy(update={"closing": closing, "inner": dict(inner)}),
    )


def _total(builder: Builder, by_node: Mapping[str, int | None], inner: Mapping[str, Certificate], what: str) -> Any:
    """The sum over nodes of runs times what one run costs at most; None as soon as one is unknown."""
    total: float = 0
    for node, runs in by_node.items():
        unsaid = 1 if what == "node_runs" else 0 if node in inner or is_engine_node(node) else None
        own = (builder.nodes[node].metadata or {}).get(f"loopwright_max_{what}", unsaid)
        inside = getattr(inner[node], f"max_{what}") if node in inner else 0
        if own is None or inside is None or runs is None:
            return None
        total += runs * (own + inside)
    return total


def _held(builder: Builder) -> bool:
    """Whether `bounded` refuses, while the graph runs, what the proof does not count with, in graphs inside it too."""
    held = isinstance(builder, BoundBuilder) and builder.held
    return held and all(_held(child.builder) for child in subgraphs(builder).values())


def assumptions_of(
    builder: BoundBuilder, topology: Topology, fan_out: FanOut, limits: Mapping[str, int] | None = None
) -> Iterator[str]:
    """What a certificate rests on and the engine cannot check, one sentence each."""
    nodes = [node for node in builder.nodes if not is_engine_node(node)]
    yield "a node's own code ends: a loop inside a node, or in a graph that it makes while it runs, is not seen"
    if not _held(builder):  # what is compiled by `bounded` is held to it while it runs
        yield AS_DECLARED
    onward = topology.hidden | {edge.source for edge in topology.edges}
    if ends := [node for node in nodes if node not in onward]:
        yield f"{', '.join(ends)} has no way on: LangGraph ends that branch there"
    if assumed := sorted({edge.source for edge in topology.edges if edge.kind == "assumed"}):
        yield f"the routers of {', '.join(assumed)} name no destinations: any node is assumed"
    if unknown := sorted(node for node, senders in fan_out.widths.items() if inf in senders.values()):
        yield f"how many Sends reach {', '.join(unknown)} at once is not declared, so their runs are not counted"
    for node, senders in ((node, its) for node, its in fan_out.widths.items() if node not in unknown):
        sent = ", ".join(f"{width} from {sender}" for sender, width in senders.items())
        yield f"one run sends at most so many tasks to {node} (fan_out; bounded() refuses more): {sent}"
    if builder.budget:
        yield (
            "what a budget counts is what LangChain or record_usage() reports; calls in flight can go over its tokens, "
            "money and seconds"
        )
    if builder.metered:
        yield (
            "a model call from a thread that a node starts itself is counted if the thread is handed the node's "
            "config, or runs in a copy of its context; one that is handed neither is not"
        )
    for node, most in (limits or {}).items():
        yield f"{node} lets control go on at most {most} times (LangChain's own limit; a resume may begin it anew)"
    if retried := [node for node in nodes if builder.nodes[node].retry_policy]:
        yield f"retries of {', '.join(retried)} are attempts of one run, not runs of their own"
    for node, graphs in _calls(builder):
        yield f"{node} calls {len(graphs)} graph(s) inside; their steps and passes are not counted here"
        if any(map(_goes_round, graphs)):
            yield f"{node} calls a graph that nothing bounds but its recursion_limit"
    yield "a resume or an interrupt's answer runs the tasks that were in flight again"


def _calls(builder: Builder, *around: Builder) -> Iterator[tuple[str, Sequence[Any]]]:
    """Each node that calls graphs, itself or by a router, by its path through graphs that are nodes, and these."""
    for node, does in read_destinations(builder).items():
        if does.graphs:
            yield node if isinstance(node, str) else node[0], does.graphs
    for node, child in subgraphs(builder).items():
        if all(child.builder is not outer for outer in (*around, builder)):
            yield from ((f"{node}/{name}", graphs) for name, graphs in _calls(child.builder, *around, builder))


def calling_back(builder: Builder, *around: Builder) -> list[str]:
    """The nodes that call the graph that they are in, or one that calls itself, as `_calls` names them."""
    around = (*around, builder)
    called = ((node, each) for node, graphs in _calls(builder) for each in graphs)
    inside = [(node, each.builder) for node, each in called if isinstance(each, CompiledStateGraph)]
    return [node for node, its in inside if its in around or calling_back(its, *around)]


def _goes_round(graph: Any, *around: Any) -> bool:
    """Whether a graph, or one inside it, goes round without a gate or a limit of its own."""
    if not isinstance(graph, CompiledStateGraph):
        return False
    if any(graph.builder is each.builder for each in around):
        return True
    apart = refusals_apart(read_topology(graph.builder), getattr(graph.builder, "loops", ()))
    apart = limits_apart(apart, own_limits(graph.builder, apart.ways(granted=True)))
    inside = [*subgraphs(graph.builder).values(), *(each for _, called in _calls(graph.builder) for each in called)]
    return bool(choose(apart.ways())) or any(_goes_round(each, graph, *around) for each in inside)
