"""The made-up conference that comes with the package, so that the assistant can be tried without any file."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.assistant.sources.ingesting import ingest


@dataclass(frozen=True, slots=True)
class SamplePaths:
    """Where its files lie."""

    schedule: Path
    """The sessions, as Pentabarf XML."""
    exhibitors: Path
    """The exhibitors, as JSON."""
    attendees: Path
    """The attendees, as CSV."""


def sample_paths() -> SamplePaths:
    """The files of the sample conference."""
    folder = Path(str(resources.files("loopwright.workflows.assistant"))) / "data" / "sample"
    return SamplePaths(folder / "schedule.xml", folder / "exhibitors.json", folder / "attendees.csv")


def sample_store() -> KnowledgeStore:
    """A new store in memory that holds the sample conference, without vectors; whoever asks for it closes it."""
    paths = sample_paths()
    store = open_store("memory")
    ingest(store, paths.schedule, exhibitors=paths.exhibitors, attendees=paths.attendees)
    return store
