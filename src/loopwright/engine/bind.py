"""Puts gates into a graph that we did not write, and leaves the original untouched.

Only a copy of the builder changes: the loop's fixed edges go to the gate instead of the target, and the gate goes on.
Where a node jumps with a Command or a router chooses, the wrapper of `loopwright.engine.jumps` sends it to the gate.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import partial
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

from langchain_core.runnables import RunnableConfig, RunnablePassthrough
from langgraph.channels import BinaryOperatorAggregate, EphemeralValue, LastValue, Topic
from langgraph.channels.base import BaseChannel
from langgraph.constants import TAG_HIDDEN
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command
from pydantic import BaseModel

from loopwright.engine import langgraph_private, ledger
from loopwright.engine.budget.budget import Budget, merge_spent
from loopwright.engine.budget.meter import check_budgets
from loopwright.engine.events.reasons import MESSAGES, shorten
from loopwright.engine.events.stops import as_update, calls_closed, messages_in
from loopwright.engine.gate import DISPATCHER, ENGINE_NODES, Gate, GateState, is_engine_node
from loopwright.engine.jumps import WatchedNode, WatchedRouter, Ways
from loopwright.engine.ledger import HIDDEN, LEDGER, STOP_REASON, StopReason
from loopwright.engine.loop import Loop, StateLimit
from loopwright.engine.proof.destinations import Behaviour
from loopwright.engine.proof.fan_out import check_fan_out, crossed
from loopwright.engine.proof.reach import unwrapped
from loopwright.engine.proof.read import ADDED_KEY, Builder, Sender, anywhere_in, read_destinations, read_topology
from loopwright.errors import GraphError, LoopDeclarationError, unknown_name_message


class BoundBuilder(Builder):
    """A copy of a builder with gates in it; made by `bind`, never by hand."""

    loops: tuple[Loop, ...] = ()
    """The loops whose gates it holds."""
    budget: Budget | None = None
    """What a run may spend."""
    fan_out: Mapping[str, int]
    """Node -> the most tasks that one run of a router or node may send to it."""
    destinations: Mapping[Sender, Behaviour] | None = None
    """Where the nodes and routers go, read before the gates came in."""
    gated: dict[str, dict[str, Loop]]
    """Node -> target of a loop -> the loop through whose gate the node's jump goes."""
    crossed: frozenset[tuple[str, str]] = frozenset()
    """Source and target of the loops' edges that a ``Send`` may cross."""
    noted: frozenset[str] = frozenset()
    """The loops of which it is noted who asks, and for what."""
    held: bool = False
    """Whether `bounded` holds its nodes and routers, while they run, to what the proof knows of them."""
    reports: bool = False
    """Whether a bound can be reached, in this graph or in one inside it, so that the state has a ``stop_reason``."""
    way_out: str = END
    """Where a run goes that is stopped, and for which no other route is named."""
    hidden: dict[str, BaseChannel[Any, Any, Any]]
    """The channels that only the compiled graph has: LangGraph lets no node write there, and shows them nowhere."""

    @property
    def metered(self) -> bool:
        """Whether what a run spends is counted: it has a budget, or one of its loops has."""
        return self.budget is not None or any(loop.budget for loop in self.loops)

    def compile(self, *given: Any, **options: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
        """Compile it as LangGraph does, and add the hidden channels; gates read every channel, of all schemas."""
        compiled = super().compile(*given, **options)
        compiled.channels |= self.hidden
        for loop in self.loops:
            compiled.nodes[loop.gate].channels = [*self.channels, *self.managed, *self.hidden]
        return compiled


def bind(
    builder: Builder,
    loops: Loop | Sequence[Loop],
    budget: Budget | None = None,
    fan_out: Mapping[str, int] | None = None,
    *,
    reports: bool = False,
) -> BoundBuilder:
    """Copy a builder, which is not changed, and put a gate into every loop; the copy is ready to compile.

    The arguments are kept in it: see `BoundBuilder`. With `reports`, its state has a ``stop_reason`` in any case.

    Raises:
        LoopDeclarationError: If a loop names an unknown node, state key or scope, an edge that is not there, or shares
            what only one loop may have.
        GraphError: If the budget or the fan-out does not fit the graph, or its state has no room for what is counted.
    """
    bound = copy_builder(builder)
    bound.loops, bound.budget, bound.fan_out = declared(loops), budget, dict(fan_out or {})
    bound.held = True
    bound.reports = reports or bool(bound.loops or budget)
    check_fan_out(builder, bound.fan_out)
    _check_names(builder, bound.loops)
    check_budgets(builder, bound.loops, budget)
    if not bound.reports:
        return bound
    bound.crossed = frozenset(_crossed(bound))
    across = crossed(bound)
    bound.noted = frozenset(loop.name for loop in bound.loops if loop.asks_by_source or loop.gate in across)
    view = _viewer(builder)
    _add_channels(bound)
    # Where a LangChain agent goes, its routers have read by then.
    fleeting = [key for key, channel in bound.channels.items() if key != "jump_to" and _is_fleeting(channel)]
    # A dict's subclass is not among the kinds of class that LangGraph's annotation lists; it takes it all the same.
    schema: Any = GateState
    written = {key for loop in bound.loops for key in (loop.counter, loop.history) if key}
    not_theirs = frozenset({*HIDDEN, STOP_REASON, *written, *bound.managed})
    gates: list[Gate] = []
    for loop in bound.loops:
        targets = tuple(dict.fromkeys((loop.target, *loop.fallbacks)))
        inside = [each for each in bound.loops if each.scope == loop.name and each.counter_by == "engine"]
        resets = [each.counter for each in inside if each.counter]
        most = bound.fan_out.get(loop.target)
        gate: Any = Gate(loop, view, bound.metered, most, fleeting, gathers_messages(bound), resets, not_theirs)
        gates.append(gate)
        # Before a target that waits for all branches, their requests are one: the gate waits with it.
        bound.add_node(loop.gate, gate, input_schema=schema, destinations=targets, defer=bound.nodes[loop.target].defer)
        for source in loop.sources:
            bound.gated.setdefault(source, {})[loop.target] = loop
            _redirect(builder, bound, loop, source)
    for place, gate in enumerate(gates):
        before = [each.loop.gate for each in gates[:place]]
        gate.before = [f"{langgraph_private.AHEAD}{each}" for each in before]
        gate.before += [f"join:{'+'.join(starts)}:{end}" for starts, end in bound.waiting_edges if end in before]
    ends = (budget.exhausted or bound.way_out,) if budget else ()
    bound.add_node(DISPATCHER, RunnablePassthrough(), input_schema=schema, destinations=ends)
    return bound


def declared(loops: Any) -> tuple[Loop, ...]:
    """The loops that were given, one or several; anything else is a `GraphError`."""
    loops = (loops,) if isinstance(loops, Loop) else loops
    if not isinstance(loops, list | tuple) or not all(isinstance(loop, Loop) for loop in cast("Sequence[Any]", loops)):
        raise GraphError(f"loops is {loops!r}: give a Loop, or a list of them")
    return tuple(cast("Sequence[Loop]", loops))


def _crossed(bound: BoundBuilder) -> Iterator[tuple[str, str]]:
    """The edges of loops that a Send may cross: the source shows it, or the target's fan-out is declared.

    Where nothing shows it, it stays refused: a target that anybody might send to would have no worst case at all.
    """
    known = read_destinations(bound)
    joined = {(source, end) for starts, end in bound.waiting_edges for source in starts}
    for loop in bound.loops:
        if bound.nodes[loop.target].defer or any((source, loop.target) in joined for source in loop.sources):
            continue  # it waits for others, and what is sent to it would not
        for source in loop.sources:
            senders = [source, *((source, name) for name in bound.branches.get(source, ()))]
            does = [known[sender] for sender in senders]
            declared = loop.target in bound.fan_out and any(its.sends for its in does)
            if declared or any(loop.target in its.sent for its in does):
                yield source, loop.target


def _ways(bound: BoundBuilder, node: str, sender: str, known: frozenset[str] | None, sends: bool) -> Ways:
    gates = bound.gated.get(node, {})
    noted = frozenset(target for target, loop in gates.items() if loop.name in bound.noted)
    crossed = frozenset(target for target in noted if (node, target) in bound.crossed)
    sent = {to: most if sends and (known is None or to in known) else 0 for to, most in bound.fan_out.items()}
    return Ways(node, sender, known, gates, sent, sends, crossed, noted)


def copy_builder(builder: Builder) -> BoundBuilder:
    """A copy of a builder that can be changed without changing the original; it has no loops yet."""
    bound = BoundBuilder.__new__(BoundBuilder)
    vars(bound).update(vars(builder))
    bound.nodes = {name: dataclasses.replace(spec) for name, spec in builder.nodes.items()}
    bound.edges = set(builder.edges)
    bound.waiting_edges = set(builder.waiting_edges)
    routers = builder.branches.items()
    bound.branches = defaultdict(dict, {at: {name: _unwatched(it) for name, it in its.items()} for at, its in routers})
    bound.channels = dict(builder.channels)
    bound.managed = dict(builder.managed)
    bound.schemas = {schema: dict(channels) for schema, channels in builder.schemas.items()}
    bound.fan_out, bound.gated, bound.hidden, bound.held = {}, {}, {}, False
    _settle_defaults(bound)
    bound.compiled = False
    bound.destinations = read_destinations(bound)
    return bound


def _unwatched(router: Any) -> Any:
    """A router as it was before `watch_routers`, of a graph that is bounded once more."""
    path = router.path
    return router._replace(path=path.bound, ends={**path.labels} or None) if isinstance(path, WatchedRouter) else router


def _settle_defaults(bound: BoundBuilder) -> None:
    """Give a builder's node defaults to the nodes that it has now, as compiling would, and not to those added later.

    Gates must neither be cached nor timed out nor have their errors handled.
    """
    defaults = langgraph_private.NODE_DEFAULTS
    fresh = vars(StateGraph(bound.state_schema))[defaults]
    if vars(bound)[defaults] != fresh:
        if bound.compiled:  # which made the handler, and would make it again
            bound.nodes.pop(langgraph_private.DEFAULT_HANDLER, None)
        bound.compile()
        vars(bound)[defaults] = fresh


def watch(bound: BoundBuilder, compiled: CompiledStateGraph[Any, Any, Any, Any], added: Set[str]) -> None:
    """Put the wrapper around every node of a compiled graph, those `added` to it too, and hide gates from streams."""
    known = read_destinations(bound)
    marked = {loop.target for loop in bound.loops if loop.first_free}
    for node, spec in bound.nodes.items():
        if is_engine_node(node):
            compiled.nodes[node].tags = [TAG_HIDDEN]  # as LangGraph keeps START out of the streams
            if node == DISPATCHER:
                langgraph_private.obey_updates(compiled, node, partial(_with_closed_calls, bound))
            else:
                langgraph_private.run_bare(compiled, node, {ledger.REQUESTS: ledger.STAY} if bound.noted else {})
            continue
        ways = _ways(bound, node, f"node {node!r}", known[node].jumps, known[node].sends)
        if again := (spec.metadata or {}).get("loopwright_again"):
            ways = dataclasses.replace(ways, again=again)
        notes: dict[str, Any] = {ledger.VISITED: [node]} if node in marked else {}
        asks = [loop for loop in ways.gates.values() if loop.name in bound.noted and (node, loop.gate) in bound.edges]
        if asks:
            notes[ledger.REQUESTS] = {loop.name: [(node, loop.target)] for loop in asks}
        if notes:
            langgraph_private.write_with(compiled, node, lambda _, _given, notes=notes: notes)
        made, its, settle = getattr(unwrapped(spec.runnable), ADDED_KEY, None), compiled.nodes[node], None
        if made or node in added:
            settle = partial(_settled, bound, made)
            if bound.reports and isinstance(its.channels, list) and not its.mapper:
                its.channels = [*dict.fromkeys([*its.channels, STOP_REASON])]  # it is told which bound was reached
        watched = WatchedNode(its.bound, ways, bound.metered, settle)
        apart = ",".join(loop.gate for loop in ways.gates.values())
        langgraph_private.replace_bound(compiled, node, watched, apart=apart)


def gathers_messages(builder: Builder) -> bool:
    """Whether a state has messages, to which those are added that a node writes."""
    return MESSAGES in builder.channels and not isinstance(builder.channels[MESSAGES], LastValue)


def _settled(bound: BoundBuilder, made: str | None, result: Any, config: RunnableConfig) -> Any:
    """What is said at a bound, as an update that adds it: to messages, too, that the state replaces."""
    known = isinstance(result, dict) and bound.channels.keys() & cast("dict[str, Any]", result)
    update, key = result if known else as_update(result), made or MESSAGES
    if (update is result and not made) or key not in update or langgraph_private.ROOT in bound.channels:
        return result
    given = update[key]
    if key not in bound.channels:
        problem = f"the fallback gave {shorten(repr(given))}, and the state has no {key!r}"
        raise GraphError(f"{problem}: give an update of its keys, for example {{'answer': ...}}")
    held, parts = langgraph_private.read(config, [key]).get(key) or (), given if isinstance(given, list) else [given]
    # The dicts of a provider's own client stay what they are among their like.
    said = parts if all(isinstance(one, Mapping) for one in (*held, *parts)) else messages_in(given)
    return {**update, key: [*(held if isinstance(bound.channels[key], LastValue) else ()), *said]}


def _with_closed_calls(bound: BoundBuilder, command: Command[Any], config: RunnableConfig) -> Command[Any]:
    """What ends a run leaves no tool call open: models refuse a history with one, at the thread's next turn too."""
    update: Any = command.update
    if MESSAGES in bound.channels:
        state, whole = langgraph_private.read(config, [MESSAGES]), not gathers_messages(bound)
        update = update | calls_closed(state, update[STOP_REASON], whole=whole)
    return langgraph_private.obey(dataclasses.replace(command, update=update), config)


def watch_routers(bound: BoundBuilder) -> None:
    """Put the wrapper around every router of a builder that is about to be compiled; the builder is changed."""
    known = read_destinations(bound)
    for source, branches in bound.branches.items():
        gates = bound.gated.get(source, {})
        for name, branch in branches.items():
            does = known[source, name]
            targets = None if does.jumps is None else does.jumps | gates.keys()
            ways = _ways(bound, source, f"the router {name!r} of {source!r}", targets, does.sends)
            # The wrapper says where its words lead, gates among them, so LangGraph has no path map to translate by.
            labels = branch.ends or ({node: node for node in anywhere_in(bound)} if gates and targets is None else {})
            path = WatchedRouter(branch.path, ways, bound.metered, labels=labels)
            branches[name] = branch._replace(path=path, ends=None)


# Names


def _check_names(builder: Builder, loops: tuple[Loop, ...]) -> None:
    if gate := next(filter(is_engine_node, builder.nodes), None):
        raise GraphError(
            f"the graph has a node {gate!r} already; is it bounded twice? Names that begin with {ENGINE_NODES!r} are "
            "the engine's own: rename a node of yours"
        )
    names = [loop.name for loop in loops]
    owners: dict[Any, str] = {}
    for loop in loops:
        if names.count(loop.name) > 1:
            raise LoopDeclarationError(loop.name, "two loops have this name; a ledger entry belongs to one loop")
        _check_known(builder, loop)
        _check_scope(loop, {other.name: other for other in loops})
        one_writer = "; a counter or history has exactly one writer"
        owned = [(key, f"state key {key!r}", one_writer) for key in (loop.counter, loop.history) if key]
        edges = [((source, loop.target), f"the edge {source} -> {loop.target}", " already") for source in loop.sources]
        for what, called, why in (*owned, *edges):
            if (owner := owners.setdefault(what, loop.name)) != loop.name:
                raise LoopDeclarationError(loop.name, f"{called} belongs to loop {owner!r}{why}")


def _check_known(builder: Builder, loop: Loop) -> None:
    limit_key = loop.limit.key if isinstance(loop.limit, StateLimit) else None
    keys = (loop.counter, loop.history, limit_key, MESSAGES if loop.warn_at else None)
    nodes = (loop.target, *loop.sources, *(route for route in loop.fallbacks if route != END))
    named: list[tuple[str, str, Mapping[str, Any]]] = [("node", node, builder.nodes) for node in nodes]
    named += (("state key", key, builder.channels) for key in keys if key and isinstance(key, str))
    for kind, name, known in named:
        if name not in known:
            ends = " END ends the run there; bounded(fallback=...) adds a 'fallback'." if name in loop.fallbacks else ""
            raise LoopDeclarationError(loop.name, unknown_name_message(kind, name, known) + ends)
    counter = loop.counter if loop.counter_by == "engine" else None
    for key, what, kinds in (
        (counter, "counter, a number", (int, float)),
        (loop.history, "history, a list", (list, tuple)),
    ):
        kind: Any = getattr(builder.channels.get(key or ""), "typ", None)
        kind = get_args(kind)[0] if get_origin(kind) is Annotated else kind
        held = get_origin(kind) or kind
        if key == MESSAGES or (held in (str, bool, int, float, list, dict, set, tuple) and held not in kinds):
            raise LoopDeclarationError(
                loop.name, f"state key {key!r} is for something else: give its {what}, a key of its own"
            )


def _check_scope(loop: Loop, loops: Mapping[str, Loop]) -> None:
    seen = [loop.name]
    while loop.scope != "run":
        if loop.scope not in loops:
            known = ["run", *(name for name in loops if name != loop.name)]
            raise LoopDeclarationError(loop.name, unknown_name_message("scope", loop.scope, known))
        loop = loops[loop.scope]
        if loop.name in seen:
            raise LoopDeclarationError(loop.name, f"its scope leads back to itself: {' -> '.join([*seen, loop.name])}")
        seen.append(loop.name)


# State


def _viewer(builder: Builder) -> Callable[[Mapping[str, Any]], Any]:
    """How to show the plain state to a loop's callables: as the graph's own schema."""
    schema: type[Any] = builder.state_schema
    if langgraph_private.ROOT in builder.channels:
        return lambda state: state.get(langgraph_private.ROOT)
    if not (issubclass(schema, BaseModel) or dataclasses.is_dataclass(schema)):
        return lambda state: state
    known = set(get_type_hints(schema))
    return lambda state: schema(**{key: value for key, value in state.items() if key in known})


def _add_channels(bound: BoundBuilder) -> None:
    for key in sorted(HIDDEN & bound.channels.keys()):
        raise LoopDeclarationError(key, f"the state key {key!r} is reserved; is the graph bounded twice?")
    for loop in bound.loops:
        if loop.counter and loop.counter_by == "engine":
            bound.channels[loop.counter] = ledger.Latest(int, loop.counter)
        if loop.history:
            bound.channels[loop.history] = ledger.Latest(list, loop.history)
    if not _is_ours(bound.channels.get(STOP_REASON)):
        raise GraphError(
            f"the state has a key {STOP_REASON!r} of its own, and Loopwright writes there which bound was reached. "
            f"Rename it; or, to read what Loopwright writes, declare it as NotRequired[StopReason | list[StopReason]]"
        )
    keyless = langgraph_private.ROOT in bound.channels
    (bound.hidden if keyless else bound.channels)[STOP_REASON] = ledger.StopReasons(Any, STOP_REASON)
    bound.hidden[LEDGER] = ledger.Ledger(dict, LEDGER)
    if bound.metered:
        bound.hidden[ledger.SPENT] = BinaryOperatorAggregate(dict, merge_spent)
    if bound.noted:
        kept = frozenset(loop.name for loop in bound.loops if bound.nodes[loop.target].defer)
        bound.hidden[ledger.REQUESTS] = type("Requests", (ledger.Requests,), {"kept": kept})(dict, ledger.REQUESTS)
    if any(loop.first_free for loop in bound.loops):
        bound.hidden[ledger.VISITED] = BinaryOperatorAggregate(list, ledger.merge_visited)
    bound.schemas[GateState] = {**bound.channels, **bound.managed}


def _is_ours(channel: BaseChannel[Any, Any, Any] | None) -> bool:
    """Whether the state's key is free, or declared with the engine's type so that the user's own nodes can read it."""

    def parts(kind: Any) -> Iterator[Any]:
        yield kind
        for part in get_args(kind):
            yield from parts(part)

    # `LoopMiddleware` brings the channel itself.
    own = channel is None or isinstance(channel, ledger.StopReasons)
    return own or (type(channel) is LastValue and StopReason in parts(cast("Any", channel).typ))


def _is_fleeting(channel: Any) -> bool:
    """Whether LangGraph empties the channel after each superstep; a gate, which takes one, hands on what it holds."""
    return isinstance(channel, EphemeralValue) or (isinstance(channel, Topic) and not channel.accumulate)


# Edges


def _redirect(builder: Builder, bound: BoundBuilder, loop: Loop, source: str) -> None:
    """Send the source's fixed edges into the loop's target to its gate; what jumps there is sent there as it runs."""
    known, routers = read_destinations(bound), bound.branches.get(source, {})
    # A router without a path map may return the name of any node.
    jumps = [known[source].jumps, *(known[source, name].jumps if it.ends else None for name, it in routers.items())]
    if not _redirect_edges(bound, loop, source) and not any(to is None or loop.target in to for to in jumps):
        ways = read_topology(builder).ways()
        into = [node for node, ends in ways.items() if loop.target in ends and node != START]
        told = f"{source!r} leads to {[*ways[source]] or 'nothing'}, and to {loop.target!r} leads {into or 'nothing'}"
        raise LoopDeclarationError(
            loop.name,
            f"there is no edge {source} -> {loop.target}: {told}. Take one of these, or let bounded(graph, limit=...) "
            "choose, which logs its loops. A node that jumps with Command must declare it: annotate its return type as "
            f"Command[Literal[{loop.target!r}, ...]] or pass destinations to add_node.",
        )


def _redirect_edges(bound: BoundBuilder, loop: Loop, source: str) -> bool:
    found = (source, loop.target) in bound.edges
    if found:
        bound.edges.remove((source, loop.target))
        bound.edges.add((source, loop.gate))
    for starts, end in list(bound.waiting_edges):
        if source not in starts or end != loop.target:
            continue
        if not set(starts) <= set(loop.sources) or loop.asks_by_source:
            raise LoopDeclarationError(
                loop.name,
                f"{loop.target!r} waits for {list(starts)} together: "
                "name all of them as sources, with one fallback and no limits of their own",
            )
        bound.waiting_edges.remove((starts, end))
        bound.waiting_edges.add((starts, loop.gate))
    # The other sources of the same join find it moved already.
    return found or any(source in starts and end == loop.gate for starts, end in bound.waiting_edges)
