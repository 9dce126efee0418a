"""Says which bound was reached, what was tried, and what is missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, ToolCall, ToolMessage

from loopwright.engine.execution import RECURSION_LIMIT
from loopwright.engine.ledger import STOP_REASON
from loopwright.engine.reasons import call_text, shorten
from loopwright.fallbacks.reading import NOT_RUN, State, calls_not_run, calls_of, open_calls, text_of, turn_of

_LISTED = 5
"""So many different tool calls are listed."""


def bound_reached(stop_reason: Any) -> str:
    """Say in words which bound was reached.

    Args:
        stop_reason: The state's ``stop_reason``: one, a list of them, or nothing.

    Returns:
        Words that go on after a colon; empty where no bound was reached.
    """
    return "; ".join(_bound(stop) for stop in _stops(stop_reason))


def close_tool_calls(messages: Sequence[BaseMessage], stop_reason: Any = None) -> list[ToolMessage]:
    """Answers to the tool calls of the last AI message that nobody answered.

    Args:
        messages: The history.
        stop_reason: The state's ``stop_reason``, which the answers name.
    """
    why = bound_reached(stop_reason) or "the run came to its end"
    return [
        ToolMessage(f"{NOT_RUN}{why}", tool_call_id=call["id"] or "", name=call["name"], status="error")
        for call in open_calls(messages)
    ]


def report(state: State, question: str | None, key: str) -> str:
    """What `say_what_is_missing` answers."""
    stop_reason, turn = state.get(STOP_REASON), turn_of(state, key)
    bound = bound_reached(stop_reason)
    asked = text_of(state.get(question)) if question else "".join(
        str(message.text) for message in turn[:1] if isinstance(message, HumanMessage)
    )  # fmt: skip
    not_run = calls_not_run(turn)
    tried = [*_tried([call for call in calls_of(turn) if call not in not_run]), *_passes(stop_reason)]
    # What the engine read itself is a call, which stands among those that were tried, or what only developers know.
    missing = [str(stop["reason"]) for stop in _stops(stop_reason) if stop.get("reason") and not stop.get("derived")]
    lines = [
        f"I stopped before I had an answer: {bound}." if bound else "I stopped before I had an answer.",
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


def _passes(stop_reason: Any) -> Iterator[str]:
    for stop in _stops(stop_reason):
        if not stop.get("resource"):
            yield f"{_number(stop['spent'], 'pass')} of loop {stop['loop']!r}"


def _bound(stop: Mapping[str, Any]) -> str:
    loop, limit, spent = stop["loop"], stop["limit"], stop["spent"]
    if resource := stop.get("resource"):
        return f"the budget of {_number(limit, str(resource))} was spent ({_figure(spent)} used)"
    if loop == RECURSION_LIMIT:
        return f"the limit of {_number(limit, 'supersteps')} was reached"
    if stop["outcome"] == "exhausted":
        return f"the limit of {_number(limit, 'pass')} was reached in loop {loop!r}"
    return f"no progress was made in loop {loop!r} after {_number(spent, 'pass')}"


def _number(value: float, unit: str) -> str:
    unit = {"pass": "passes", "money": "of money"}.get(unit, unit.replace("_", " "))
    return f"{_figure(value)} {unit}" if value != 1 else f"1 {unit.removesuffix('es' if unit == 'passes' else 's')}"


def _figure(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:,.4g}"


def _stops(stop_reason: Any) -> list[dict[str, Any]]:
    return [stop for stop in (stop_reason if isinstance(stop_reason, list) else [stop_reason]) if stop]
