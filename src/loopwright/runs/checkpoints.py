"""Where the checkpoints of a run are, and how one is copied to another run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, copy_checkpoint

START = "__start__"
"""The node in whose name LangGraph writes the input."""


def thread(run_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """Where a run's checkpoints are.

    Args:
        run_id: The run.
        checkpoint_id: One of them; None for the last.
    """
    place = {"thread_id": run_id, "checkpoint_ns": ""}
    return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


async def copied(
    saver: BaseCheckpointSaver[str], saved: CheckpointTuple, run_id: str, values: Mapping[str, Any] | None = None
) -> None:
    """Copy a checkpoint to a new run. What its next nodes wrote already is not copied: they run again.

    Args:
        saver: Where both are kept.
        saved: The checkpoint.
        run_id: The new run.
        values: Key of the state -> its value, where that is another one in the copy.
    """
    checkpoint = copy_checkpoint(saved.checkpoint)
    versions = checkpoint["channel_versions"]
    checkpoint["channel_values"] = {**checkpoint["channel_values"], **(values or {})}
    # Savers that keep each value under its version would pass over a key that has none yet.
    newest: Any = max(versions.values(), default=None)
    new = {key: saver.get_next_version(newest, None) for key in values or {} if key not in versions}
    checkpoint["channel_versions"] = {**versions, **new}
    await saver.aput(thread(run_id), checkpoint, saved.metadata, dict(checkpoint["channel_versions"]))
