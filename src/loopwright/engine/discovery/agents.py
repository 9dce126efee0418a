"""Graphs that come ready made: agents, and what `bounded` makes of a graph."""

from __future__ import annotations

from typing import Any

from loopwright.engine.discovery.builders import TOOLS, Arguments
from loopwright.engine.discovery.expressions import iterated
from loopwright.engine.discovery.found import END, START, FoundGraph, FoundLoop, FoundNode, FoundRoute
from loopwright.engine.discovery.values import GraphValue, Made, text_of
from loopwright.engine.source_hints import UNKNOWN, Symbol
from loopwright.engine.topology import Edge

AGENTS = {"create_react_agent": "agent", "create_agent": "model"}
"""Functions that make an agent -> their name for the node that asks the model."""

_RUN_BY_MODEL = (list, tuple)


def is_agent(name: Symbol) -> bool:
    """Whether calling a name makes an agent that calls tools in a loop."""
    return name.rpartition(".")[2] in AGENTS and name.partition(".")[0] in ("langgraph", "langchain")


def agent(name: Symbol, given: Arguments, graph: FoundGraph) -> None:
    """An agent: the model asks for tools, and reads what they return, as long as it likes."""
    model = AGENTS[name.rpartition(".")[2]]
    graph.compiled_as = text_of(given.take(None, "name")) or "LangGraph"
    graph.nodes[model] = FoundNode(given.place)
    graph.edges.append((Edge(START, model, "static"), given.place))
    tools = given.take(1, "tools")
    if tools is None or (isinstance(tools, _RUN_BY_MODEL) and not tools):
        graph.edges.append((Edge(model, END, "static"), given.place))
        return
    graph.nodes[TOOLS] = FoundNode(given.place)
    graph.routes.append(FoundRoute(given.place, model, {TOOLS: TOOLS, END: END}, declared=True))
    graph.edges.append((Edge(TOOLS, model, "static"), given.place))


def bounded(given: Arguments, graph: FoundGraph) -> None:
    """``bounded(graph, loops, limit=...)``."""
    inner = given.take(0, "graph", UNKNOWN)
    graph.compiled_as = "LangGraph"
    if not isinstance(inner, GraphValue):
        return graph.refuse(given.place, "the graph that bounded() is given is made elsewhere")
    graph.origin = inner.graph
    if given.starred or (not given.complete and given.take(1, "loops") is None):
        return graph.refuse(given.place, "bounded() is given * or ** arguments")
    route = _route(given.take(None, "budget"))
    added = given.take(None, "fallback") is not None
    graph.fallbacks = (*(("fallback",) if added else ()), *((route,) if text_of(route) is not None else ()))
    if given.take(None, "limit") is not None:
        return None
    loops = iterated(given.take(1, "loops", ()))
    if loops is None:
        return graph.refuse(given.place, "the loops that bounded() is given are not known")
    known = [found_loop(loop) for loop in loops]
    if None in known:
        return graph.refuse(given.place, "the values of a Loop that bounded() is given are no constants")
    graph.loops = tuple(loop for loop in known if loop)
    return None


def found_loop(value: Any) -> FoundLoop | None:
    """A ``Loop(...)``, if its values are constants."""
    if not isinstance(value, Made) or value.of != "loopwright.Loop":
        return None
    options = value.options
    name, target = text_of(options.get("name")), text_of(options.get("target"))
    given = options.get("sources")
    sources: Any = [given] if text_of(given) is not None else iterated(given)
    exhausted = options.get("exhausted", END)
    rules = iterated(options.get("stall")) or [options.get("stall")]
    routes = [_route(rule) for rule in (*rules, options.get("budget")) if rule is not None]
    if name is None or target is None or not sources or UNKNOWN in routes or "**" in options:
        return None
    by_source: dict[str, Any] = exhausted if isinstance(exhausted, dict) else dict.fromkeys(sources, exhausted)
    if not all(text_of(word) is not None for word in (*sources, *by_source, *by_source.values())):
        return None
    if set(by_source) != set(sources):
        return None
    ways = {str(source): str(way) for source, way in by_source.items()}
    return FoundLoop(name, target, tuple(sources), ways, tuple(route for route in routes if route is not None))


def _route(value: Any) -> Any:
    """Where a ``Stall`` or ``Budget`` leads; None if it takes the loop's own way out."""
    if not isinstance(value, Made):
        return UNKNOWN
    route = value.options.get("route", value.options.get("exhausted"))
    return route if route is None or text_of(route) is not None else UNKNOWN
