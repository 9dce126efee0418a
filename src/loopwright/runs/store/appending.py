"""Adding many events at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import JSON, BigInteger, Connection, Text, column, func, literal, select
from sqlalchemy.dialects import postgresql, sqlite

from loopwright.runs.store.protocol import NewEvents
from loopwright.runs.store.tables import EVENTS, StorableText, storable

# As PostgreSQL is to read them; the columns' own types would bring their collation.
_COLUMNS = tuple(
    column(part.name, Text() if isinstance(part.type, StorableText) else BigInteger()) for part in EVENTS.c
)


def append(connection: Connection, keys: Mapping[str, int], events: Iterable[NewEvents]) -> None:
    """Add events; those that are kept already are passed over, and those of runs that are not kept.

    Args:
        connection: The database.
        keys: Id -> key of the runs that are kept.
        events: The events.
    """
    rows: list[dict[str, Any]] = [
        {"run": keys[item.run_id], "channel": item.channel, "seq": one.seq, "name": one.name, "data": one.data}
        for item in events
        if item.run_id in keys
        for one in item.events
    ]
    if not rows:
        return
    if connection.dialect.name == "sqlite":
        connection.execute(sqlite.insert(EVENTS).on_conflict_do_nothing(), rows)
        return
    # pg8000 sends the rows of an executemany one by one, at a tenth of the speed.
    cleaned = [{**row, "name": storable(row["name"]), "data": storable(row["data"])} for row in rows]
    given = func.json_to_recordset(literal(cleaned, JSON)).table_valued(*_COLUMNS).render_derived(with_types=True)
    added = postgresql.insert(EVENTS).from_select([column.name for column in _COLUMNS], select(given))
    connection.execute(added.on_conflict_do_nothing())
