"""Puts a file on the disk all or nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def replace(path: Path, content: bytes) -> os.stat_result:
    """Put a file in place of another, all or nothing, and force both it and its name to the disk.

    What a killed process left half-written beside it is written over.

    Raises:
        OSError: If it cannot be written; the old file is as it was.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            status = os.fstat(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return status


def sync_folder(folder: Path) -> None:
    """Force a folder's names to the disk, on systems that can."""
    with contextlib.suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
