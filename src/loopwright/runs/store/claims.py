"""Being the one server of a run history in a file: a lock that the system gives back when the process ends."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from loopwright.database.failures import explained


def claimed_file(file: Path) -> sqlite3.Connection | None:
    """The claim on a history in a file, or None where another process has it."""
    # A lock that the system gives back when its process ends, on every platform: that of a file beside the history.
    connection = sqlite3.connect(f"{file}.server", timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise explained(error, f"the lock file {file}.server") from error
        return None
    return connection
