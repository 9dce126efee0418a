"""Why a pass is wanted, where the loop's declaration does not say: read from the messages, or from what changed.

Messages are read by their attributes, so that any state that holds some will do. What a model is told of its last
passes stands here, too.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from loopwright.engine.nodes.redact import redacted

if TYPE_CHECKING:  # it comes with LangGraph, whose import takes more than a second
    from loopwright.engine.ledger import StopReason

MESSAGES = "messages"
"""The state key of the messages, as LangGraph and LangChain name it."""

SHOWN = 300
"""Characters of a call or a reason that are shown."""

LISTED = 3
"""So many calls or keys are listed; the rest is counted."""


def wanted(state: Any, changed: Iterable[str] = ()) -> str:
    """What the pass was wanted for: the tools that the model asked for last, else the keys that changed, if any.

    The state is a mapping or an object with attributes. One line, without secrets; empty where nothing is known.
    """
    held = state.get(MESSAGES) if isinstance(state, Mapping) else getattr(state, MESSAGES, None)
    said = [*held] if isinstance(held, list | tuple) else []
    last = next((one for one in reversed(said) if getattr(one, "type", None) in ("ai", "AIMessageChunk")), None)
    if asked := getattr(last, "tool_calls", None):
        return _listed([call_text(call) for call in asked], "calls")
    keys = [*changed]
    return f"{_listed(keys, 'keys', ', ')} changed" if keys else ""


def marks(state: Mapping[str, Any], without: Iterable[str]) -> dict[str, Any]:
    """A short mark of every value, in plain JSON: where two differ, the value has changed."""
    return {key: _mark(value) for key, value in state.items() if key not in without}


def _mark(value: Any) -> Any:
    if isinstance(value, str):
        return zlib.crc32(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, Sized):
        with suppress(Exception):  # an array without dimensions has no length, and says so only when asked
            return len(value)
    return value if isinstance(value, bool | int | float) else type(value).__name__


def warning(left: int) -> str:
    """What the model is told when few passes are left."""
    if left > 0:
        rounds = "1 more round" if left == 1 else f"{left} more rounds"
        return f"(Note: after this one, {rounds} of tool calls can be read. Then you will be stopped: answer in time.)"
    return "(Note: what further tool calls return will not be read any more. Answer now from what you have.)"


def call_text(call: Mapping[str, Any]) -> str:
    """A tool call, as LangChain's messages hold it, as code: one line, shortened, without what looks like a secret."""
    given = redacted(call.get("args") or {})
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items()) if isinstance(given, dict) else repr(given)
    return shorten(f"{call.get('name')}({shown})")


def shorten(text: str) -> str:
    """A text on one line, cut where it is long."""
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def _listed(texts: Sequence[str], what: str, between: str = "; ") -> str:
    more = len(texts) - LISTED
    rest = [f"and {more} more {what if more > 1 else what[:-1]}"] if more > 0 else []
    return between.join([*texts[:LISTED], *rest])


def stops_of(stop_reason: Any) -> list[StopReason]:
    """The bounds at which a run ended: a state's ``stop_reason`` is none, one, a list, or a graph's own key."""
    stops: list[Any] = stop_reason if isinstance(stop_reason, list) else [stop_reason]
    return [stop for stop in stops if hasattr(stop, "keys") and "loop" in stop]


def stops_said(stop_reason: Any) -> list[str]:
    """At which bounds a run ended, one part of a line each."""
    return [
        f"{stop['loop']} {stop['outcome']} after {stop['spent']} of {stop['limit']}" for stop in stops_of(stop_reason)
    ]
