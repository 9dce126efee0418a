"""What a saver can do beyond LangGraph's own: say what it has kept, and give back what is old."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection

from langgraph.checkpoint.base import BaseCheckpointSaver

THREADS = (
    "SELECT thread_id, sum(CASE WHEN checkpoint_ns = '' THEN 1 ELSE 0 END) AS kept FROM checkpoints GROUP BY thread_id"
)
"""The query behind `Archive.threads`, where checkpoints stand in a table of LangGraph's."""

ONE = "thread_id = {0} AND checkpoint_ns = {0} AND checkpoint_id = {0}"
"""What names a checkpoint there."""


class Archive(BaseCheckpointSaver[str]):
    """A saver for whoever looks at what was saved, or tidies it up."""

    @abstractmethod
    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has, without those of subgraphs."""

    @abstractmethod
    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes and the values that only they had."""

    @abstractmethod
    def compact(self) -> None:
        """Give room that is free back to the disk, if that can be done."""
