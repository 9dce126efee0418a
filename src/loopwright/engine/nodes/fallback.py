"""Where a graph goes when a bound of `bounded` is reached: to the function that was given, or to its own way out."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from inspect import signature
from typing import Any, TypedDict, get_args

from langchain_core.messages import AIMessage
from langchain_core.prompt_values import StringPromptValue
from langchain_core.runnables import Runnable
from langgraph.graph import END

from loopwright.engine.events.reasons import MESSAGES
from loopwright.engine.events.stops import close_tool_calls, stopped
from loopwright.engine.ledger import STOP_REASON
from loopwright.engine.proof.read import Builder, read_topology

FALLBACK = "fallback"
"""The node of the ``fallback`` function that `bounded` was given."""

_AT_ITS_END = ".after_agent"
"""How the nodes are called, behind their middleware's name, that a LangChain agent runs once when it ends."""


class Stopped(TypedDict, total=False):
    """What `last_word` reads of the state."""

    messages: Any
    """The history."""


def last_word(state: Stopped) -> dict[str, Any]:
    """The fallback of an agent inside a graph: whoever calls it takes its last message for its answer."""
    said: Any = state.get(MESSAGES)
    if not isinstance(said, list) or all(isinstance(one, Mapping) for one in said):
        return {}  # messages for a provider's own client are not LangChain's
    closed = close_tool_calls(said, state.get(STOP_REASON))
    if not closed and isinstance(said[-1], AIMessage):
        return {}  # it ends with what it wrote itself
    return {MESSAGES: [*closed, AIMessage(stopped(state.get(STOP_REASON)))]}


def require_state(function: Any, given: Iterable[str]) -> None:
    """Raise a `TypeError` if a fallback cannot take the state and what is `given` beside: no ordinary run shows it."""
    if isinstance(function, Runnable):
        takes: Any = None
        with suppress(Exception):  # of some runnables nobody knows what they take
            takes = function.InputType
        if StringPromptValue in get_args(takes):
            raise TypeError("it takes messages and no state, as chat models do; write answer_without_tools(model)")
        return
    if hasattr(function, "__signature__"):  # it may tell of what a decorator fills in
        return
    if getattr(function, "__module__", "") == "loopwright.fallbacks.nodes":
        raise TypeError(f"it makes a node; write {function.__name__}(...)")
    with suppress(ValueError):  # nobody knows what some take that are written in C
        signature(function, follow_wrapped=False).bind({}, **dict.fromkeys(given))


def way_out(builder: Builder) -> str:
    """Where a graph ends by itself: END, or the first of the nodes that a LangChain agent runs once at its end."""
    hooks = [node for node in builder.nodes if node.endswith(_AT_ITS_END)]
    ways = read_topology(builder).ways() if hooks else {}
    leads = {target for node in hooks for target in ways[node]}
    if not leads <= {*hooks, END}:
        return END  # one of them may go round again
    return next((node for node in hooks if node not in leads), END)
