"""Finding the files to read, which function reads which kind, and the documents that are made of one."""

import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

from loopwright.config import shipped
from loopwright.database import storable
from loopwright.errors import DocumentError
from loopwright.retrieval.stores.tables import MOST_ID_BYTES
from loopwright.workflows import files
from loopwright.workflows.files.source import ReadingLimits, ReadingProblem, document_id, log_problem, logger
from loopwright.workflows.rag.sources.reading.layout import ReadDocument, Section, without_contents

_SHOWN = 100
_READERS = shipped("loopwright.workflows.rag", "data/readers.yaml")
FORMATS: dict[str, str] = {kind: reader for reader, kinds in _READERS.items() for kind in kinds.split()}
"""Extension in lower case -> module and function here that read it, imported when they are needed."""


class Source(files.Source):
    """One file, absolute and without links, whose documents are read."""

    @contextmanager
    def parsing(self, told: str, key: str = "") -> Generator[None]:
        """Has what a parser raises on a damaged file, which is nowhere listed, as a `DocumentError` that says what."""
        try:
            yield
        except (DocumentError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # a panic of what is written in Rust is no `Exception`
            raise self.error(f"{told}: {type(error).__name__}: {error}", key=key) from error

    def date(self, value: object) -> datetime | None:
        """A date with its time zone (UTC where it gives none); None if it is not ISO 8601, or in no year of UTC."""
        if not isinstance(value, str | date):
            return None
        try:
            found = datetime.fromisoformat(str(value).strip())  # of a date the beginning
            found = found if found.tzinfo else found.replace(tzinfo=UTC)
            found.astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        return found

    def told_date(self, value: object, key: str = "") -> datetime | None:
        """A date that a document gives; one that is none is told, of what may be endless its beginning or its kind."""
        if (found := self.date(value)) or not value:
            return found
        if isinstance(value, str):
            shown = repr(value[:_SHOWN]) + ("..." if len(value) > _SHOWN else "")
        else:
            shown = str(value) if isinstance(value, float | date) else f"(a {type(value).__name__})"
        problem = f"its date {shown} is not ISO 8601, or too far away; the file's own counts instead"
        self.ignored(self.error(problem, key=key))
        return None

    def document(
        self,
        text: str,
        sections: tuple[Section, ...] = (),
        *,
        raw: bytes,
        title: str = "",
        headings: tuple[str, ...] = (),
        key: str = "",
        **fields: Any,
    ) -> ReadDocument:
        """A document of this file, which names it where it has no title; without sections it is one under headings.

        Raises:
            DocumentError: If the text has no words, or the id is too long.
        """
        if not text.strip():
            raise self.error("has no text", key=key)
        id = storable(document_id(self.path) + (f"#{key}" if key else ""))
        if (length := len(id.encode())) > MOST_ID_BYTES:
            problem = f"its path and id have {length} bytes together, at most {MOST_ID_BYTES} are kept; shorten them"
            raise self.error(problem, key=key[:_SHOWN])
        return ReadDocument(
            id=id,
            title=storable(" ".join(title.split()) or self.path.stem),
            digest=hashlib.sha256(raw).hexdigest(),
            date=fields.pop("date", None) or datetime.fromtimestamp(self.path.stat().st_mtime, UTC),
            tags=tuple(dict.fromkeys(map(storable, fields.pop("tags", ())))),
            text=storable(without_contents(text)),
            sections=sections or (Section(headings=headings, start=0, end=len(text)),),
            **fields,
        )


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
    for folder, folders, names in os.walk(start, onerror=told):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(folder, name) for name in (*folders, *names) if not name.startswith(".")):
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
