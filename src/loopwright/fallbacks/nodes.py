"""The nodes, what they read of the state, and what they say: the bound, what was tried, and what is missing."""

import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableLambda, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langgraph.errors import GraphBubbleUp
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from loopwright.engine.events.reasons import MESSAGES, call_text, shorten, stops_of
from loopwright.engine.events.stops import (
    NOT_RUN,
    bound_reached,
    calls_of,
    close_tool_calls,
    open_calls,
    passes_used,
    stopped,
)
from loopwright.engine.langgraph_private import RECURSION_LIMIT
from loopwright.engine.ledger import STOP_REASON, StopReason
from loopwright.engine.loop import RUN
from loopwright.engine.proof.read import ADDED_KEY, NEEDED_KEYS
from loopwright.errors import GraphError

logger = logging.getLogger("loopwright.fallbacks")

Update = dict[str, Any]

INSTRUCTION = "No more tools can be used: {bound}. Answer now from what is above, and say what could not be found out."
"""What `answer_without_tools` tells the model, unless given."""

_TOOL_OPTIONS = ("tools", "tool_choice", "parallel_tool_calls")

State = Mapping[str, Any]
"""The state as a fallback gets it: the keys that it reads, those of them that were written."""

_LISTED = 5
"""So many different tool calls are listed."""


def best_effort(*keys: str, messages: str = "messages", to: str | None = None) -> RunnableLambda[Any, Update]:
    """A node that gives the best answer so far, and says that it is no more than that.

    Args:
        *keys: State keys in the order in which they are filled: the last one that is not empty is the answer. Where all
            are empty, it is the last text that the model wrote.
        messages: The state key of the messages.
        to: The state key that receives the answer as text; None appends it to the messages.
    """

    def answer(state: State) -> Update:
        found = next((state[key] for key in reversed(keys) if _is_filled(state.get(key))), None)
        text = text_of(found) or last_text(turn_of(state, messages))
        bound = bound_reached(state.get(STOP_REASON))
        if not text:
            text = f"There is no answer yet: {bound}." if bound else "There is no answer yet."
        elif bound:
            text = f"{text}\n\n(The best answer so far, not a finished one: {bound}.)"
        return _update(state, AIMessage(text), messages, to)

    return _node("best_effort", keys, messages, to, answer)


def say_what_is_missing(
    *, question: str | None = None, messages: str = "messages", to: str | None = None
) -> RunnableLambda[Any, Update]:
    """A node that needs no model: it says what was asked, what was tried, which bound was reached and what is missing.

    Args:
        question: The state key of the question; None takes the last message of a person.
        messages: The state key of the messages.
        to: The state key that receives the answer as text; None appends it to the messages.
    """

    def answer(state: State) -> Update:
        return _update(state, AIMessage(report(state, question, messages)), messages, to)

    return _node("say_what_is_missing", [question], messages, to, answer)


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
        messages: The state key of the messages.
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
        if isinstance(error, GraphBubbleUp):
            raise error
        problem = shorten(f"{type(error).__name__}: {error}")
        logger.warning("the model could not answer without tools (%s); saying what is missing instead", problem)
        text = f"{report(state, question, messages)}\nThe model gave no last answer: {problem}"
        return _update(state, AIMessage(text), messages, to)

    def answer(state: State) -> Update:
        try:
            return accept(state, plain.invoke(prompt(state)))
        except Exception as error:
            return give_up(state, error)

    async def aanswer(state: State) -> Update:
        try:
            return accept(state, await plain.ainvoke(prompt(state)))
        except Exception as error:
            return give_up(state, error)

    return _node("answer_without_tools", [question], messages, to, answer, aanswer)


def _node(
    name: str, keys: Sequence[str | None], messages: str, to: str | None, answer: Callable[[State], Update],
    aanswer: Callable[[State], Awaitable[Update]] | None = None,
) -> RunnableLambda[Any, Update]:  # fmt: skip
    """A node, sync and async. LangGraph reads its input schema from ``__call__``, which each node gets of its own."""

    def call(self: RunnableLambda[Any, Update], state: Any) -> Update:
        return self.invoke(state)

    read = {**{key: Any for key in (*keys, messages) if key}, STOP_REASON: StopReason | list[StopReason] | None}
    schema: Any = TypedDict(f"{name}_input", read, total=False)  # type: ignore[operator]
    # A graph whose answer goes elsewhere need not have messages.
    setattr(schema, NEEDED_KEYS, {*keys, messages, to} - {None, MESSAGES if to else None})
    call.__annotations__ = {"state": schema}
    return type(name, (RunnableLambda,), {"__call__": call, ADDED_KEY: messages})(answer, aanswer, name=name)


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
    if isinstance(model, RunnableWithFallbacks):
        first, *others = map(_without_tools, model.runnables)
        return model.model_copy(update={"runnable": first, "fallbacks": others})
    if not isinstance(model, RunnableBindingBase):
        mapped = getattr(model, "mapped", None)  # a chain of models, each bound in its own way
        return model if mapped is None else mapped(_without_tools)
    kwargs = {name: value for name, value in model.kwargs.items() if name not in _TOOL_OPTIONS}
    return model.model_copy(update={"bound": _without_tools(model.bound), "kwargs": kwargs})


