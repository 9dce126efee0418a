"""The bytes and the text of a file that somebody gave."""

from __future__ import annotations

from pathlib import Path

from loopwright.errors import DocumentError

MOST_BYTES = 50_000_000
"""The largest file in bytes; a schedule of 1,105 sessions has 3.5 million."""


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Args:
        path: The file.

    Raises:
        DocumentError: If it cannot be read, is empty, or is too large.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise DocumentError(str(path), f"cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise DocumentError(str(path), f"has more than {MOST_BYTES:,} bytes, the most that is read")
    if not data.strip():
        raise DocumentError(str(path), "is empty")
    return data


def read_text(path: Path) -> str:
    """A file's text with single line feeds: UTF-8, UTF-16 with its mark, else Windows-1252, as spreadsheets write it.

    Args:
        path: The file.

    Raises:
        DocumentError: If it cannot be read, is empty, too large, or no text.
    """
    data = read_bytes(path)
    try:
        text = data.decode("utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("cp1252", errors="replace")
    if "\0" in text:
        raise DocumentError(str(path), "is no text; give a CSV, JSON, JSONL or Markdown file")
    return text.replace("\r\n", "\n").replace("\r", "\n")
