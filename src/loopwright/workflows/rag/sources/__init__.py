"""Ingesting documents: from files to passages, entities, facts and vectors in a knowledge store."""

from loopwright.retrieval.vectors import fill_vectors
from loopwright.workflows.rag.sources.ingesting import IngestReport, UnreadDocument, ingest

__all__ = ["IngestReport", "UnreadDocument", "fill_vectors", "ingest"]
