"""A run's outcome as one JSON value, for clients that do not stream."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from loopwright.server.runs import ANSWERED, FAILED, Run
from loopwright.workflows.assistant.constants import GENERATE_RESPONSE
from loopwright.workflows.assistant.events import PipelineSummary
from loopwright.workflows.assistant.schemas import Status, ThinkingUpdate


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


def answer_of(run: Run) -> ChatAnswer | None:
    """Read the outcome from an ended run.

    Args:
        run: The run.

    Returns:
        The outcome, or None if the run ended without an answer.
    """
    told: dict[str, list[Any]] = {}
    pieces: list[str] = []
    for event in run.events:
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
            "run_id": run.id,
            "acknowledgment": told.get("acknowledgment", [{"message": ""}])[-1]["message"],
            "answer": "".join(pieces),
            "thinking_updates": told.get("thinking", ()),
            "summary": told.get("pipeline_summary", [None])[-1],
        }
    )


def failure_of(run: Run) -> dict[str, Any]:
    """What went wrong in a run that ended without an answer, as its last ``error`` event has it.

    Args:
        run: The run.
    """
    return next(json.loads(event.data) for event in reversed(run.events) if event.name == FAILED)
