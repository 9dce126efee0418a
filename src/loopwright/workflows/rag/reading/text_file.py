"""Plain text."""

from __future__ import annotations

from collections.abc import Iterator

from loopwright.workflows.rag.reading.documents import ReadDocument, Section
from loopwright.workflows.rag.reading.encodings import decode
from loopwright.workflows.rag.reading.source import Source


def read(source: Source) -> Iterator[ReadDocument]:
    """Read a text file as one document without headings, named like the file.

    Args:
        source: The file.

    Raises:
        DocumentError: If it is too large, empty, or no text.
    """
    data = source.data(source.limits.text_bytes)
    text = decode(data)
    if text is None:
        raise source.error("is not text: it has NUL bytes; check what kind of file it is")
    whole = (Section(start=0, end=len(text)),)
    yield source.document(text, whole, title=source.path.stem, media_type="text/plain", raw=data)
