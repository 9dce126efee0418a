"""Recognising a run history, and making a new one.

So far there is one format. With the next one, this is where a history of the one before is brought to it, in the
transaction in which its number changes; what cannot be brought is refused here, and nothing of it is touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, func, insert, inspect, select
from sqlalchemy.engine.interfaces import ReflectedColumn
from sqlalchemy.schema import CreateSchema

from loopwright.database.database import Database
from loopwright.errors import StoreError
from loopwright.runs.store.tables import FORMAT, HISTORY, METADATA

_MAKING = 0x4C57_5248  # the advisory lock of those that make the tables
_MOVING = "runs go from one to the other by `loopwright runs export` there and `loopwright runs import` here"


def prepare(database: Database, create: bool) -> None:
    """See that a database holds a run history of this version; make one where there is nothing.

    Args:
        database: The database.
        create: Whether to make one.

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
    if lacking := _lacking(connection):
        shown = ", ".join(lacking[:5])
        raise StoreError(
            f"{database.name} calls itself format {FORMAT} and lacks {shown}: it is damaged, or of a version between "
            f"two releases; it was not touched: give another place; {_MOVING}"
        )
    return True


def _lacking(connection: Connection) -> list[str]:
    """What a history of this format has and this database has not: tables, and columns as ``table.column``."""
    there = {name: {column["name"] for column in columns} for (_schema, name), columns in _columns(connection)}
    lacking: list[str] = []
    for table in METADATA.sorted_tables:
        if table.name not in there:
            lacking.append(table.name)
        else:
            lacking += [f"{table.name}.{column.name}" for column in table.c if column.name not in there[table.name]]
    return lacking


def _columns(connection: Connection) -> Iterable[tuple[tuple[str | None, str], Sequence[ReflectedColumn]]]:
    return inspect(connection).get_multi_columns().items()
