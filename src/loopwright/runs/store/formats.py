"""Recognising a run history, and making a new one.

So far there is one format. With the next one, this is where a history of the one before is brought to it, in the
transaction in which its number changes; what cannot be brought is refused here, and nothing of it is touched.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, insert, inspect, select
from sqlalchemy.schema import CreateSchema

from loopwright.database.database import Database
from loopwright.errors import StoreError
from loopwright.runs.store.tables import FORMAT, HISTORY, METADATA

_MAKING = 0x4C57_5248  # the advisory lock of those that make the tables
_MOVING = "runs go from one to the other by `loopwright runs export` there and `loopwright runs import` here"


def prepare(database: Database, create: bool) -> None:
    """See that a database holds a run history of this version; make one where there is nothing.

    Raises:
        StoreError: If there is none and none is to be made, if it has another format, or if the database belongs to
            something else; it was not touched then.
    """
    with database.reading() as connection:
        if _recognised(database, connection):
            return
    if not create:
        raise StoreError(f"{database.name} is empty: run a workflow on the server first, or check the address")
    with database.writing() as connection:
        if database.dialect == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MAKING)))
        if _recognised(database, connection):
            return  # another process made it in between
        if database.dialect == "postgresql":
            schema = connection.exec_driver_sql("SHOW search_path").scalar_one()
            connection.execute(CreateSchema(schema, if_not_exists=True))
        METADATA.create_all(connection, checkfirst=False)
        connection.execute(insert(HISTORY).values(format=FORMAT))


def _recognised(database: Database, connection: Connection) -> bool:
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
            f"not touched: {update}, or give another place; {_MOVING}"
        )
    return True