# What is read of the state


def messages_of(state: State, key: str) -> list[BaseMessage]:
    """The messages under a key, whatever form they have."""
    return convert_to_messages(state.get(key) or [])


def turn_of(state: State, key: str) -> list[BaseMessage]:
    """The messages since a person last wrote."""
    history = messages_of(state, key)
    asked = [place for place, message in enumerate(history) if _is_persons(message)]
    return history[asked[-1] :] if asked else history


def _is_persons(message: BaseMessage) -> bool:
    """Whether a person wrote it; what a library writes in a person's name, it marks with its own."""
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


def calls_not_run(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The tool calls in messages that were not carried out: nobody answered them, or a bound did."""
    refused: list[ToolCall] = []
    asked: dict[str | None, ToolCall] = {}  # the last of each id: some models begin with the first one each time
    for message in messages:
        if isinstance(message, AIMessage):
            asked |= {call["id"]: call for call in calls_of([message])}
        elif isinstance(message, ToolMessage) and message.status == "error" and message.text.startswith(NOT_RUN):
            refused += [asked[message.tool_call_id]] if message.tool_call_id in asked else []
    return [*refused, *open_calls(messages)]


def last_text(messages: Sequence[BaseMessage]) -> str:
    """The last text that the model wrote; empty where it wrote none."""
    texts = [str(message.text).strip() for message in messages if isinstance(message, AIMessage)]
    return next((text for text in reversed(texts) if text), "")


def _is_filled(value: Any) -> bool:
    try:
        return bool(value)
    except Exception:  # an array does not say of which element the truth is meant
        return getattr(value, "size", 1) > 0


def text_of(value: Any) -> str:
    """A state value as text: what a message says, pydantic models and containers as JSON."""
    if isinstance(value, BaseMessage):
        return str(value.text)
    if isinstance(value, BaseModel | Mapping | list | tuple | set):
        plain = to_jsonable_python(value, fallback=str, by_alias=False, inf_nan_mode="null", bytes_mode="base64")
        return json.dumps(plain, ensure_ascii=False)
    return "" if value is None else str(value)


# What is said


def report(state: State, question: str | None, key: str) -> str:
    """What `say_what_is_missing` answers."""
    stop_reason, turn = state.get(STOP_REASON), turn_of(state, key)
    asked = text_of(state.get(question)) if question else "".join(
        str(message.text) for message in turn[:1] if _is_persons(message)
    )  # fmt: skip
    not_run = calls_not_run(turn)
    skipped = {*map(id, not_run)}
    # What the engine read itself is a call, which stands among those that were tried, or what only developers know; a
    # whole run's is its own budget or step limit.
    loops = [stop for stop in stops_of(stop_reason) if stop["loop"] not in (RUN, RECURSION_LIMIT)]
    tried = _tried([call for call in calls_of(turn) if id(call) not in skipped])
    tried += [passes_used(stop) for stop in loops if not stop.get("resource")]
    missing = [str(stop["reason"]) for stop in loops if stop.get("reason") and not stop.get("derived")]
    lines = [
        stopped(stop_reason),
        f"Asked: {shorten(asked)}" if asked else "",
        f"Tried: {'; '.join(tried)}." if tried else "",
        f"Not run: {'; '.join(_tried(not_run))}." if not_run else "",
        f"Not found out: {shorten('; '.join(missing)) or 'the answer to the question'}",
    ]
    return "\n".join(line for line in lines if line)


def _tried(calls: Sequence[ToolCall]) -> list[str]:
    counts = Counter(call_text(call) for call in calls)
    shown = [text if times == 1 else f"{text} {times} times" for text, times in counts.items()]
    return [*shown[:_LISTED], *([f"{len(shown) - _LISTED} other calls"] if len(shown) > _LISTED else [])]
