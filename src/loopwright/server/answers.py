"""A run's outcome as one JSON value, for clients that do not stream."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from loopwright.runs.store.protocol import KeptEvent
from loopwright.server.problems import Problem, status_of
from loopwright.workflows.assistant.constants import GENERATE_RESPONSE
from loopwright.workflows.assistant.events import PipelineSummary
from loopwright.workflows.assistant.schemas import Status, ThinkingUpdate

ANSWERED, FAILED = "done", "error"
"""The events of which every run that ended has one."""


class ChatAnswer(BaseModel):
    """The outcome of one message."""

    run_id: str
    """Names the run; its events can be read for some minutes."""
    acknowledgment: str = ""
    """The first word to the person, before anything was searched."""
    answer: str
    """The answer as Markdown, a cited record's id in brackets."""
    referenced_ids: tuple[str, ...]
    """The records that the answer cites, in its order."""
    status: Status
    """How honest an end it is."""
    stop_reason: dict[str, Any] | list[dict[str, Any]] | None
    """Which loop reached its bound, or None."""
    thinking_updates: tuple[ThinkingUpdate, ...] = ()
    """What the person would have been told of each retry, in order."""
    summary: PipelineSummary | None = None
    """The run at a glance."""


def answer_of(run_id: str, events: Sequence[KeptEvent]) -> ChatAnswer | None:
    """Read the outcome from the events of a run that ended.

    Args:
        run_id: The run.
        events: What its client would have been sent.

    Returns:
        The outcome, or None if the run ended without an answer.
    """
    told: dict[str, list[Any]] = {}
    pieces: list[str] = []
    for event in events:
        data = json.loads(event.data)
        if event.name == "chunk":
            pieces.append(data["text"])
        elif event.name == "node_start" and data["node"] == GENERATE_RESPONSE:
            # Another attempt at the answer replaces the one before.
            pieces.clear()
        else:
            told.setdefault(event.name, []).append(data)
    if ANSWERED not in told:
        return None
    return ChatAnswer.model_validate(
        {
            **told[ANSWERED][-1],
            "run_id": run_id,
            "acknowledgment": told.get("acknowledgment", [{"message": ""}])[-1]["message"],
            "answer": "".join(pieces),
            "thinking_updates": told.get("thinking", ()),
            "summary": told.get("pipeline_summary", [None])[-1],
        }
    )


def told_failure(events: Sequence[KeptEvent]) -> Problem | None:
    """What went wrong in a run that ended without an answer, as its last ``error`` event has it.

    Args:
        events: What its client would have been sent.

    Returns:
        The problem, or None if there is no such event.
    """
    for event in reversed(events):
        if event.name == FAILED:
            told = json.loads(event.data)
            return Problem(**told, status=status_of(told["error_type"], can_retry=told["can_retry"]))
    return None
