"""Lists of runs: what fits a filter, newest or highest first, page by page."""

import re
from collections.abc import Mapping, Sequence

from sqlalchemy import JSON, ColumnElement, Connection, Float, and_, cast, func, select, true, tuple_

from loopwright.database.values import microseconds
from loopwright.errors import InputError
from loopwright.runs.schemas import Order, RunFilter, RunPage, RunSummary
from loopwright.runs.store.tables import RUNS, TAGS, read, searchable

_PLACE = re.compile(r"(\w+)\.(-?\d{1,18})\.(.+)", re.DOTALL | re.ASCII)


def page(connection: Connection, wanted: RunFilter, limit: int, before: str | None, order: Order) -> RunPage:
    """A part of a list of runs; see `RunStore.list`.

    Raises:
        InputError: If `before` is nothing that a page in this order gave, or `limit` is below 1.
    """
    if limit < 1:
        raise InputError(f"at most {limit} runs were asked for: ask for 1 or more")
    fits = _condition(connection, wanted)
    found = select(RUNS.c.started_at, RUNS.c.id, RUNS.c.summary).where(fits).limit(limit + 1)
    newest = RUNS.c.started_at.desc(), RUNS.c.id.desc()
    place, left_out = (None if before is None else _place(before, order)), 0
    if order == "started_at":
        found = found.where(true() if place is None else tuple_(RUNS.c.started_at, RUNS.c.id) < place).order_by(*newest)
    else:  # figures change while runs go on: a place is how many were shown
        left_out = place[0] if place else 0
        found = found.order_by(_figure(connection, order).desc().nulls_last(), *newest).offset(max(0, left_out))
    rows = connection.execute(found).all()
    shown = rows[:limit]
    following = None
    if len(rows) > limit:
        following = f"{order}.{shown[-1].started_at if order == 'started_at' else left_out + limit}.{shown[-1].id}"
    tags = tags_of(connection, [row.id for row in shown])
    return RunPage(
        runs=tuple(read(RunSummary, f"run {row.id!r}", row.summary, tags=tags[row.id]) for row in shown),
        total=connection.execute(select(func.count()).select_from(RUNS).where(fits)).scalar_one(),
        next=following,
    )


def tags_of(connection: Connection, runs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """Id of a run -> its tags in order."""
    wanted = select(RUNS.c.id, TAGS.c.tag).join(TAGS, TAGS.c.run == RUNS.c.key).where(RUNS.c.id.in_(runs))
    found: dict[str, tuple[str, ...]] = dict.fromkeys(runs, ())
    for row in connection.execute(wanted.order_by(TAGS.c.tag)):
        found[row.id] += (row.tag,)
    return found


def _figure(connection: Connection, name: str) -> ColumnElement[float]:
    """A number of a run's summary."""
    if connection.dialect.name == "sqlite":
        return func.json_extract(RUNS.c.summary, f"$.{name}")
    return cast(func.json_extract_path_text(cast(RUNS.c.summary, JSON), name), Float)


def _condition(connection: Connection, wanted: RunFilter) -> ColumnElement[bool]:
    same = wanted.model_dump(include={"workflow", "status", "parent"}, exclude_none=True)
    conditions: list[ColumnElement[bool]] = [true(), *(RUNS.c[name] == value for name, value in same.items())]
    if wanted.stop_reason == "any":
        conditions.append(RUNS.c.stop_reason.is_not(None))
    elif wanted.stop_reason is not None:
        conditions.append(RUNS.c.stop_reason == wanted.stop_reason)
    if wanted.tag is not None:
        conditions.append(RUNS.c.key.in_(select(TAGS.c.run).where(TAGS.c.tag == wanted.tag)))
    for moment, beyond in ((wanted.since, RUNS.c.started_at.__ge__), (wanted.until, RUNS.c.started_at.__lt__)):
        if moment is not None:
            conditions.append(beyond(microseconds(moment)))
    for name, least in (("seconds", wanted.min_seconds), ("cost", wanted.min_cost)):
        if least is not None:
            conditions.append(_figure(connection, name) >= least)
    # Parts of words are found too: Thai and Chinese do not separate words by spaces.
    conditions += [RUNS.c.searched.contains(word, autoescape=True) for word in searchable(wanted.text or "").split()]
    return and_(*conditions)


def _place(cursor: str, order: Order) -> tuple[int, str]:
    found = _PLACE.fullmatch(cursor)
    if found is None or found[1] != order:
        told = f"is no place in a list of runs by {order}: give the `next` of the page before, which had the same order"
        raise InputError(f"{cursor[:80]!r} {told}")
    return int(found[2]), found[3]
