"""Stall rules for graphs with messages: no key to write.

Each looks at the last round (what the model asked for, and what came of it), and keeps fingerprints of the rounds
before. A round without tool calls is no evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from pydantic import PositiveInt

from loopwright.engine.budget.patience import Look, StallRule, fingerprint
from loopwright.engine.kinds import Declared


def same_call_same_result(*, times: int = 1, remembers: int = 20, messages: str = "messages") -> StallRule:
    """No progress is when a round brings nothing but what earlier ones brought: the same calls, with the same results.

    The result decides: a repeated call whose result is new is progress, and so is a new call with a known result.

    Args:
        times: After how many such rounds in a row it counts.
        remembers: With how many earlier results it is compared.
        messages: The state key of the messages.
    """

    def judge(results: list[_Result], notes: list[Any]) -> Look:
        """Count the rounds in a row in which every pair of call and result is known; the first note is that count."""
        seen = [fingerprint([result.call, result.text]) for result in results]
        row, known = (notes[0], notes[1:]) if notes else (0, [])
        row = row + 1 if all(one in known for one in seen) else 0
        # What comes again moves to the end: it is what must be known the next time.
        return Look(row >= times, [row, *[*(one for one in known if one not in seen), *seen][-remembers:]])

    return MessageStall(name="same call, same result", judge=judge, times=times, messages=messages, remembers=remembers)


def alternation(*, times: int = 2, messages: str = "messages") -> StallRule:
    """No progress is when the model goes to and fro between two rounds of calls, whatever comes of them: A, B, A, B.

    Waiting for something (look, wait, look, wait) alternates too; take `same_call_same_result` there.

    Args:
        times: How often the pair must come in a row.
        messages: The state key of the messages.
    """

    def judge(results: list[_Result], notes: list[Any]) -> Look:
        """Note each round's calls; two that differ, in turn, are an alternation."""
        rounds = [*notes, fingerprint(sorted(result.call for result in results))][-2 * times :]
        pair = rounds[:2]
        return Look(rounds == pair * times and len(set(pair)) == 2, rounds)

    return MessageStall(name="the same two calls in turn", judge=judge, times=times, messages=messages)


def repeated_error(*, times: int = 2, messages: str = "messages") -> StallRule:
    """No progress is when rounds in a row end with the same error, whatever the model tries: no call of them succeeded.

    Args:
        times: After how many such rounds in a row it counts, the first included.
        messages: The state key of the messages.
    """

    def judge(results: list[_Result], notes: list[Any]) -> Look:
        """Count the rounds in a row that brought the same errors; the notes are that count and the errors."""
        if not all(result.failed for result in results):
            return Look(False, [])
        errors = fingerprint(sorted({result.text for result in results}))
        row = notes[0] + 1 if notes and notes[1] == errors else 1
        return Look(row >= times, [row, errors])

    return MessageStall(name="the same error again", judge=judge, times=times, messages=messages)


class _Result(NamedTuple):
    """A call and what came of it."""

    call: str
    """The fingerprint of the tool and its arguments."""
    text: str
    """The fingerprint of the tool and the result."""
    failed: bool
    """Whether the result is an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageStall(Declared):
    """A rule that looks at the last round of messages."""

    name: str
    """What the stop reason calls it."""
    judge: Callable[[list[_Result], list[Any]], Look]
    """Judges the calls of a round by the notes so far."""
    times: PositiveInt
    """After how many rounds, or pairs of rounds, it counts."""
    messages: str
    """The state key of the messages."""
    remembers: PositiveInt = 1
    """With how many earlier results it is compared."""

    def look(self, state: Any, notes: list[Any]) -> Look:
        """Judge the last round; one without calls that were answered is no evidence."""
        results = self.round_of(state)
        return self.judge(results, notes) if results else Look(False, notes)

    def round_of(self, state: Any) -> list[_Result]:
        """The last calls of the model that were answered, with the answers."""
        held = state.get(self.messages) if isinstance(state, Mapping) else getattr(state, self.messages, None)
        answers: dict[str, ToolMessage] = {}
        for given in reversed(held or []):
            message = given if isinstance(given, BaseMessage) else convert_to_messages([given])[0]
            if isinstance(message, ToolMessage):
                answers.setdefault(message.tool_call_id, message)
            elif isinstance(message, AIMessage):
                return [
                    _Result(
                        fingerprint([call["name"], call["args"]]),
                        fingerprint([call["name"], answer.content]),
                        answer.status == "error",
                    )
                    for call in message.tool_calls
                    if (answer := answers.get(call["id"] or ""))
                ]
        return []
