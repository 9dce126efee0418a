"""`bounded`: any LangGraph graph in, a graph that always stops out."""

import dataclasses
import logging
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from inspect import signature
from itertools import chain, count
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import NonNegativeInt

from loopwright.engine.bind import BoundBuilder, bind, copy_builder, declared, watch, watch_routers
from loopwright.engine.budget.budget import Budget
from loopwright.engine.budget.meter import this_run
from loopwright.engine.events.reasons import shorten
from loopwright.engine.gate import is_engine_node
from loopwright.engine.graph import BoundedGraph, as_bounded
from loopwright.engine.kinds import fits
from loopwright.engine.langgraph_private import ROOT, read, write_with
from loopwright.engine.ledger import LEDGER, STOP_REASON, fresh_books
from loopwright.engine.loop import Loop
from loopwright.engine.nodes.fallback import FALLBACK, last_word, require_state, way_out
from loopwright.engine.nodes.inner import bounded_inside
from loopwright.engine.proof.choice import choose, loop_name, loop_text
from loopwright.engine.proof.fingerprint import structure_of
from loopwright.engine.proof.reach import followed_once, unwrapped
from loopwright.engine.proof.read import Builder, builder_of, read_topology
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError, UnboundedCycleError, unknown_name_message

logger = logging.getLogger("loopwright.loops")

_CARRIED = {
    "checkpointer": "checkpointer", "store": "store", "cache": "cache", "name": "name", "debug": "debug",
    "interrupt_before": "interrupt_before_nodes", "interrupt_after": "interrupt_after_nodes",
    "transformers": "stream_transformers",
}  # fmt: skip
"""Option of LangGraph's ``compile`` -> the attribute of a compiled graph that keeps it."""


