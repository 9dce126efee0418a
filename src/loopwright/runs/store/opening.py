"""Opening a run history by its address: recognising it, and making a new one.

One of another format is refused, and nothing of it is touched.
"""

from sqlalchemy import Connection, insert, select

from loopwright.database.database import Format, open_database
from loopwright.postgres import STANDSTILL
from loopwright.runs.store.history import RunStore
from loopwright.runs.store.tables import FORMAT, HISTORY, METADATA

SCHEMA = "loopwright_runs"
"""The schema of PostgreSQL where the address names none."""
_OLDER = "use the version of Loopwright that made it, or give {}"
_FORMAT = Format([HISTORY], select(HISTORY.c.format), FORMAT, _OLDER, lock=0x4C57_5248)


def open_runs(url: str) -> RunStore:
    """Open a run history by its address, as `open_database` has it; a missing one is made, with its folders.

    Raises:
        ConfigError: If the address names no database, or a package that it needs is not installed.
        StoreError: If it cannot be opened, or is no run history that this version reads.
    """
    database = open_database(url, holds="a run history", schema=SCHEMA, idle=STANDSTILL, one_server=True)
    database.made(_FORMAT, _make)
    return RunStore(database)


def _make(connection: Connection) -> None:
    METADATA.create_all(connection, checkfirst=False)
    connection.execute(insert(HISTORY).values(format=FORMAT))
