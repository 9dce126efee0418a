"""The images of a folder."""

from __future__ import annotations

import os
from collections import deque
from functools import cache
from pathlib import Path

from PIL import Image

from loopwright.errors import InputError
from loopwright.workflows.iqa.batch.samples import Sample
from loopwright.workflows.iqa.unreadable import NO_PICTURES


@cache
def extensions() -> frozenset[str]:
    """The extensions of the files that are taken for images, in lower case, each with its dot."""
    Image.init()
    found = Image.registered_extensions().items()
    # MPO, several pictures in one JPEG, has no reader of its own.
    kinds = (Image.OPEN.keys() | {"MPO"}) - NO_PICTURES
    return frozenset(suffix for suffix, kind in found if kind in kinds)


def read_folder(folder: Path, query: str) -> list[Sample]:
    """One sample for each image below a folder, in order of their paths.

    Files and folders whose names begin with a dot are left out. A link to a folder is followed unless that folder is
    read anyway, so that a loop of links ends and no image comes twice through folders.

    Args:
        folder: Where to look, in all depths.
        query: What to ask about each image.

    Raises:
        InputError: If a folder cannot be read, or there is no image.
    """
    paths = sorted(_walk(folder))
    if not paths:
        raise InputError(f"there is no image in {str(folder)!r}; files with these endings count: {_shown_extensions()}")
    return [Sample(path, path, query) for path in paths]


def _walk(folder: Path) -> list[str]:
    found: list[str] = []
    seen: set[tuple[int, int]] = set()
    # Links wait until every real folder has been read: what lies below both is named by its own path.
    real, linked = deque([""]), deque[str]()
    while real or linked:
        inside = real.popleft() if real else linked.popleft()
        here = folder / inside
        try:
            status = here.stat()
            if (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            with os.scandir(here) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            raise InputError(f"cannot read the folder {str(here)!r}: {error.strerror}; make it readable") from error
        for entry in ordered:
            name = f"{inside}/{entry.name}" if inside else entry.name
            if entry.name.startswith("."):
                continue
            # A link to itself is no folder; the entry's own is_dir raises there.
            if os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir():
                (linked if entry.is_symlink() else real).append(name)
            elif os.path.splitext(entry.name)[1].lower() in extensions():
                found.append(name)
    return found


def _shown_extensions() -> str:
    return " ".join(sorted(extensions()))
