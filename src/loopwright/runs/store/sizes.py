"""How much room the run history takes."""

from __future__ import annotations

from sqlalchemy import Connection, text

from loopwright.runs.store.tables import METADATA

_SQLITE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
_POSTGRES = "SELECT sum(pg_total_relation_size(CAST(name AS regclass))) FROM unnest(CAST(:tables AS text[])) AS name"


def bytes_on_disk(connection: Connection) -> int:
    """The bytes of all tables and their indexes, room for new rows included; without SQLite's write-ahead log.

    Args:
        connection: The database.
    """
    if connection.dialect.name == "postgresql":
        names = [table.name for table in METADATA.sorted_tables]
        return int(connection.execute(text(_POSTGRES), {"tables": names}).scalar_one())
    return int(connection.exec_driver_sql(_SQLITE).scalar_one())
