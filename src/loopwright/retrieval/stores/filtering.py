"""How a `Filter` becomes SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.sessions import Condition, Session
from loopwright.retrieval.stores.storable import bounded
from loopwright.retrieval.stores.values import microseconds

_MOST_PATTERN = 10_000  # characters; SQLite takes no pattern of more than 50,000 bytes

TAGS = "tags"
"""The label that tags are kept as."""


def facet_label(name: str) -> str:
    """The label that a facet is kept as: its name, unless it could be taken for the tags."""
    return bounded(f"{name}~" if name.rstrip("~") == TAGS else name)


def documents_within(session: Session, where: Filter | None) -> Condition:
    """The condition that a filter puts on the table ``document``.

    Args:
        session: The transaction that it is for.
        where: The filter; None and an empty one let everything pass.
    """
    if where is None:
        return Condition("TRUE")
    conditions: list[Condition] = []
    if where.documents:
        conditions.append(_named(session, where.documents))
    if where.after is not None:
        conditions.append(Condition("document.dated >= ?", (microseconds(where.after),)))
    if where.before is not None:
        conditions.append(Condition("document.dated < ?", (microseconds(where.before),)))
    if where.tags:
        conditions.append(_labelled(session, TAGS, where.tags))
    for name, values in where.facets.items():
        if values:
            conditions.append(_labelled(session, facet_label(name), values))
    return _joined(" AND ", conditions) if conditions else Condition("TRUE")


def passages_within(session: Session, where: Filter | None) -> Condition | None:
    """The keys of the passages that a filter lets pass, as a subquery; None if it lets all pass.

    Args:
        session: The transaction that it is for.
        where: The filter.
    """
    within = documents_within(session, where)
    if within.sql == "TRUE":
        return None
    return Condition(
        "SELECT passage.key FROM passage JOIN document ON document.key = passage.document WHERE " + within.sql,
        within.parameters,
    )


def containing(column: str, text: str) -> Condition:
    r"""The column holds the text as it stands: ``%``, ``_`` and ``\`` in it are ordinary characters."""
    escaped = text[:_MOST_PATTERN].replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return Condition(f"{column} LIKE ? ESCAPE '\\'", (f"%{escaped}%",))


def _named(session: Session, names: Sequence[str]) -> Condition:
    conditions = [session.among("document.id", names)]
    for prefix in dict.fromkeys(name for name in names if name.endswith(("/", "#"))):
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # the least text that is above all that begin with the prefix
        conditions.append(Condition("(document.id >= ? AND document.id < ?)", (prefix, after)))
    return _joined(" OR ", conditions)


def _labelled(session: Session, name: str, values: Sequence[str]) -> Condition:
    among = session.among("label.value", [bounded(value) for value in values])
    return Condition(
        f"document.key IN (SELECT label.document FROM label WHERE label.name = ? AND {among.sql})",
        (name, *among.parameters),
    )


def _joined(operator: str, conditions: Sequence[Condition]) -> Condition:
    parameters: list[Any] = [parameter for condition in conditions for parameter in condition.parameters]
    return Condition(f"({operator.join(condition.sql for condition in conditions)})", tuple(parameters))
