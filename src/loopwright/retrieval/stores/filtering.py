"""How a `Filter` becomes SQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, or_, select

from loopwright.database.values import microseconds
from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.backend import Backend, Inside
from loopwright.retrieval.stores.storable import bounded
from loopwright.retrieval.stores.tables import DOCUMENT, LABEL, PASSAGE

TAGS = "tags"
"""The label that tags are kept as."""


def documents_within(backend: Backend, where: Filter | None) -> ColumnElement[bool] | None:
    """The condition that a filter puts on documents; None if it lets all pass."""
    if where is None:
        return None
    conditions: list[ColumnElement[bool]] = []
    if where.documents:
        conditions.append(_named(backend, where.documents))
    if where.after is not None:
        conditions.append(DOCUMENT.c.dated >= microseconds(where.after))
    if where.before is not None:
        conditions.append(DOCUMENT.c.dated < microseconds(where.before))
    if where.tags:
        among = backend.among(LABEL.c.value, [bounded(tag) for tag in where.tags])
        conditions.append(DOCUMENT.c.key.in_(select(LABEL.c.document).where(LABEL.c.name == TAGS, among)))
    return and_(*conditions) if conditions else None


def passages_within(backend: Backend, where: Filter | None) -> Inside:
    """The numbers of the passages that a filter lets pass; None if it lets all pass."""
    within = documents_within(backend, where)
    return None if within is None else select(PASSAGE.c.key).join(DOCUMENT).where(within)


def _named(backend: Backend, names: Sequence[str]) -> ColumnElement[bool]:
    conditions = [backend.among(DOCUMENT.c.id, names)]
    for prefix in dict.fromkeys(name for name in names if name.endswith(("/", "#"))):
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # the least text that is above all that begin with the prefix
        conditions.append(and_(DOCUMENT.c.id >= prefix, DOCUMENT.c.id < after))
    return or_(*conditions)
