"""Forgetting runs."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, delete, false, func, or_, select

from loopwright.runs.store.rows import microseconds
from loopwright.runs.store.tables import COMPARISONS, RUNS

_PORTION = 500


def forget(connection: Connection, runs: Mapping[str, int]) -> None:
    """Delete runs; their events go with them by the foreign key.

    Args:
        connection: The database.
        runs: Id -> key of each.
    """
    ids = [*runs]
    for start in range(0, len(ids), _PORTION):
        portion = ids[start : start + _PORTION]
        connection.execute(delete(RUNS).where(RUNS.c.key.in_([runs[run_id] for run_id in portion])))
        connection.execute(delete(COMPARISONS).where(or_(COMPARISONS.c.a.in_(portion), COMPARISONS.c.b.in_(portion))))


def outdated(connection: Connection, older_than: datetime | None, keep: int | None) -> dict[str, int]:
    """Which runs are to go, oldest first: id -> key.

    Args:
        connection: The database.
        older_than: Runs that began before this moment go.
        keep: Of the rest the newest so many stay, for each workflow.
    """
    newest_first = (RUNS.c.started_at.desc(), RUNS.c.id.desc())
    # Those that are too old come last, so the others' places do not depend on them.
    place = func.row_number().over(partition_by=RUNS.c.workflow, order_by=newest_first).label("place")
    ended = (
        select(RUNS.c.key, RUNS.c.id, RUNS.c.started_at, place)
        .where(RUNS.c.status != "running", RUNS.c.source != "demo")
        .subquery()
    )
    goes = or_(
        false() if older_than is None else ended.c.started_at < microseconds(older_than),
        false() if keep is None else ended.c.place > keep,
    )
    rows = connection.execute(select(ended.c.id, ended.c.key).where(goes).order_by(ended.c.started_at, ended.c.id))
    return {row.id: row.key for row in rows}
