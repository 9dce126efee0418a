"""Finding the files to read."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from loopwright.errors import DocumentError
from loopwright.workflows.rag.reading.formats import FORMATS
from loopwright.workflows.rag.reading.ids import escaped
from loopwright.workflows.rag.reading.problems import ReadingProblem, log_problem

logger = logging.getLogger(__name__)


def find_sources(root: Path, *, on_problem: Callable[[ReadingProblem], None] = log_problem) -> Iterator[Path]:
    """The files to read under a folder, sorted by path; what is skipped on purpose is logged at INFO.

    Skipped are hidden files and folders, unknown extensions, what is no regular file, and links: what a link names
    inside the folder is found anyway, and what it names outside was not asked for.

    Args:
        root: A folder, or one file, which is not skipped whatever its name.
        on_problem: Told of each folder that cannot be read; by default that is logged as a warning.

    Returns:
        Absolute paths.

    Raises:
        DocumentError: If there is nothing at ``root``, or it cannot be looked at.
    """
    start = root.resolve()
    try:
        is_folder = stat.S_ISDIR(start.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise DocumentError(escaped(str(root)), "is not there; give a file or a folder") from error
    except OSError as error:
        raise DocumentError(
            escaped(str(root)), f"cannot be looked at: {error.strerror}; check its permissions"
        ) from error
    # A stack instead of recursion: folders may be nested deeper than Python calls.
    waiting = [(start, is_folder)]
    while waiting:
        path, is_folder = waiting.pop()
        if not is_folder:
            yield path
            continue
        try:
            waiting += reversed(_wanted(path))
        except OSError as error:
            problem = f"the folder cannot be read: {error.strerror}; check its permissions"
            on_problem(ReadingProblem(DocumentError(escaped(str(path)), problem), left_out=True))


def _wanted(folder: Path) -> list[tuple[Path, bool]]:
    """The files and folders to visit in a folder, sorted, and which of them are folders."""
    with os.scandir(folder) as listing:
        entries = sorted(listing, key=lambda entry: entry.name)
    wanted: list[tuple[Path, bool]] = []
    for entry in entries:
        reason = _reason_to_skip(entry)
        if reason:
            logger.info("skipped %s: %s", escaped(entry.path), reason)
        else:
            wanted.append((Path(entry.path), entry.is_dir(follow_symlinks=False)))
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
