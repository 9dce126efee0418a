"""What is kept of a run: the journal's records."""

from __future__ import annotations

from typing import Any, TypedDict


class Record(TypedDict):
    """One finished run; a line of the journal."""

    sample_id: str
    """The sample's name."""
    asked: str
    """`Sample.asked`."""
    key: str
    """`loopwright.workflows.iqa.batch.keys.row_key`."""
    configuration: str
    """`loopwright.workflows.iqa.batch.keys.configuration_digest`."""
    stamp: str
    """`loopwright.workflows.iqa.batch.keys.stamp`, taken before the files were read."""
    versions: str
    """`loopwright.workflows.iqa.batch.keys.versions`."""
    state: dict[str, Any]
    """The final state in plain JSON, without the input."""
    stages: list[str]
    """The stages that ran, in order."""
    seconds: float
    """Wall time of the run."""
    error: str | None
    """Why the row failed, or None; a failed row is run again on resume."""
