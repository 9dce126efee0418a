"""Finding the files to read, and which function reads which kind."""

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from loopwright.config import shipped
from loopwright.errors import DocumentError
from loopwright.workflows.files.source import ReadingLimits, ReadingProblem, document_id, log_problem, logger
from loopwright.workflows.rag.sources.reading.layout import ReadDocument
from loopwright.workflows.rag.sources.reading.source import Source

_READERS = shipped("loopwright.workflows.rag", "data/readers.yaml")
FORMATS: dict[str, str] = {kind: reader for reader, kinds in _READERS.items() for kind in kinds.split()}
"""Extension in lower case -> module and function here that read it, imported when they are needed."""


def read_source(
    path: Path,
    *,
    limits: ReadingLimits = ReadingLimits(),  # noqa: B008 - frozen
    on_problem: Callable[[ReadingProblem], None] = log_problem,
) -> Iterator[ReadDocument]:
    """Read the documents of a file, one after the other.

    A JSONL or CSV file is read record by record as the documents are taken, so that its size does not matter for
    memory. The extension says what a file is, and its content must agree. ``on_problem`` is told of each record that is
    left out, and of each detail (unreadable date, broken front matter) that had to be ignored; else they are warnings.

    Returns:
        The documents, in the file's order.

    Raises:
        DocumentError: When the first document is taken, if the file is missing, damaged, encrypted, too large, without
            text, or of no known kind.
    """
    source = Source(path=path.resolve(), limits=limits, on_problem=on_problem)
    module, _, name = FORMATS.get(path.suffix.lower(), "").partition(":")
    if not module:
        raise source.error(f"{path.suffix or 'no extension'!r} is no known kind; known: {', '.join(sorted(FORMATS))}")
    try:
        yield from getattr(import_module(f"{__package__}.{module}"), name)(source)
    except OSError as error:
        raise source.error(f"cannot be read: {error}") from error


def find_sources(root: Path, *, on_problem: Callable[[ReadingProblem], None] = log_problem) -> Iterator[Path]:
    """The files to read under a folder, sorted by path.

    Left out are hidden files and folders, what is no regular file, and (counted in a warning) unknown extensions and
    links: what a link names inside the folder is found anyway, and what it names outside was not asked for.
    A root that is a file is never left out.

    Raises:
        DocumentError: If there is nothing at ``root``, or it cannot be looked at.
    """
    start = root.resolve()
    try:
        is_folder = stat.S_ISDIR(start.stat().st_mode)
    except OSError as error:
        problem = f"cannot be looked at: {error.strerror}; check the path and its permissions"
        raise DocumentError(document_id(root), problem) from error
    if not is_folder:
        yield start
        return

    def told(error: OSError) -> None:
        problem = f"the folder cannot be read: {error.strerror}; check its permissions"
        on_problem(ReadingProblem(DocumentError(document_id(Path(error.filename)), problem), left_out=True))

    found, others = list[Path](), Counter[str]()
    for folder, folders, files in os.walk(start, onerror=told):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(folder, name) for name in (*folders, *files) if not name.startswith(".")):
            if os.path.islink(path):
                others["links"] += 1
            elif path.suffix.lower() in FORMATS and os.path.isfile(path):
                found.append(path)
            elif os.path.isfile(path):
                others[path.suffix.lower()] += 1
    if others:
        kinds = ", ".join(f"{count} {kind or 'without extension'}" for kind, count in others.most_common(5))
        logger.warning("%s: %d links and other files were left out (%s)", document_id(start), others.total(), kinds)
    yield from sorted(found)
