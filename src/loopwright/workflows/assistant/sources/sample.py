"""The made-up conference that comes with the package, so that the assistant can be tried without any file."""

from pathlib import Path

from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.assistant.sources.ingesting import ingest


def sample_folder() -> Path:
    """The folder with its ``schedule.xml``, ``exhibitors.json`` and ``attendees.csv``."""
    return Path(__file__).parents[1] / "data" / "sample"


def sample_store() -> KnowledgeStore:
    """A new store in memory that holds the sample conference, without vectors; whoever asks for it closes it."""
    store, folder = open_store("memory"), sample_folder()
    exhibitors, attendees = folder / "exhibitors.json", folder / "attendees.csv"
    ingest(store, folder / "schedule.xml", exhibitors=exhibitors, attendees=attendees)
    return store
