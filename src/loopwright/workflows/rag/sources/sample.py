"""The made-up town that comes with the package, so that questions can be asked without any file."""

from pathlib import Path

from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.workflows.rag.sources import ingest


def sample_folder() -> Path:
    """The folder with the documents about the town of Brindlemere, as Markdown."""
    return Path(__file__).parents[1] / "data" / "sample"


def sample_store() -> KnowledgeStore:
    """A new store in memory that holds the sample documents, without vectors; whoever asks for it closes it."""
    store = open_store("memory")
    ingest([sample_folder()], store)
    return store
