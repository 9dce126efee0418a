"""The ready-made stall rules see what does not get on, and let pass what does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from loopwright.langchain import alternation, repeated_error, same_call_same_result

Round = list[tuple[str, str]]
"""Calls, as ``name`` or ``name:argument``, each with its result; one that begins with ! is an error."""


def messages_of(rounds: list[Round]) -> list[Any]:
    messages: list[Any] = [HumanMessage("q")]
    for number, calls in enumerate(rounds):
        asked = [call.partition(":") for call, _result in calls]
        messages.append(
            AIMessage("", tool_calls=[{"name": name, "args": {"q": argument}, "id": f"{number}-{place}"}
                                      for place, (name, _colon, argument) in enumerate(asked)])
        )  # fmt: skip
        for place, (call, result) in enumerate(calls):
            status = "error" if result.startswith("!") else "success"
            messages.append(ToolMessage(result, tool_call_id=f"{number}-{place}", name=call, status=status))
    return messages


def stalled_at(rule: Any, rounds: list[Round]) -> int | None:
    """The round, from 1, at which a rule finds no progress."""
    notes: list[Any] = []
    for count in range(1, len(rounds) + 1):
        look = rule.look({"messages": messages_of(rounds[:count])}, notes)
        if look.stalled:
            return count
        notes = look.notes
    return None


def one(*calls: str) -> list[Round]:
    """Rounds of one call each: ``call=result``."""
    return [[(name, result)] for name, _sign, result in (call.partition("=") for call in calls)]


@pytest.mark.parametrize(
    ("rule", "rounds", "at"),
    [
        (same_call_same_result(), one("a=1", "a=1"), 2),
        (same_call_same_result(), one("a=1", "b=1", "c=1", "a=1"), 4),
        # the result decides
        (same_call_same_result(), one("a=1", "a=2", "a=3", "a=4"), None),
        # an old pair beside a new one is progress; nothing but old ones is none, in whatever order and company
        (same_call_same_result(), [[("a", "1")], [("a", "1"), ("b", "1")], [("c", "1")]], None),
        (same_call_same_result(), [[("a", "1")], [("b", "1")], [("b", "1"), ("a", "1")]], 3),
        (same_call_same_result(times=2), one("a=1", "a=1", "a=1"), 3),
        (same_call_same_result(times=2), one("a=1", "a=1", "b=1", "b=1", "c=1", "c=1"), None),
        (same_call_same_result(remembers=2), one("a=1", "b=1", "c=1", "a=1"), None),
        (alternation(), one("a=1", "b=2", "a=3", "b=4"), 4),
        (alternation(), one("a=1", "b=2", "a=3", "c=4", "a=5", "b=6"), None),
        (alternation(), one("a=1", "a=2", "a=3", "a=4"), None),
        (alternation(), one("a:1=1", "b=2", "a:2=3", "b=4"), None),
        (alternation(times=3), one("a=1", "b=1", "a=1", "b=1", "a=1", "b=1"), 6),
        (repeated_error(), one("a:1=!gone", "a:2=!gone"), 2),
        (repeated_error(), one("a=!gone", "a=!late", "a=!gone"), None),
        (repeated_error(), one("a=!gone", "a=fine", "a=!gone"), None),
        (repeated_error(), [[("a", "!gone"), ("b", "fine")]] * 3, None),
    ],
)  # fmt: skip
def test_rounds_without_progress(rule, rounds, at):
    assert stalled_at(rule, rounds) == at


def test_states_with_attributes_and_messages_in_other_forms_are_read():
    thread = [
        {"role": "assistant", "content": "", "tool_calls": [{"name": "a", "args": {}, "id": "1", "type": "tool_call"}]},
        {"role": "tool", "content": "gone", "tool_call_id": "1", "status": "error"},
    ]
    look = repeated_error(messages="thread", times=1).look(SimpleNamespace(thread=thread), [])
    assert look.stalled
