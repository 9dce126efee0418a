"""Graphs that come ready made: agents, and what `bounded` makes of a graph."""

import ast
import re
from typing import Any

from loopwright.check.builders import TOOLS, Arguments, read_tools
from loopwright.check.expressions import iterated
from loopwright.check.found import END, FUNCTIONAL, NOWHERE, START, FoundGraph, FoundLoop, FoundNode, FoundRoute
from loopwright.check.values import PLAIN, ClassValue, FunctionValue, GraphValue, InstanceValue, Made, text_of
from loopwright.engine.proof.graph import Edge
from loopwright.engine.proof.source import UNKNOWN, Symbol

AGENT_STEPS = 9_999
"""The steps that LangChain's agents and deep agents allow themselves, whatever LangGraph's default is."""

_HOOK = re.compile(r"langchain\.agents\.(.*\.)?((before|after)_(agent|model)|wrap_(model|tool)_call|dynamic_prompt)")
"""LangChain's decorators that make a middleware of a function."""

# Read in langchain 1.5.2, deepagents 0.7.32 and langchain-anthropic 1.7.7; none of these jumps but to the end.
_QUIET = frozenset({
    "AnthropicPromptCachingMiddleware", "ContextEditingMiddleware", "LLMToolSelectorMiddleware", "MemoryMiddleware",
    "ModelCallLimitMiddleware", "ModelFallbackMiddleware", "ModelRefusalMiddleware", "ModelRetryMiddleware",
    "ModelRouterMiddleware", "PIIMiddleware", "PatchToolCallsMiddleware", "SummarizationMiddleware",
    "ToolCallLimitMiddleware",
})  # fmt: skip
"""Middleware that brings no tools and wraps none, so that an agent with nothing else has no loop."""
_WITH_TOOLS = frozenset({
    "AutoModeMiddleware", "ClaudeBashToolMiddleware", "FilesystemClaudeMemoryMiddleware",
    "FilesystemClaudeTextEditorMiddleware", "FilesystemFileSearchMiddleware", "FilesystemMiddleware",
    "HumanInTheLoopMiddleware", "LLMToolEmulator", "LoopMiddleware", "ShellToolMiddleware",
    "StateClaudeMemoryMiddleware", "StateClaudeTextEditorMiddleware", "StateFileSearchMiddleware",
    "SubAgentMiddleware", "SummarizationToolMiddleware", "TodoListMiddleware", "ToolErrorMiddleware",
    "ToolRetryMiddleware",
})  # fmt: skip
"""Middleware that brings tools or wraps them, which makes the loop."""

_PACKAGES = ("langchain.", "langchain_anthropic.", "deepagents.", "loopwright.")

_OTHERS = re.compile(r"(async_)?create_(\w+_)?(agent|graph|supervisor|swarm|codeact|executor)$")
"""What the makers of graphs in agent packages are called."""


def maker_of(name: Symbol) -> str | None:
    """What calling a name of an agent package makes: a known kind of graph, ``other``, or None for no graph."""
    top, _, last = str.__str__(name).rpartition(".")
    package = top.partition(".")[0]
    known = {
        "create_react_agent": package == "langgraph", "create_agent": f"{top}.".startswith("langchain.agents."),
        "create_deep_agent": package == "deepagents", "create_supervisor": package == "langgraph_supervisor",
        "create_swarm": package == "langgraph_swarm", "entrypoint": top == "langgraph.func",
    }  # fmt: skip
    if known.get(last):
        return last
    ours = package == "deepagents" or (package.startswith("langgraph") and package not in ("langgraph_sdk",))
    return "other" if ours and _OTHERS.match(last) else None


def make(kind: str, given: Arguments, graph: FoundGraph) -> None:
    """Put the nodes and edges of a graph that comes ready made into it."""
    if kind == "entrypoint":
        return graph.refuse(given.place, FUNCTIONAL)
    if kind in ("create_supervisor", "create_swarm"):
        return _team(kind, given, graph)
    graph.compiled_as = text_of(given.take(None, "name")) or "LangGraph"
    deep, react = kind == "create_deep_agent", kind == "create_react_agent"
    graph.steps = None if react else AGENT_STEPS
    model = "agent" if react else "model"
    tools, middleware = given.take(1, "tools"), given.take(None, "middleware", ())
    hooks = [each for each in iterated(middleware) or () if isinstance(each, FunctionValue)]
    graph.nodes[model] = FoundNode(given.place, functions=(*hooks,))
    graph.edges.append((Edge(START, model, "static"), given.place))
    known = [] if react else _known_middleware(middleware) if given.complete else None  # react has none
    answers = not react and (given.take(None, "response_format") is not None or not given.complete)
    hooked = any(name.endswith("_hook") for name in given.named)
    graph.made = deep or answers or known is None or bool(known) or hooked or not given.complete
    brings = known is None or any(name not in _QUIET for name, _ in known)
    # Plain dictionaries are run by the model's provider.
    none = tools is None or ((own := iterated(tools)) is not None and all(isinstance(each, dict) for each in own))
    bare = not deep and not brings and given.complete and none
    if bare and not answers:
        return graph.edges.append((Edge(model, END, "static"), given.place))
    again = model if bare else TOOLS
    if not bare:
        graph.nodes[TOOLS] = FoundNode(given.place)
        read_tools(graph.nodes[TOOLS], tools if given.complete else UNKNOWN, given.call)
        graph.edges.append((Edge(TOOLS, model, "static"), given.place))
    graph.routes.append(FoundRoute(given.place, model, (again, END), declared=True))
    return _limits(graph, known, answers, deep, given.call.project.resets)


