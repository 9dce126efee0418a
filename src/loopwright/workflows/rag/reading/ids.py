"""The ids of files, and the files of ids."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

# How Python gives bytes of a file name that are not UTF-8 (PEP 383), and how an id shows them.
_RAW_BYTE = re.compile("[\udc80-\udcff]")
_SHOWN_BYTE = re.compile("%([89A-F][0-9A-F])")


def document_id(path: Path) -> str:
    """The document id of a file: its path with forward slashes; bytes that are not UTF-8 are written as ``%FF``."""
    return escaped(path.as_posix())


def escaped(path: str) -> str:
    """A path whose bytes that are not UTF-8 are written as ``%FF``."""
    return _RAW_BYTE.sub(lambda found: f"%{ord(found[0]) - 0xDC00:02X}", path)


def possible_paths(id: str) -> Iterator[str]:
    """The paths that have this id: an escape in it may also stand in the name of the file as it is."""
    yield id
    raw = _SHOWN_BYTE.sub(lambda found: chr(0xDC00 + int(found[1], 16)), id)
    if raw != id:
        yield raw
