"""Opening a run history by its address: recognising it, and making a new one.

One of another format is refused, and nothing of it is touched.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, inspect, select
from sqlalchemy.schema import CreateSchema

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
        _prepare(database)
    except BaseException:
        database.close()
        raise
    return RunStore(database)


_MAKING = 0x4C57_5248  # the advisory lock of those that make the tables


def _prepare(database: Database) -> None:
    """See that a database holds a run history of this version; make one where there is nothing.

    Raises:
        StoreError: If it has another format, or the database belongs to something else; it was not touched then.
    """
    with database.reading() as connection:
        if _found(database, connection):
            return
    with database.writing() as connection:
        if database.dialect == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MAKING)))
        if _found(database, connection):  # another process made it in between
            return
        if database.dialect == "postgresql":
            schema = connection.exec_driver_sql("SHOW search_path").scalar_one()
            connection.execute(CreateSchema(schema, if_not_exists=True))
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(insert(HISTORY).values(format=FORMAT))


def _found(database: Database, connection: Connection) -> bool:
    """Whether a history is there, of the format that can be used, or nothing at all."""
    tables = sorted(inspect(connection).get_table_names())
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
