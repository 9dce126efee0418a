"""`bounded`: any LangGraph graph in, a graph that always stops out."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from loopwright.engine.binding import Builder, bind, copy_builder
from loopwright.engine.books import HIDDEN
from loopwright.engine.bounded_graph import BoundedGraph, as_bounded
from loopwright.engine.budgets import Budget
from loopwright.engine.course import RECURSION_LIMIT
from loopwright.engine.fan_out import limit_sends
from loopwright.engine.fingerprint import structure_of
from loopwright.engine.loops import Loop, is_count
from loopwright.engine.proof import step_limit, verify
from loopwright.engine.reading import builder_of, read_topology
from loopwright.errors import GraphError

logger = logging.getLogger("loopwright.loops")


FALLBACK = "fallback"
"""The node of the ``fallback`` function that `bounded` was given."""


_CARRIED = {
    "checkpointer": "checkpointer", "store": "store", "cache": "cache", "name": "name", "debug": "debug",
    "interrupt_before": "interrupt_before_nodes", "interrupt_after": "interrupt_after_nodes",
    "transformers": "stream_transformers",
}  # fmt: skip
"""Option of LangGraph's ``compile`` -> the attribute of a compiled graph that keeps it."""


def bounded(
    graph: StateGraph[Any, Any, Any, Any] | CompiledStateGraph[Any, Any, Any, Any],
    loops: Loop | Sequence[Loop] = (),
    *,
    limit: int | None = None,
    fallback: Callable[..., Any] | None = None,
    budget: Budget | None = None,
    fan_out: Mapping[str, int] | None = None,
    **compile_options: Any,
) -> BoundedGraph:
    """Bound every cycle of a graph, prove it, and compile it.

    Args:
        graph: A graph that somebody wrote, compiled or not; it is left untouched.
        loops: Where it goes round and how often. Without any, `limit` bounds every cycle: the edges that close a cycle
            are chosen, and the `Loop`s that were chosen are logged, ready to paste.
        limit: Passes per loop, when no `loops` are given.
        fallback: A node function that answers when a bound is reached. It becomes the node ``fallback``: with `limit`
            every loop leads there, a `budget` that names no route does, and so does each `Loop` that names it.
        budget: What a run may spend on model calls, tokens, money and time.
        fan_out: Node -> how many ``Send``s at most reach it from one run of a router or node; more is an error, and the
            certificate counts with it.
        **compile_options: As for LangGraph's ``compile``; what a compiled graph had is carried over unless given.

    Returns:
        The compiled graph, with its certificate. Its step limit follows from the certificate.

    Raises:
        LoopDeclarationError: If a loop does not fit the graph.
        UnboundedCycleError: If a cycle is left that crosses no bound; it names every cycle found.
        GraphError: If a node cannot be reached, or neither `loops` nor `limit` is given for a graph that has cycles.
    """
    builder = builder_of(graph)
    loops = [loops] if isinstance(loops, Loop) else loops
    if budget and compile_options.get("checkpointer", getattr(graph, "checkpointer", None)) is False:
        raise GraphError("checkpointer=False and a budget exclude each other: its fallback needs the state of the run")
    if limit is not None and not is_count(limit):
        raise GraphError(f"limit is {limit!r}: give a whole number of passes, from 0")
    if loops and limit is not None:
        raise GraphError("give either loops, which have their own limits, or limit, which bounds every cycle")
    if fallback is not None:
        builder = _with_fallback(builder, fallback)
        if budget and not budget.exhausted:
            budget = dataclasses.replace(budget, exhausted=FALLBACK)
        leads_there = limit is not None or (budget and budget.exhausted == FALLBACK)
        if not (leads_there or any(FALLBACK in loop.fallbacks for loop in loops)):
            raise GraphError(f"nothing leads to the fallback: let a Loop name it, {FALLBACK!r}, or give a limit")
    if limit is not None:
        loops = choose_loops(builder, limit, exhausted=FALLBACK if fallback else END)
        for loop in loops:
            logger.info(
                "chosen: Loop(name=%r, target=%r, sources=%r, limit=%r)", loop.name, loop.target, loop.sources, limit
            )
    if fan_out:
        builder = copy_builder(builder)
        limit_sends(builder, fan_out)
    bound = bind(builder, loops, budget)
    certificate = verify(bound).require()
    compiled = bound.compile(**_compile_options(graph, builder, compile_options))
    if isinstance(graph, CompiledStateGraph) and graph.config:
        compiled = compiled.with_config(graph.config)
    if steps := step_limit(certificate, bound):
        steps = min(steps, (compiled.config or {}).get(RECURSION_LIMIT, steps))
        compiled = compiled.with_config(recursion_limit=steps)
    shown = [key for key in compiled.stream_channels_list if key not in HIDDEN]
    return as_bounded(
        compiled,
        {
            "stream_channels": shown,
            "loops": bound.loops,
            "budget": budget,
            "certificate": certificate,
            "structure": structure_of(compiled),
        },
    )


