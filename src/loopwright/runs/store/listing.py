"""Lists of runs: what fits a filter, newest first, page by page."""

from __future__ import annotations

import base64
import binascii
import re

from sqlalchemy import ColumnElement, Connection, and_, func, literal, select, true, tuple_

from loopwright.errors import InputError
from loopwright.runs.schemas import RunFilter, RunPage, RunSummary
from loopwright.runs.store.rows import read, searchable
from loopwright.runs.store.tables import RUNS

_LONGEST_SEARCH = 1_000  # SQLite takes at most 1,000 conditions at once
_PLACE = re.compile(r"(-?\d{1,18}) (.+)", re.DOTALL | re.ASCII)


def page(connection: Connection, wanted: RunFilter, limit: int, before: str | None) -> RunPage:
    """A part of a list of runs; see `RunStore.list`.

    Args:
        connection: The database.
        wanted: Which runs.
        limit: How many at most.
        before: What the part before gave as ``next``.

    Raises:
        InputError: If `before` is nothing that a page gave, the text is too long, or `limit` is below 1.
    """
    if limit < 1:
        raise InputError(f"at most {limit} runs were asked for: ask for 1 or more")
    fits = _condition(wanted)
    rest = true() if before is None else _after(before)
    rows = connection.execute(
        select(RUNS.c.started_at, RUNS.c.id, RUNS.c.summary)
        .where(fits, rest)
        .order_by(RUNS.c.started_at.desc(), RUNS.c.id.desc())
        .limit(limit + 1)
    ).all()
    shown = rows[:limit]
    return RunPage(
        runs=tuple(read(RunSummary, f"run {row.id!r}", row.summary) for row in shown),
        total=connection.execute(select(func.count()).select_from(RUNS).where(fits)).scalar_one(),
        next=_cursor(shown[-1].started_at, shown[-1].id) if len(rows) > limit else None,
    )


def _condition(wanted: RunFilter) -> ColumnElement[bool]:
    conditions: list[ColumnElement[bool]] = [true()]
    for column, value in (
        (RUNS.c.workflow, wanted.workflow),
        (RUNS.c.status, wanted.status),
        (RUNS.c.parent, wanted.parent),
    ):
        if value is not None:
            conditions.append(column == value)
    if wanted.stop_reason == "any":
        conditions.append(RUNS.c.stop_reason.is_not(None))
    elif wanted.stop_reason is not None:
        conditions.append(RUNS.c.stop_reason == wanted.stop_reason)
    text = wanted.text or ""
    if len(text) > _LONGEST_SEARCH:
        raise InputError(f"the text to search for has {len(text)} characters, at most {_LONGEST_SEARCH} are taken")
    # Parts of words are found too: Thai and Chinese do not separate words by spaces.
    conditions += [RUNS.c.searched.contains(word, autoescape=True) for word in searchable(text).split()]
    return and_(*conditions)


def _cursor(started_at: int, run_id: str) -> str:
    return base64.urlsafe_b64encode(f"{started_at} {run_id}".encode()).decode().rstrip("=")


def _after(cursor: str) -> ColumnElement[bool]:
    columns = (RUNS.c.started_at, RUNS.c.id)
    place = zip(_place(cursor), columns, strict=True)
    return tuple_(*columns) < tuple_(*(literal(value, column.type) for value, column in place))


def _place(cursor: str) -> tuple[int, str]:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars="-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    found = _PLACE.fullmatch(text)
    if found is None:
        raise InputError(f"{cursor[:80]!r} is no place in a list of runs: give the `next` of the page before")
    return int(found[1]), found[2]
