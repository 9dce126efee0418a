"""Reads what a fallback needs from the state."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage, convert_to_messages
from pydantic import BaseModel

NOT_RUN = "not run: "
"""How the answers to tool calls begin that were not carried out."""

State = Mapping[str, Any]
"""The state as a fallback gets it: the keys that it reads, those of them that were written."""


def messages_of(state: State, key: str) -> list[BaseMessage]:
    """The messages under a key, whatever form they have."""
    return convert_to_messages(state.get(key) or [])


def turn_of(state: State, key: str) -> list[BaseMessage]:
    """The messages since a person last wrote."""
    history = messages_of(state, key)
    asked = [place for place, message in enumerate(history) if isinstance(message, HumanMessage)]
    return history[asked[-1] :] if asked else history


def calls_of(messages: Sequence[BaseMessage]) -> Iterator[ToolCall]:
    """The tool calls in messages, in order."""
    for message in messages:
        if isinstance(message, AIMessage):
            yield from message.tool_calls


def open_calls(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The tool calls of the last AI message that nobody answered."""
    places = [place for place, message in enumerate(messages) if isinstance(message, AIMessage)]
    if not places:
        return []
    since = messages[places[-1] :]
    answered = {message.tool_call_id for message in since if isinstance(message, ToolMessage)}
    return [call for call in calls_of(since) if call["id"] not in answered]


def calls_not_run(messages: Sequence[BaseMessage]) -> list[ToolCall]:
    """The tool calls in messages that were not carried out: nobody answered them, or a bound did."""
    refused = {
        message.tool_call_id
        for message in messages
        if isinstance(message, ToolMessage) and message.status == "error" and str(message.text).startswith(NOT_RUN)
    }
    return [*(call for call in calls_of(messages) if call["id"] in refused), *open_calls(messages)]


def last_text(messages: Sequence[BaseMessage]) -> str:
    """The last text that the model wrote; empty where it wrote none."""
    texts = [str(message.text).strip() for message in messages if isinstance(message, AIMessage)]
    return next((text for text in reversed(texts) if text), "")


def text_of(value: Any) -> str:
    """A state value as text: what a message says, pydantic models and containers as JSON."""
    if isinstance(value, BaseMessage):
        return str(value.text)
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)
