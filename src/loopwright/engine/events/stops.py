"""What is said of a run that a bound ended: in words, and in the messages that it leaves behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolCall, ToolMessage, convert_to_messages
from langgraph.types import Command, Send

from loopwright.engine.events.reasons import MESSAGES, shorten, stops_of
from loopwright.engine.langgraph_private import RECURSION_LIMIT
from loopwright.errors import GraphError, LoopDeclarationError

if TYPE_CHECKING:
    from loopwright.engine.ledger import StopReason

NOT_RUN = "not run: "
"""How the answers to tool calls begin that were not carried out."""


def bound_reached(stop_reason: Any) -> str:
    """Say in words, to go on after a colon, which bounds a state's ``stop_reason`` names; empty where there is none."""
    return "; ".join(map(_bound, stops_of(stop_reason)))


def stopped(stop_reason: Any) -> str:
    """Say that there is no answer, and why: the first thing that an agent says which was stopped."""
    bound = bound_reached(stop_reason)
    return f"I stopped before I had an answer: {bound}." if bound else "I stopped before I had an answer."


def _bound(stop: StopReason) -> str:
    loop, limit, spent = stop["loop"], stop["limit"], stop["spent"]
    if resource := stop.get("resource"):
        counts = f"counts as spent: {why}" if (why := stop.get("why")) else f"was spent ({_figure(spent)} used)"
        return f"the budget of {_number(limit, str(resource))} {counts}"
    if loop == RECURSION_LIMIT:
        return f"the limit of {_number(limit, 'supersteps')} was reached"
    if stop["outcome"] == "exhausted":
        return f"the limit of {_number(limit, 'pass')} was reached in loop {loop!r}"
    return f"no progress was made in loop {loop!r} after {_number(spent, 'pass')}"


def passes_used(stop: StopReason) -> str:
    """How often a loop went round."""
    return f"{_number(stop['spent'], 'pass')} of loop {stop['loop']!r}"


def _number(value: float, unit: str) -> str:
    unit = {"pass": "passes", "money": "of money"}.get(unit, unit.replace("_", " "))
    return f"{_figure(value)} {unit}" if value != 1 else f"1 {unit.removesuffix('es' if unit == 'passes' else 's')}"


def _figure(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:,.4g}"


def as_update(given: Any) -> Any:
    """What a fallback returned, as an update: text, a message and messages are its answer; all else stays as it is."""
    match given:
        case [*parts] if any(isinstance(part, Command | Send) for part in parts):
            return given
        case str() | BaseMessage() | [*_] | {"role": _, "content": _}:
            return {MESSAGES: given}
        case _:
            return given


def messages_in(given: Any, of: str = "") -> list[BaseMessage]:
    """Messages in whatever form a fallback, of `of`, gave them; what is none is a `GraphError`."""
    match given:
        case None:
            return []
        case str():
            return [AIMessage(given)]
        case BaseMessage() | Mapping() | tuple((str(), _)):
            given = [given]
        case _:
            pass
    try:
        return convert_to_messages(given)
    except (TypeError, ValueError, NotImplementedError) as error:
        problem = f"fallback gave {shorten(repr(given))}: give text, a message, messages, or a state update"
        raise LoopDeclarationError(of, f"its {problem}") if of else GraphError(f"the {problem}") from error


def calls_of(messages: Sequence[BaseMessage]) -> Iterator[ToolCall]:
    """The tool calls in messages, in order; those whose arguments cannot be read, providers hold against a history."""
    for message in messages:
        if isinstance(message, AIMessage):
            yield from message.tool_calls
            yield from (cast("ToolCall", call) for call in message.invalid_tool_calls if call["id"])


def open_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The tool calls of the last AI message that nobody answered."""
    places = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    if not places:
        return []
    since = messages[places[-1] :]
    answered = {message.tool_call_id for message in since if isinstance(message, ToolMessage)}
    return [call for call in calls_of(since) if call["id"] not in answered]


def close_tool_calls(messages: Sequence[BaseMessage], stop_reason: Any = None) -> list[ToolMessage]:
    """Answers, naming the state's ``stop_reason``, to the tool calls of the last AI message that nobody answered."""
    why = bound_reached(stop_reason) or "the run came to its end"
    asked = next((message.id for message in reversed(messages) if isinstance(message, AIMessage)), None)
    return [
        ToolMessage(
            f"{NOT_RUN}{why}", tool_call_id=call["id"] or "", name=call["name"], status="error",
            id=f"{asked}: {call['id']}" if asked else None,  # the same one for who is told of it and for what is kept
        )
        for call in open_calls(messages)
    ]  # fmt: skip


def calls_closed(state: Mapping[str, Any], stop_reason: Any, *, whole: bool = False) -> dict[str, Any]:
    """The update by which no tool call is left open in a state, if it holds messages; `whole` gives them all."""
    held: Any = state.get(MESSAGES)
    held = held if isinstance(held, list) else []
    closed = close_tool_calls(held, stop_reason)
    return {MESSAGES: [*(held if whole else ()), *closed]} if closed else {}
