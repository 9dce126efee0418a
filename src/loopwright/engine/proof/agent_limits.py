"""LangChain's own limits as bounds: which middleware of an agent lets control go on only so often, and how often.

Nothing here imports LangChain: an agent whose middleware is made of its classes has imported them already. A limit is a
bound only where nothing in the graph goes round it, so the edges are read too. What remains taken for granted: nothing
else writes the limit's own state keys, and of a ``run_limit``, LangChain forgets the count when a run is resumed or an
interrupt answered, so it holds for each attempt anew, as a step limit does.
"""

import sys
from collections.abc import Collection, Mapping
from typing import Any

from langgraph.channels import LastValue, UntrackedValue
from langgraph.graph import END, StateGraph

from loopwright.engine.proof.graph import reached
from loopwright.engine.proof.reach import held, unwrapped

_MIDDLEWARE = "langchain.agents.middleware"


def own_limits(builder: StateGraph[Any, Any, Any, Any], graph: Mapping[str, Collection[str]]) -> dict[str, int]:
    """Node -> how many times control goes on from it, to anything but the agent's end, in one run.

    Returns:
        The nodes of ``ModelCallLimitMiddleware``, of ``ToolCallLimitMiddleware`` where it ends the run or raises for
        whatever tool, and of `loopwright.langchain.LoopMiddleware`. Limits that something goes round are left out.
    """
    found = {name: _limit(name, builder, graph) for name in builder.nodes}
    return {name: limit for name, limit in found.items() if limit is not None}


def _limit(name: str, builder: Any, graph: Mapping[str, Collection[str]]) -> int | None:
    """How often control goes on from a node; None where it has no limit, or none that holds."""
    owner, hook = _hook(builder, name)
    exits = {node for node in graph[name] if node == END or node.endswith(".after_agent")}
    if owner is None or not exits or name in reached(graph, exits):
        return None
    if hook == "before_model" and _is(
        owner, f"{_MIDDLEWARE}.model_call_limit", "ModelCallLimitMiddleware", "before_model", "after_model"
    ):
        # It decides before the model and counts after it: a way round that leaves out the counting is no pass to it.
        counts = f"{owner.name}.after_model"
        if _hook(builder, counts)[0] is owner and name not in reached(graph, graph[name], without=counts):
            return _least(owner, builder, "run_model_call_count", "thread_model_call_count")
    if hook == "after_model" and _is(owner, f"{_MIDDLEWARE}.tool_call_limit", "ToolCallLimitMiddleware", "after_model"):
        # Where it comes last, a reply without calls ends the agent; elsewhere control goes on with nothing counted.
        ends = owner.tool_name is None and owner.exit_behavior in ("end", "error")
        if ends and "tools" in graph[name]:
            return _least(owner, builder, "run_tool_call_count", "thread_tool_call_count")
    if hook == "before_model" and _is(
        owner, "loopwright.langchain.middleware", "LoopMiddleware", "before_agent", "before_model"
    ):
        start = f"{owner.name}.before_agent"
        if start not in reached(graph, graph.get(start, ())) and _kept(builder, "loop_middleware", "merge_books"):
            return owner.loop.ceiling + 1  # the first model call is no pass
    return None


def _is(owner: Any, module: str, name: str, *hooks: str) -> bool:
    """Whether a middleware is of a class, with the hooks of that class and no others of the same name."""
    kind = getattr(sys.modules.get(module), name, None)
    named = [each for hook in hooks for each in (hook, f"a{hook}")]
    return kind is not None and all(getattr(type(owner), each, None) is getattr(kind, each) for each in named)


def _hook(builder: Any, name: str) -> tuple[Any, str]:
    """The middleware that a node is of, and which of its hooks."""
    spec = builder.nodes.get(name)
    runnable = unwrapped(spec.runnable) if spec else None
    function = held(runnable, "func") or held(runnable, "afunc")
    owner, hook = getattr(function, "__self__", None), getattr(function, "__name__", "")
    hook = hook.removeprefix("a") if hook.startswith(("abefore_", "aafter_")) else hook
    # A method that was put on the instance itself is not its class's.
    return (owner, hook) if owner is not None and hook not in vars(owner) else (None, "")


def _least(owner: Any, builder: Any, run: str, thread: str) -> int | None:
    limits = [(owner.run_limit, run), (owner.thread_limit, thread)]
    return min((max(0, limit) for limit, key in limits if limit is not None and _kept(builder, key)), default=None)


def _kept(builder: Any, key: str, merged_by: str = "") -> bool:
    """Whether a state key keeps what its middleware writes, and no input can set it."""
    channel = builder.channels.get(key)
    operator = getattr(channel, "operator", None)
    keeps = isinstance(channel, LastValue | UntrackedValue) or merged_by == getattr(operator, "__qualname__", None)
    return keeps and key not in builder.schemas.get(builder.input_schema, {})