def _compile_options(graph: Any, builder: Builder, given: dict[str, Any]) -> dict[str, Any]:
    carried: dict[str, Any] = {}
    if isinstance(graph, CompiledStateGraph):
        carried = {option: getattr(graph, attribute) for option, attribute in _CARRIED.items()}
    options = {**{option: value for option, value in carried.items() if value}, **given}
    for option in ("interrupt_before", "interrupt_after"):
        if options.get(option) == "*":  # every node, but not the gates
            options[option] = [node for node, spec in builder.nodes.items() if not spec.is_error_handler]
    return options


def _with_fallback(builder: Builder, fallback: Callable[..., Any]) -> Builder:
    if FALLBACK in builder.nodes:
        raise GraphError(
            f"the graph has a node {FALLBACK!r} already: declare the loops and name it in their 'exhausted'"
        )
    copied = copy_builder(builder)
    copied.add_node(FALLBACK, fallback)
    copied.add_edge(FALLBACK, END)
    return copied


def choose_loops(builder: Builder, limit: int, exhausted: str = END) -> tuple[Loop, ...]:
    """Choose the edges that close a cycle, and declare a loop for each node that they lead to.

    A walk through the graph from its start, in the order of declaration, finds the edges that lead back to a node on
    the path walked.

    Args:
        builder: The graph.
        limit: Passes per loop.
        exhausted: Where control goes when a bound is reached.

    Returns:
        The loops; empty for a graph without cycles.

    Raises:
        GraphError: If a cycle closes in an error handler, which no gate can stand before.
    """
    follow: dict[str, list[str]] = {START: [], END: []}
    edges = read_topology(builder).edges
    only_handlers = {(edge.source, edge.target) for edge in edges if edge.kind == "handler"}
    only_handlers -= {(edge.source, edge.target) for edge in edges if edge.kind != "handler"}
    for edge in edges:
        targets = follow.setdefault(edge.source, [])
        if edge.target not in targets:
            targets.append(edge.target)
    back = _back_edges(follow)
    sources: dict[str, list[str]] = {}
    for source, target in back:
        if (source, target) in only_handlers:
            raise GraphError(
                f"the error handler of {source!r} leads back to {target!r}; bound that with the node's retries"
            )
        # A join goes back as a whole: it waits for all its sources, so all of them ask.
        joined = [
            start for starts, end in builder.waiting_edges if end == target and source in starts for start in starts
        ]
        sources.setdefault(target, []).extend([source, *joined])
    return tuple(
        Loop(name=target, target=target, sources=tuple(froms), limit=limit, exhausted=exhausted)
        for target, froms in sources.items()
    )


def _back_edges(follow: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    back: list[tuple[str, str]] = []
    done: set[str] = set()
    path = {START}
    stack: list[tuple[str, Iterator[str]]] = [(START, iter(follow[START]))]
    while stack:
        node, targets = stack[-1]
        target = next(targets, None)
        if target is None:
            stack.pop()
            path.discard(node)
            done.add(node)
        elif target in path:
            back.append((node, target))
        elif target not in done:
            path.add(target)
            stack.append((target, iter(follow.get(target, ()))))
    return back
