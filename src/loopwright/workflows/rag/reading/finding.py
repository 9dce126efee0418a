"""Finding the files to read."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

from loopwright.errors import DocumentError
from loopwright.workflows.rag.reading.formats import FORMATS

logger = logging.getLogger(__name__)


def find_sources(root: Path) -> Iterator[Path]:
    """The files to read under a folder, sorted by path; what is skipped is logged at INFO.

    Skipped are hidden files and folders, unknown extensions, what is no regular file, and links: what a link names
    inside the folder is found anyway, and what it names outside was not asked for.

    Args:
        root: A folder, or one file, which is not skipped whatever its name.

    Returns:
        Absolute paths.

    Raises:
        DocumentError: If there is nothing at ``root``.
    """
    start = root.resolve()
    if not start.exists():
        raise DocumentError(str(root), "is not there; give a file or a folder")
    if not start.is_dir():
        yield start
        return
    # A stack instead of recursion: folders may be nested deeper than Python calls.
    waiting = [start]
    while waiting:
        path = waiting.pop()
        if not path.is_dir():
            yield path
            continue
        waiting += reversed(_wanted(path))


def _wanted(folder: Path) -> list[Path]:
    """The files and folders to visit in a folder, sorted."""
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        logger.warning("skipped %s: %s", folder, error)
        return []
    wanted: list[Path] = []
    for entry in entries:
        reason = _reason_to_skip(entry)
        if reason:
            logger.info("skipped %s: %s", entry.path, reason)
        else:
            wanted.append(Path(entry.path))
    return wanted


def _reason_to_skip(entry: os.DirEntry[str]) -> str:
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "a link"
    if entry.is_dir(follow_symlinks=False):
        return ""
    if not entry.is_file(follow_symlinks=False):
        return "not a regular file"
    return "" if Path(entry.name).suffix.lower() in FORMATS else "unknown extension"
