"""Files that appear under their names only when they are complete."""

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def complete(path: Path, unfinished: Path | None = None) -> Generator[Path]:
    """A place to write a file to, which then takes its name, all or nothing; both are on the disk at the end.

    Args:
        path: The file; an older one is replaced.
        unfinished: The place, beside it; by default one of this process's own. What is there is written over.
    """
    unfinished = unfinished or path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield unfinished
        with unfinished.open("r+b") as file:  # Windows syncs only what may be written
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force a folder's names to the disk, on systems that can."""
    with suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
