"""Opening a run history by its address."""

from __future__ import annotations

from loopwright.database.opening import open_database
from loopwright.postgres import STANDSTILL
from loopwright.runs.store.formats import prepare
from loopwright.runs.store.history import RunStore

SCHEMA = "loopwright_runs"
"""The schema of PostgreSQL where the address names none."""


def open_runs(url: str, *, create: bool = True) -> RunStore:
    """Open a run history.

    Args:
        url: As for `loopwright.database.opening.open_database`.
        create: Whether a history that is missing is made, with the folders that lead to it.

    Raises:
        ConfigError: If the address names no database, or a package that it needs is not installed.
        StoreError: If it cannot be opened, is missing, or is no run history that this version reads.
    """
    missing = "run a workflow on the server first, or check the path"
    database = open_database(
        url, holds="a run history", schema=SCHEMA, missing=missing, create=create, idle=STANDSTILL, one_server=True
    )
    try:
        prepare(database, create or url == "memory")
    except BaseException:
        database.close()
        raise
    return RunStore(database)
