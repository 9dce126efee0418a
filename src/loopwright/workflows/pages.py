"""What every page that is one file has in common: how it is written, and the hashes in its content security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path


def policy_hash(text: str) -> str:
    """The SHA-256 of a style or a script, as a content security policy names it.

    Args:
        text: What stands between its tags.
    """
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write_page(path: Path, pieces: Iterable[str]) -> Path:
    """Write a page piece by piece; it appears under its name only when it is complete.

    Args:
        path: The file to write; its folder is made, and an older file is replaced.
        pieces: The text, each piece made when it is its turn.

    Returns:
        The path, as given.

    Raises:
        OSError: If the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.part")
    try:
        # A file name that is not UTF-8 is full of lone surrogates, which no encoder but this one takes.
        with unfinished.open("w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(pieces)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
