"""What the run files do with the disk: names, lookups, and replacing a file all or nothing."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
import uuid
from pathlib import Path

_RUN_FILE = re.compile(r"\d{8}T\d{6}\.\d{6}Z_(?P<name>.+)\.json")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 100
_LEFTOVER_AGE = 60.0  # seconds; younger ones may belong to a process that is writing now

Signature = tuple[int, int, int]
"""Inode, time of change and size: differs whenever somebody has replaced the file."""


def safe_name(thread_id: str) -> str:
    """Give the part of the file name that stands for a thread; different threads get different names.

    Args:
        thread_id: Any text.

    Returns:
        The id itself if it consists of at most 100 letters, digits, dots, hyphens and underscores of ASCII; otherwise
        such characters, ``~``, and a hash of the id.
    """
    if thread_id and len(thread_id) <= _LONGEST and not _UNSAFE.search(thread_id):
        return thread_id
    digest = hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_UNSAFE.sub('_', thread_id)[:_LONGEST]}~{digest}"


def files_by_name(folder: Path) -> dict[str, list[Path]]:
    """The run files of a folder by the name of their thread (see `safe_name`), those that were made last first."""
    found: dict[str, list[Path]] = {}
    try:
        names = sorted((entry.name for entry in os.scandir(folder)), reverse=True)
    except FileNotFoundError:
        return {}
    for name in names:
        if match := _RUN_FILE.fullmatch(name):
            found.setdefault(match["name"], []).append(folder / name)
    return found


def signature_of(status: os.stat_result) -> Signature:
    """Tell one state of a file from another."""
    return status.st_ino, status.st_mtime_ns, status.st_size


def replace(path: Path, content: bytes) -> Signature:
    """Put a file in place of another, all or nothing, and force both it and its name to the disk.

    Raises:
        OSError: If it cannot be written; the old file is as it was.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            signature = signature_of(os.fstat(file.fileno()))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return signature


def sync_folder(folder: Path) -> None:
    """Force a folder's names to the disk, on systems that can."""
    with contextlib.suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def sweep(path: Path, *, older_than: float = _LEFTOVER_AGE) -> None:
    """Remove what killed processes left half-written beside a file, if it is at least so many seconds old."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - leftover.stat().st_mtime >= older_than:
                leftover.unlink()