def _limits(graph: FoundGraph, known: list[tuple[str, Any]] | None, answers: bool, deep: bool, resets: bool) -> None:
    """Note LangChain's own limits: what bounds the agent, and what looks like a bound and is none."""
    tools = graph.nodes.get(TOOLS)
    if known is None or any(name == UNREAD for name, _ in known):
        graph.hopes = (*graph.hopes, "its middleware was not followed, and may bound it")
    for name, options in known or ():
        if name not in ("LoopMiddleware", "ModelCallLimitMiddleware", "ToolCallLimitMiddleware"):
            continue
        numbers = {key: options[key] for key in ("limit", "run_limit", "thread_limit") if options.get(key) is not None}
        own = name == "LoopMiddleware"  # which is made with no limit but one that bounds
        read = {key: value for key, value in numbers.items() if isinstance(value, int)}
        fits = [f"{key}={read.get(key, '...')}" for key in numbers if own or key in read]
        behaviour = options.get("exit_behavior", "continue" if name.startswith("Tool") else "end")
        said = f"{name}({', '.join(fits)})"
        reasons = (
            (deep, "it counts for the main agent only, and not for its subagents"),
            ("**" in options or not fits, "its number was not read"),
            (name.startswith("Tool") and options.get("tool_name") is not None, "it counts one tool only"),
            (behaviour not in ("end", "error"),
             f"with exit_behavior={text_of(behaviour) or '...'!r} the model is asked again"),
            (name.startswith("Tool") and answers,
             "an answer that does not fit response_format is asked for again, without a tool call"),
            (any(other == UNREAD for other, _ in known or ()), "other middleware was not read, and may jump past it"),
            (tools is not None and tools.unread, "its tools were not read, and may return Commands that jump past it"),
            (tools is not None and tools.words != NOWHERE, "a tool may return a Command that jumps past it"),
            (resets and not own, "what a file does to the counts that LangChain keeps in the state was not read"),
        )  # fmt: skip
        why = next((why for holds, why in reasons if holds), None)
        if why is None:
            graph.bounds = (*graph.bounds, said)
        elif "not read" in why:
            graph.hopes = (*graph.hopes, f"{said} may bound it, but {why}")
        else:
            graph.notes = (*graph.notes, f"{said} is no bound: {why}")
    if graph.bounds:
        graph.assumptions["no tool and no middleware resets the counts that LangChain keeps in the state"] = None


UNREAD = "?"
"""A middleware that nobody read."""


def _known_middleware(given: Any) -> list[tuple[str, Any]] | None:
    """The middleware by name, with its arguments; `UNREAD` for one that may jump; None if the list is not known."""
    items = given if isinstance(given, list) else iterated(given)
    if items is None:
        return None
    found: list[tuple[str, Any]] = []
    for item in items:
        match item:
            case Made(of=of) if of.startswith(_PACKAGES) and (last := of.rpartition(".")[2]) in _QUIET | _WITH_TOOLS:
                found.append((last, {**item.options, **({"**": UNKNOWN} if item.given else {})}))
            case InstanceValue(of=ClassValue() as of):
                kind = _own_class(of)
                found.append(("TodoListMiddleware" if kind != UNREAD and "tools" in item.names else kind, {}))
            case FunctionValue() if any(_HOOK.fullmatch(str(getattr(made, "of", made))) for made in item.decorators):
                found.append((_own_middleware(item.node), {}))
            case _:
                found.append((UNREAD, {}))
    return found


def _own_class(of: ClassValue) -> str:
    """What an object of a middleware class of the project's own is like, with all that it is derived from."""
    kinds = {_own_middleware(each.node) for each in of.order()}
    for base in (base for each in of.order() for base in each.bases if not isinstance(base, ClassValue)):
        known = isinstance(base, Symbol) and base.startswith((*_PACKAGES, "typing.", "abc."))
        limits = known and base.endswith(("LimitMiddleware", "LoopMiddleware"))  # how far, nobody read
        name = UNREAD if limits or not known else base.rpartition(".")[2]
        plain = name == "AgentMiddleware" or name in PLAIN or name in _QUIET
        kinds.add("PIIMiddleware" if plain else "TodoListMiddleware" if name in _WITH_TOOLS else UNREAD)
    return next(kind for kind in (UNREAD, "TodoListMiddleware", "PIIMiddleware") if kind in kinds)


