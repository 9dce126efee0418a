"""The nodes."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableLambda
from langgraph.errors import GraphBubbleUp

from loopwright.engine.ledger import STOP_REASON, StopReason
from loopwright.engine.reasons import shorten
from loopwright.errors import GraphError
from loopwright.fallbacks.reading import State, last_text, messages_of, text_of, turn_of
from loopwright.fallbacks.wording import bound_reached, close_tool_calls, report

logger = logging.getLogger("loopwright.fallbacks")

Update = dict[str, Any]

INSTRUCTION = "No more tools can be used: {bound}. Answer now from what is above, and say what could not be found out."
"""What `answer_without_tools` tells the model, unless given."""

_TOOL_OPTIONS = ("tools", "tool_choice", "parallel_tool_calls")


def best_effort(*keys: str, messages: str = "messages", to: str | None = None) -> RunnableLambda[Any, Update]:
    """A node that gives the best answer so far, and says that it is no more than that.

    Args:
        *keys: State keys in the order in which they are filled: the last one that is not empty is the answer. Where all
            are empty, it is the last text that the model wrote.
        messages: The state key of the messages; its reducer must append.
        to: The state key that receives the answer as text; None appends it to the messages.
    """

    def answer(state: State) -> Update:
        found = next((state[key] for key in reversed(keys) if state.get(key)), None)
        text = text_of(found) or last_text(turn_of(state, messages))
        bound = bound_reached(state.get(STOP_REASON))
        if not text:
            text = f"There is no answer yet: {bound}." if bound else "There is no answer yet."
        elif bound:
            text = f"{text}\n\n(The best answer so far, not a finished one: {bound}.)"
        return _update(state, AIMessage(text), messages, to)

    return _node("best_effort", [*keys, messages], answer)


def say_what_is_missing(
    *, question: str | None = None, messages: str = "messages", to: str | None = None
) -> RunnableLambda[Any, Update]:
    """A node that needs no model: it says what was asked, what was tried, which bound was reached and what is missing.

    Args:
        question: The state key of the question; None takes the last message of a person.
        messages: The state key of the messages; its reducer must append.
        to: The state key that receives the answer as text; None appends it to the messages.
    """

    def answer(state: State) -> Update:
        return _update(state, AIMessage(report(state, question, messages)), messages, to)

    return _node("say_what_is_missing", [question, messages], answer)


def answer_without_tools(
    model: Runnable[Any, Any],
    *,
    instruction: str = INSTRUCTION,
    question: str | None = None,
    messages: str = "messages",
    to: str | None = None,
) -> RunnableLambda[Any, Update]:
    """A node that asks a model once, without tools, to answer from what is there.

    Tool calls that were never answered are closed first, because providers refuse a history that leaves them open.
    Where the model fails, or writes no text, the answer is that of `say_what_is_missing`, and says so.

    Args:
        model: The chat model; tools that are bound to it are taken off.
        instruction: What the model is told last; ``{bound}`` becomes the bound that was reached.
        question: The state key of the question, for a graph whose messages do not hold it.
        messages: The state key of the messages; its reducer must append.
        to: The state key that receives the answer as text; None appends it to the messages.
    """
    plain = _without_tools(model)

    def prompt(state: State) -> list[BaseMessage]:
        history = messages_of(state, messages)
        asked = [HumanMessage(text_of(state[question]))] if question and state.get(question) else []
        closed = close_tool_calls(history, state.get(STOP_REASON))
        bound = bound_reached(state.get(STOP_REASON)) or "this is the last step"
        return [*asked, *history, *closed, HumanMessage(instruction.replace("{bound}", bound))]

    def accept(state: State, reply: Any) -> Update:
        if not str(reply.text).strip():
            raise ValueError("its reply has no text")
        if reply.tool_calls or reply.invalid_tool_calls:
            reply = AIMessage(
                str(reply.text), usage_metadata=reply.usage_metadata, response_metadata=reply.response_metadata
            )
        return _update(state, reply, messages, to)

    def give_up(state: State, error: Exception) -> Update:
        problem = shorten(f"{type(error).__name__}: {error}")
        logger.warning("the model could not answer without tools (%s); saying what is missing instead", problem)
        text = f"{report(state, question, messages)}\nThe model gave no last answer: {problem}"
        return _update(state, AIMessage(text), messages, to)

    def answer(state: State) -> Update:
        try:
            return accept(state, plain.invoke(prompt(state)))
        except GraphBubbleUp:
            raise
        except Exception as error:
            return give_up(state, error)

    async def aanswer(state: State) -> Update:
        try:
            return accept(state, await plain.ainvoke(prompt(state)))
        except GraphBubbleUp:
            raise
        except Exception as error:
            return give_up(state, error)

    return _node("answer_without_tools", [question, messages], answer, aanswer)


class _Node(RunnableLambda[Any, Update]):
    """A node, sync and async. LangGraph reads its input schema from ``__call__``, which each node gets of its own."""


def _node(
    name: str,
    keys: Sequence[str | None],
    answer: Callable[[State], Update],
    aanswer: Callable[[State], Awaitable[Update]] | None = None,
) -> RunnableLambda[Any, Update]:
    async def same(state: State) -> Update:
        return answer(state)

    def call(self: _Node, state: Any) -> Update:
        return self.invoke(state)

    read = {**{key: Any for key in keys if key}, STOP_REASON: StopReason | list[StopReason] | None}
    call.__annotations__ = {"state": TypedDict(f"{name}_input", read, total=False)}  # type: ignore[operator]
    return type(name, (_Node,), {"__call__": call})(answer, aanswer or same, name=name)


def _update(state: State, answer: AIMessage, messages: str, to: str | None) -> Update:
    """The answer in its place; tool calls left open are closed, or the thread's next turn would be refused."""
    closed = close_tool_calls(messages_of(state, messages), state.get(STOP_REASON))
    if to is not None:
        return {to: str(answer.text), **({messages: closed} if closed else {})}
    if messages not in state:
        raise GraphError(
            f"the state has no {messages!r} to append the answer to; "
            "name the key of its messages, or say where the answer goes, for example to='answer'"
        )
    return {messages: [*closed, answer]}


def _without_tools(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    if not isinstance(model, RunnableBinding):
        return model
    kwargs = {name: value for name, value in model.kwargs.items() if name not in _TOOL_OPTIONS}
    return RunnableBinding(bound=_without_tools(model.bound), kwargs=kwargs, config=model.config)
