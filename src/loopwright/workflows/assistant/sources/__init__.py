"""The conference: reading it from files, keeping it in a store, and having it at hand for every question."""

from __future__ import annotations

from loopwright.workflows.assistant.sources.catalogue import Catalogue, current
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.sources.ingesting import IngestReport, embed_all, ingest
from loopwright.workflows.assistant.sources.sample import sample_paths, sample_store

__all__ = [
    "Catalogue",
    "ConferenceInfo",
    "IngestReport",
    "current",
    "embed_all",
    "ingest",
    "sample_paths",
    "sample_store",
]
