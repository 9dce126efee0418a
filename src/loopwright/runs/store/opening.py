"""Opening a run history by its address: recognising it, and making a new one.

One of another format is refused, and nothing of it is touched.
"""

from functools import partial

from sqlalchemy import Connection, insert, inspect, select

from loopwright.database.database import Database
from loopwright.database.opening import open_database
from loopwright.errors import StoreError
from loopwright.postgres import STANDSTILL
from loopwright.runs.store.history import RunStore
from loopwright.runs.store.tables import FORMAT, HISTORY, METADATA

SCHEMA = "loopwright_runs"
"""The schema of PostgreSQL where the address names none."""


def open_runs(url: str) -> RunStore:
    """Open a run history; one that is missing is made, with the folders that lead to it.

    Args:
        url: As for `loopwright.database.opening.open_database`.

    Raises:
        ConfigError: If the address names no database, or a package that it needs is not installed.
        StoreError: If it cannot be opened, or is no run history that this version reads.
    """
    database = open_database(url, holds="a run history", schema=SCHEMA, idle=STANDSTILL, one_server=True)
    try:
        database.made(partial(_found, database), _make, _MAKING)
    except BaseException:
        database.close()
        raise
    return RunStore(database)


_MAKING = 0x4C57_5248  # the advisory lock of those that make the tables


def _make(connection: Connection) -> None:
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(insert(HISTORY).values(format=FORMAT))


def _found(database: Database, connection: Connection) -> bool:
    """Whether a history is there, or nothing at all; raises `StoreError` for anything else."""
    tables = sorted(inspect(connection).get_table_names(schema=database.schema or None))
    if not tables:
        return False
    if HISTORY.name not in tables:
        shown = ", ".join(tables[:5])
        raise StoreError(
            f"{database.name} belongs to something else (it holds the tables {shown}), and was not touched: give "
            "another place"
        )
    found = [*connection.scalars(select(HISTORY.c.format))]
    if found != [FORMAT]:
        shown = ", ".join(map(str, found)) or "none"
        update = "update Loopwright" if found and max(found) > FORMAT else "use the version of Loopwright that made it"
        raise StoreError(
            f"{database.name} has the format {shown}, and this version of Loopwright reads the format {FORMAT}; it was "
            f"not touched: {update}, or give another place"
        )
    return True
