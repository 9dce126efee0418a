"""Reading documents: files become documents with their structure, and documents become passages."""

from loopwright.workflows.files import ReadingLimits, ReadingProblem
from loopwright.workflows.rag.sources.reading.chunking import passages_of
from loopwright.workflows.rag.sources.reading.layout import ReadDocument, Section
from loopwright.workflows.rag.sources.reading.source import find_sources, read_source

__all__ = ["ReadDocument", "ReadingLimits", "ReadingProblem", "Section", "find_sources", "passages_of", "read_source"]
