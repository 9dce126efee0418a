"""Reading documents: files become documents with their structure, and documents become passages."""

from __future__ import annotations

from loopwright.workflows.rag.reading.chunking import passages_of
from loopwright.workflows.rag.reading.documents import ReadDocument, Section, Triple
from loopwright.workflows.rag.reading.finding import find_sources
from loopwright.workflows.rag.reading.formats import read_source
from loopwright.workflows.rag.reading.limits import ReadingLimits
from loopwright.workflows.rag.reading.problems import ReadingProblem

__all__ = [
    "ReadDocument",
    "ReadingLimits",
    "ReadingProblem",
    "Section",
    "Triple",
    "find_sources",
    "passages_of",
    "read_source",
]
