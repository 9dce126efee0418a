"""Storing what documents bring; the same statements for every backend."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, insert

from loopwright.errors import StoreError
from loopwright.retrieval.names import entity_key
from loopwright.retrieval.records import Contribution, Document, Passage
from loopwright.retrieval.stores.filtering import TAGS
from loopwright.retrieval.stores.storable import bounded, check_id, storable
from loopwright.retrieval.stores.tables import (
    DOCUMENT,
    LABEL,
    PASSAGE,
    count_up,
    document_row,
)


def add(connection: Connection, contributions: Sequence[Contribution]) -> list[tuple[int, Passage]]:
    """Insert documents that are not there, with all that they bring.

    Returns:
        The passages with their numbers.

    Raises:
        StoreError: If a passage belongs to something else than it is given with.
    """
    first = count_up(connection, "key", len(contributions)) + 1
    numbered = list(enumerate(contributions, first))
    documents = [{"key": key, **document_row(item.document)} for key, item in numbered]
    for item in contributions:
        check_id(item.document.id)
    connection.execute(insert(DOCUMENT), documents)
    labels = [
        {"document": key, "name": TAGS, "value": tag}
        for key, item in numbered
        for tag in dict.fromkeys(storable(bounded(tag)) for tag in item.document.tags)
    ]
    if labels:
        connection.execute(insert(LABEL), labels)
    number = count_up(connection, "key", sum(len(item.passages) for item in contributions)) + 1
    passages: list[tuple[int, Passage]] = []
    rows: list[dict[str, Any]] = []
    for document, item in numbered:
        if stray := item.entities.keys() - {passage.id for passage in item.passages}:
            raise StoreError(
                f"{item.document.id!r} names entities of the passage {min(stray)!r}, which it does not bring: "
                "give that passage too"
            )
        for place, passage in enumerate(item.passages):
            _check_passage(passage, item.document)
            passages.append((number, passage))
            rows.append(_passage_row(passage, number, document, place, item.entities.get(passage.id, ())))
            number += 1
    if rows:
        connection.execute(insert(PASSAGE), rows)
    return passages


def _check_passage(passage: Passage, document: Document) -> None:
    if passage.document_id != document.id:
        raise StoreError(
            f"passage {passage.id!r} says that it is of {passage.document_id!r} but is given with "
            f"{document.id!r}: give each document its own passages"
        )


def _passage_row(passage: Passage, key: int, document: int, place: int, entities: Iterable[str]) -> dict[str, Any]:
    return {
        "key": key,
        "id": passage.id,
        "document": document,
        "place": place,
        "text": passage.text,
        "title": passage.title,
        "heading": passage.heading,
        "title_key": _key(passage.title),
        "entities": json.dumps(list(dict.fromkeys(map(bounded, entities))), ensure_ascii=False),
        "page": passage.page,
        "starts": passage.start,
        "ends": passage.end,
    }


def _key(name: str) -> str:
    return bounded(entity_key(name))
