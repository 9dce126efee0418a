"""Which module reads which kind of file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from loopwright.workflows.rag.reading.documents import ReadDocument
from loopwright.workflows.rag.reading.limits import ReadingLimits
from loopwright.workflows.rag.reading.problems import ReadingProblem, log_problem
from loopwright.workflows.rag.reading.source import Source

FORMATS = {
    ".csv": "csv_file",
    ".docx": "docx_file",
    ".htm": "html_file",
    ".html": "html_file",
    ".json": "json_file",
    ".jsonl": "jsonl_file",
    ".markdown": "markdown_file",
    ".md": "markdown_file",
    ".ndjson": "jsonl_file",
    ".pdf": "pdf_file",
    ".rst": "text_file",
    ".txt": "text_file",
    ".xhtml": "html_file",
}
"""Extension in lower case -> the module here that reads it, imported when it is needed."""


def read_source(
    path: Path,
    *,
    limits: ReadingLimits = ReadingLimits(),  # noqa: B008 - frozen
    on_problem: Callable[[ReadingProblem], None] = log_problem,
) -> Iterator[ReadDocument]:
    """Read the documents of a file, one after the other.

    A JSONL or CSV file is read record by record as the documents are taken, so that its size does not matter for
    memory; only triples are kept until its end.

    Args:
        path: The file; its extension says what it is, and its content must agree.
        limits: The bounds.
        on_problem: Told of each record that is left out, and of each detail (an unreadable date, a broken front matter)
            that had to be ignored; by default they are logged as warnings.

    Returns:
        The documents, in the file's order; documents of triples come last.

    Raises:
        DocumentError: When the first document is taken, if the file is missing, damaged, encrypted, too large, without
            text, or of no known kind.
    """
    source = Source(path=path.resolve(), limits=limits, on_problem=on_problem)
    name = FORMATS.get(path.suffix.lower())
    if name is None:
        raise source.error(f"{path.suffix or 'no extension'!r} is no known kind; known: {', '.join(sorted(FORMATS))}")
    read: Callable[[Source], Iterator[ReadDocument]] = import_module(f"{__package__}.{name}").read
    try:
        yield from read(source)
    except OSError as error:
        raise source.error(f"cannot be read: {error}") from error