def _own_middleware(node: ast.AST) -> str:
    """What a middleware of the project's own is like: `UNREAD` if it may jump, else one that brings tools, or none."""
    said = {getattr(inner, "id", getattr(inner, "attr", getattr(inner, "arg", ""))) for inner in ast.walk(node)}
    if said & {"can_jump_to", "__can_jump_to__", "Command", "hook_config", "ExtendedModelResponse"}:
        return UNREAD
    own = {getattr(inner, "name", "") for inner in ast.walk(node)}
    return "TodoListMiddleware" if (said | own) & {"tools", "wrap_tool_call", "awrap_tool_call"} else "PIIMiddleware"


def _team(kind: str, given: Arguments, graph: FoundGraph) -> None:
    """A supervisor or swarm: agents that hand over to each other as long as they like."""
    agents = iterated(given.take(0, "agents", UNKNOWN)) if given.complete else None
    members: dict[str, FoundGraph | None] = {}
    for number, value in enumerate(agents if agents is not None else [UNKNOWN]):
        inner = value.graph if isinstance(value, GraphValue) else None
        named = inner.compiled_as if inner and inner.compiled_as != "LangGraph" else None
        members[named or (f"agent {number + 1}" if agents is not None else "agents")] = inner
    graph.nodes |= {name: FoundNode(given.place, graph=inner) for name, inner in members.items()}
    if kind == "create_swarm":
        graph.routes.append(FoundRoute(given.place, START, tuple(members), declared=True))
        for name, inner in members.items():
            words = inner.parent_words() if inner else None
            graph.nodes[name].declared = tuple(other for other in members if words is None or other in words)
        return
    name = text_of(given.take(None, "supervisor_name", "supervisor")) or "supervisor"
    own = FoundGraph(given.place, graph.made_by, compiled_as=name, owner=graph.owner, frame=graph.frame)
    own.nodes = {"agent": FoundNode(given.place), TOOLS: FoundNode(given.place)}
    own.edges = [(Edge(START, "agent", "static"), given.place), (Edge(TOOLS, "agent", "static"), given.place)]
    own.routes = [FoundRoute(given.place, "agent", (TOOLS, END), declared=True)]
    graph.nodes[name] = FoundNode(given.place, graph=own, declared=(*members, END))
    graph.edges.append((Edge(START, name, "static"), given.place))
    graph.edges += [(Edge(member, name, "static"), given.place) for member in members]


def bounded(given: Arguments, graph: FoundGraph) -> None:
    """``bounded(graph, loops, limit=...)``."""
    inner = given.take(0, "graph", UNKNOWN)
    graph.compiled_as = "LangGraph"
    if not isinstance(inner, GraphValue):
        return graph.refuse(given.place, "the graph that bounded() is given is made elsewhere")
    graph.origin, graph.of_builder = inner.graph, not inner.compiled
    limit = given.take(None, "limit")
    if given.starred or (not given.complete and limit is None and given.take(1, "loops") is None):
        return graph.refuse(given.place, "bounded() is given * or ** arguments")
    budget = given.take(None, "budget")
    route = text_of(budget.options.get("exhausted")) if isinstance(budget, Made) else None
    added = "fallback" if given.take(None, "fallback") is not None else None
    graph.fallbacks = tuple(node for node in (added, route) if node is not None)
    if limit is not None:
        graph.bounds = (f"bounded(limit={limit if isinstance(limit, int) else '...'})",)
        return None
    loops = iterated(given.take(1, "loops", ()))
    if loops is None:
        return graph.refuse(given.place, "the loops that bounded() is given are not known")
    known = [found_loop(loop) for loop in loops]
    if None in known:
        return graph.refuse(given.place, "the values of a Loop that bounded() is given are no constants")
    graph.loops = tuple(loop for loop in known if loop)
    graph.bounds = tuple(f"Loop {loop.name!r}" for loop in graph.loops)


def found_loop(value: Any) -> FoundLoop | None:
    """A ``Loop(...)``, if its values are constants."""
    if not isinstance(value, Made) or value.of != "loopwright.Loop":
        return None
    options = value.options
    name, target = text_of(options.get("name")), text_of(options.get("target"))
    given, exhausted = options.get("sources"), options.get("exhausted", END)
    sources: Any = [given] if text_of(given) is not None else iterated(given)
    if name is None or target is None or not sources or "**" in options:
        return None
    by_source: dict[str, Any] = exhausted if isinstance(exhausted, dict) else dict.fromkeys(sources, exhausted)
    constant = all(text_of(word) is not None for word in (*sources, *by_source, *by_source.values()))
    if not constant or set(by_source) != set(sources):
        return None
    ways = {str(source): str(way) for source, way in by_source.items()}
    return FoundLoop(name, target, tuple(sources), ways)