@followed_once()
def bounded(
    graph: StateGraph[Any, Any, Any, Any] | CompiledStateGraph[Any, Any, Any, Any],
    loops: Loop | Sequence[Loop] = (),
    *,
    limit: int | None = None,
    warn_at: int = 0,
    fallback: Callable[..., Any] | None = None,
    budget: Budget | None = None,
    fan_out: Mapping[str, int] | None = None,
    **compile_options: Any,
) -> BoundedGraph:
    """Bound every cycle of a graph, prove it, and compile it.

    Args:
        graph: A graph that somebody wrote, compiled or not; it is left untouched.
        loops: Where it goes round and how often.
        limit: Passes of every cycle that `loops` leave, in graphs inside it too: the edges that close a cycle are
            chosen, and the `Loop`s that were chosen are logged, ready to paste.
        warn_at: With `limit`, from so many passes left on, a message in the state key ``messages`` tells the model how
            many, as `Loop.warn_at` does; 0 tells nothing.
        fallback: A node function that answers when a bound is reached: by a state update or, for a state's
            ``messages``, text or messages. It finds ``stop_reason`` in a state that is a dict. It becomes the node
            ``fallback``: with `limit` every own loop leads there, a `budget` without a route, and a `Loop` naming it.
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
    loops = declared(loops)
    _check_arguments(graph, limit, warn_at, fallback, budget, {"fan_out": fan_out, **compile_options})
    builder = drawn = copy_builder(builder)
    builder.validate().compiled = False  # what LangGraph's own compiling refuses is said in its words
    if fallback is last_word:  # nobody wrote that node
        builder = copy_builder(builder)
    builder.way_out = end = way_out(builder)
    if fallback is not None:
        budget, end = _with_fallback(builder, fallback, loops, limit, budget), FALLBACK
    reports = bounded_inside(builder, limit, warn_at, bounded)
    if fallback not in (None, last_word) and reports and FALLBACK not in builder.nodes:
        logger.warning("the fallback is not used: only graphs inside go round, so give them one of their own")
    own = [*loops]
    if limit is not None:
        left = bind(builder, own, fan_out=fan_out) if own else builder
        chosen = choose_loops(left, limit, end, getattr(graph, "name", None), warn_at)
        own += chosen
        for loop in chosen:
            logger.info("chosen: %s", _written_out(loop))
    bound = bind(builder, own, budget, fan_out, reports=reports)
    _check_fallbacks(builder, {*(node for loop in own for node in loop.fallbacks), budget and budget.exhausted})
    certificate = verify(bound)
    own_gates = any(is_engine_node(node) for cycle in certificate.unbounded_cycles for node in cycle)
    if not certificate.bounded and not own_gates:  # else a fallback leads back into its own loop: the route is wrong
        advice = [f"Declare {', '.join(map(_written_out, found))}"] if (found := choose_loops(bound, limit=5)) else []
        advice += ["give a limit for every cycle that no Loop bounds, in graphs inside too: limit=5"]
        raise UnboundedCycleError(certificate.unbounded_cycles, certificate.doubt + "; or ".join(advice))
    certificate.require()
    return _compiled(graph, drawn, bound, certificate, compile_options)


def _check_arguments(graph: Any, limit: Any, warn_at: Any, fallback: Any, budget: Any, more: Mapping[str, Any]) -> None:
    """Refuse what cannot be meant, before LangGraph or pydantic stumble over it."""
    options = signature(StateGraph.compile).parameters
    known = {*signature(bounded).parameters, *options} - {"self", "compile_options"}
    wrapped = any(option.kind is option.VAR_KEYWORD for option in options.values())  # by somebody who traces it
    for name in () if wrapped else more.keys() - known:
        raise GraphError(unknown_name_message("argument", name, known))
    if limit is not None and not fits(limit, NonNegativeInt):
        raise GraphError(f"limit is {limit!r}: give a whole number of passes, from 0")
    if not fits(warn_at, NonNegativeInt) or (warn_at and limit is None):
        raise GraphError(f"warn_at is {warn_at!r}: give a whole number, from 0, and a limit; a Loop has its own")
    if budget is not None and not isinstance(budget, Budget):
        raise GraphError(f"budget is {budget!r}: give a Budget, for example Budget(model_calls=20)")
    if fallback is not None and not callable(fallback) and not hasattr(fallback, "invoke"):
        raise GraphError(f"fallback is {fallback!r}: give a node function, or name a node in a Loop's 'exhausted'")
    fan_out, saver = more["fan_out"], more.get("checkpointer")
    if fan_out and not (isinstance(fan_out, Mapping) and all(isinstance(node, str) for node in cast("Any", fan_out))):
        raise GraphError(f"fan_out is {fan_out!r}: give node -> most Sends, for example {{'work': 10}}")
    if isinstance(saver, str | AbstractContextManager | AbstractAsyncContextManager) and not hasattr(saver, "put"):
        raise GraphError(f"checkpointer is {saver!r}: give a saver: `with open_checkpointer('sqlite:x.db') as saver`")
    if budget and more.get("checkpointer", getattr(graph, "checkpointer", None)) is False:
        raise GraphError("checkpointer=False and a budget exclude each other: its fallback needs the state of the run")


def _check_fallbacks(builder: Builder, named: Set[str | None]) -> None:
    for node in builder.nodes.keys() & named:
        function: Any = unwrapped(builder.nodes[node].runnable)
        given: dict[str, Any] = {}
        if "func_accepts" in vars(function):  # of a function: what LangGraph hands it beside the state
            given, function = {**function.kwargs, **function.func_accepts}, function.func or function.afunc
        elif ROOT in builder.channels:
            continue  # a state that is messages is what a chat model takes
        try:
            require_state(function, given)
        except TypeError as error:
            raise GraphError(
                f"the fallback {node!r}, {shorten(repr(function))}, cannot be called with the state: {error}"
            ) from error


def _with_fallback(
    builder: BoundBuilder, fallback: Callable[..., Any], loops: Sequence[Loop], limit: int | None, budget: Budget | None
) -> Budget | None:
    """Add the node of the fallback, on the way out; the budget that is returned leads there if it names no route."""
    if FALLBACK in builder.nodes:
        raise GraphError(f"the graph has a node {FALLBACK!r} already: name it in the 'exhausted' of each Loop")
    if limit is not None and not (loops or budget or choose(read_topology(builder).ways())):
        return budget  # what goes round is in graphs inside, if anything: nothing would lead there
    builder.add_node(FALLBACK, fallback)
    builder.add_edge(FALLBACK, builder.way_out)
    if budget and not budget.exhausted:
        budget = dataclasses.replace(budget, exhausted=FALLBACK)
    leads_there = limit is not None or (budget and budget.exhausted == FALLBACK)
    if not (leads_there or any(FALLBACK in loop.fallbacks for loop in loops)):
        raise GraphError(f"nothing leads to the fallback: let a Loop name it, {FALLBACK!r}, or give a limit")
    return budget


def _compiled(graph: Any, builder: Builder, bound: BoundBuilder, certificate: Any, given: dict[str, Any]) -> Any:
    watch_routers(bound)
    compiled = bound.compile(**_compile_options(graph, builder, given))
    watch(bound, compiled, bound.nodes.keys() - builder_of(graph).nodes.keys())
    structure = structure_of(compiled)
    if bound.reports:
        books = partial(fresh_books, bound.loops, compiled.channels, structure)
        held = [LEDGER, STOP_REASON]
        write_with(compiled, START, lambda config, given: books(read(config, held), this_run(), given))
    outputs = compiled.output_channels
    if bound.reports and isinstance(outputs, list) and STOP_REASON not in outputs:
        # Not in the output schema: the key is there only when a bound was reached.
        compiled.output_channels = [*outputs, STOP_REASON]
    if isinstance(graph, CompiledStateGraph) and graph.config:
        compiled = compiled.with_config(graph.config)
    attributes = {
        "given": copy_builder(builder).compile(
            name=str(compiled.name),
            interrupt_before=[node for node in compiled.interrupt_before_nodes if node in builder.nodes],
            interrupt_after=[node for node in compiled.interrupt_after_nodes if node in builder.nodes],
        ),
        "made_of": graph,
        "loops": bound.loops, "budget": bound.budget, "certificate": certificate, "structure": structure,
    }  # fmt: skip
    if isinstance(graph, CompiledStateGraph):  # what a compiled graph was given that `compile` does not take
        attributes |= {name: getattr(graph, name) for name in ("step_timeout", "stream_eager", "stream_mode")}
    if bound.reports:
        attributes |= {name: _unless_stopped(getattr(compiled, name)) for name in ("_output_mapper", "_state_mapper")}
    return as_bounded(compiled, attributes)


def _unless_stopped(mapper: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """How version 2 of LangGraph's streams makes the user's class of a state, which may have no ``stop_reason``."""
    return mapper and (lambda values: values if STOP_REASON in values else mapper(values))


def _compile_options(graph: Any, builder: Builder, given: dict[str, Any]) -> dict[str, Any]:
    carried = _CARRIED.items() if isinstance(graph, CompiledStateGraph) else ()
    found = {option: getattr(graph, attribute) for option, attribute in carried}
    options = {option: value for option, value in found.items() if value is not None} | given
    for option in ("interrupt_before", "interrupt_after"):
        if options.get(option) == "*":  # every node, but not the gates
            options[option] = [node for node, spec in builder.nodes.items() if not spec.is_error_handler]
    return options


def _written_out(loop: Loop) -> str:
    """The source code of a loop that was chosen."""
    more = ", first_free=True" * loop.first_free + f", warn_at={loop.warn_at}" * bool(loop.warn_at)
    return loop_text(loop.name, loop.target, loop.sources, loop.limit, more)


def choose_loops(
    builder: Builder, limit: int, exhausted: str = END, name: str | None = None, warn_at: int = 0
) -> list[Loop]:
    """Choose the edges that close a cycle, as `choose` does, and declare a loop for each node that they lead to.

    `name` is the graph's, for a loop at a node that has none for people; the rest is as for `Loop`.
    """
    topology = read_topology(builder)
    handled = {(edge.source, edge.target) for edge in topology.edges if edge.kind == "handler"}
    direct = {(edge.source, edge.target) for edge in topology.edges if edge.kind != "handler"}
    loops: list[Loop] = []
    taken = {loop.name for loop in topology.loops}
    for choice in choose(topology.ways()):
        target, sources = choice.target, [source for source in choice.sources if (source, choice.target) in direct]
        # An error handler jumps in the name of the node that failed; who asks for the pass is the handler.
        handlers = (builder.nodes[node].error_handler_node for node in choice.sources if (node, target) in handled)
        sources += [handler for handler in handlers if handler]
        for source in choice.sources:
            # A join goes back as a whole: it waits for all its sources, so all of them ask.
            for starts, end in builder.waiting_edges:
                if end == target and source in starts:
                    sources += starts
        called = loop_name(target, name)
        called = next(one for one in chain((called, target), (f"{target} {n}" for n in count(2))) if one not in taken)
        taken.add(called)
        loops.append(Loop(
            name=called, target=target, sources=tuple(sources), limit=limit, exhausted=exhausted,
            first_free=choice.first_free, warn_at=warn_at,
        ))  # fmt: skip
    return loops
