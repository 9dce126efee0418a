"""A file that is being read: its bytes within bounds, its name, and where its problems go."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loopwright.errors import DocumentError

logger = logging.getLogger(__name__)

MEGABYTE = 1024 * 1024
"""Bytes in a megabyte, as the messages count them."""
# What stands between a file with records and the key of one; other names may hold the sign themselves.
_RECORD = re.compile(r"(?:(?<=\.[ct]sv)|(?<=\.json)|(?<=\.jsonl)|(?<=\.ndjson)|(?<=\.mbox))#", re.IGNORECASE)
# How Python gives bytes of a file name that are not UTF-8 (PEP 383), and how an id shows them.
_RAW_BYTE = re.compile("[\udc80-\udcff]")
_SHOWN_BYTE = re.compile("%([89A-F][0-9A-F])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Bounds of reading; a document beyond one of them is refused with a `DocumentError` that names the bound."""

    record_bytes: int = 4 * MEGABYTE
    """The longest line of a JSONL or CSV file in characters; a longer one is left out as a problem."""
    text_bytes: int = 100 * MEGABYTE
    """The largest file of another kind in bytes; it is held in memory."""
    html_bytes: int = 20 * MEGABYTE
    """The largest HTML file in bytes; its tree takes about 20 times as much memory."""
    unpacked_bytes: int = 300 * MEGABYTE
    """The most that a packed document may unpack to, in bytes."""
    pdf_seconds: float = 300.0
    """The most time for one PDF in seconds, checked after each page."""
    json_depth: int = 100
    """The deepest nesting of a JSON value."""


@dataclass(frozen=True, slots=True)
class ReadingProblem:
    """Something that could not be read, where the rest was read all the same."""

    error: DocumentError
    """What is wrong, and where."""
    left_out: bool
    """Whether a record, a file or a folder was left out; else a detail of something that was read was ignored."""


def log_problem(problem: ReadingProblem) -> None:
    """Log a problem as a warning."""
    logger.warning("%s", problem.error)


def document_id(path: Path) -> str:
    """The document id of a file: its path with forward slashes; bytes that are not UTF-8 are written as ``%FF``."""
    return _RAW_BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", path.as_posix())


def file_and_key(id: str) -> tuple[str, str]:
    """The file that an id names, and of a record in it the key; a "#" in the path is a part of it."""
    file, *key = _RECORD.split(id, maxsplit=1)
    return file, "".join(key)


def possible_paths(id: str) -> set[str]:
    """The paths that have this id: an escape in it may also stand in the name of the file as it is."""
    return {id, _SHOWN_BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), id)}


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file, and how to read it."""

    path: Path
    """The file."""
    limits: ReadingLimits = ReadingLimits()
    """The bounds."""
    on_problem: Callable[[ReadingProblem], None] = log_problem
    """Told of what had to be left out or ignored."""

    def __post_init__(self) -> None:
        if not self.path.is_file():
            raise self.error("is not there, or is not a regular file; give the path of a file")

    def left_out(self, error: DocumentError) -> None:
        """Tell of a record that is left out."""
        self.on_problem(ReadingProblem(error, left_out=True))

    def ignored(self, error: DocumentError) -> None:
        """Tell of a detail that is ignored; the document itself is read."""
        self.on_problem(ReadingProblem(error, left_out=False))

    def error(self, problem: str, *, key: str = "") -> DocumentError:
        """An error that names the file, and the record in it."""
        id = document_id(self.path)
        return DocumentError(f"{id}#{key}" if key else id, problem)

    def data(self, most: int) -> bytes:
        """All bytes of the file; a `DocumentError` if there are more than ``most``, or none, or they cannot be read."""
        try:
            with self.path.open("rb") as file:
                data = file.read(most + 1)
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from error
        if len(data) > most:
            raise self.error(f"is too large: at most {most / MEGABYTE:.0f} MB of this kind are read, so split it")
        if not data:
            raise self.error("is empty")
        return data
