"""Storing what documents bring; the same statements for every backend."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection

from loopwright.errors import StoreError
from loopwright.retrieval.mentions import entity_key
from loopwright.retrieval.records import Contribution, Document, Passage
from loopwright.retrieval.stores.backend import Backend
from loopwright.retrieval.stores.filtering import TAGS, facet_label
from loopwright.retrieval.stores.storable import bounded, check_id, storable
from loopwright.retrieval.stores.tables import (
    DOCUMENT,
    FACT,
    LABEL,
    PASSAGE,
    count_up,
    document_row,
    microseconds,
)
from loopwright.retrieval.text import fold


def add(connection: Connection, backend: Backend, contributions: Sequence[Contribution]) -> list[tuple[int, Passage]]:
    """Insert documents that are not there, with all that they bring.

    Args:
        connection: A transaction that writes.
        backend: The kind of database.
        contributions: What they bring; each document once.

    Returns:
        The passages with their numbers.

    Raises:
        StoreError: If a passage, mention or fact belongs to something else than it is given with.
    """
    first = count_up(connection, "key", len(contributions)) + 1
    numbered = list(enumerate(contributions, first))
    documents = [{"key": key, **document_row(item.document), "aliases": _aliases(item)} for key, item in numbered]
    for item in contributions:
        check_id(item.document.id)
    backend.insert(connection, DOCUMENT, documents)
    labels = [
        {"document": key, "name": name, "value": value}
        for key, item in numbered
        for name, value in _labels(item.document)
    ]
    backend.insert(connection, LABEL, labels)
    number = count_up(connection, "key", sum(len(item.passages) for item in contributions)) + 1
    passages: list[tuple[int, Passage]] = []
    rows: list[dict[str, Any]] = []
    facts: dict[tuple[int, str], dict[str, Any]] = {}
    for document, item in numbered:
        own = {passage.id: key for key, passage in enumerate(item.passages, number)}
        number += len(item.passages)
        entities = _entities(item, own)
        for place, passage in enumerate(item.passages):
            _check_passage(passage, item.document)
            key = own[passage.id]
            passages.append((key, passage))
            rows.append(_passage_row(passage, key, document, place, entities[passage.id]))
        facts.update(_fact_rows(item, own))
    backend.insert(connection, PASSAGE, rows)
    backend.insert(connection, FACT, list(facts.values()))
    return passages


def _aliases(item: Contribution) -> str:
    pairs = dict.fromkeys((bounded(alias.alias), bounded(alias.entity)) for alias in item.aliases)
    return json.dumps(list(pairs), ensure_ascii=False)


def _labels(document: Document) -> Iterable[tuple[str, str]]:
    pairs = [(facet_label(name), bounded(value)) for name, values in document.facets.items() for value in values]
    labels = [*((TAGS, bounded(tag)) for tag in document.tags), *pairs]
    return dict.fromkeys((storable(name), storable(value)) for name, value in labels)


def _check_passage(passage: Passage, document: Document) -> None:
    if passage.document_id != document.id:
        raise StoreError(
            f"passage {passage.id!r} says that it is of {passage.document_id!r} but is given with "
            f"{document.id!r}: give each document its own passages"
        )


def _entities(item: Contribution, own: dict[str, int]) -> dict[str, dict[str, None]]:
    """Passage id -> the keys of the entities that it names."""
    named: dict[str, dict[str, None]] = {id: {} for id in own}
    for what, found in (("mention", item.mentions), ("fact", item.facts)):
        for record in found:
            if record.passage_id not in own:
                raise StoreError(
                    f"a {what} of {item.document.id!r} names the passage {record.passage_id!r}, which it does not "
                    "bring: give that passage too"
                )
    for mention in item.mentions:
        named[mention.passage_id][bounded(mention.entity)] = None
    return named


def _passage_row(passage: Passage, key: int, document: int, place: int, entities: dict[str, None]) -> dict[str, Any]:
    return {
        "key": key,
        "id": passage.id,
        "document": document,
        "place": place,
        "text": passage.text,
        "title": passage.title,
        "heading": passage.heading,
        "title_key": _key(passage.title),
        "entities": json.dumps(list(entities), ensure_ascii=False),
        "page": passage.page,
        "starts": passage.start,
        "ends": passage.end,
    }


def _fact_rows(item: Contribution, own: dict[str, int]) -> dict[tuple[int, str], dict[str, Any]]:
    now = microseconds(datetime.now(UTC))
    return {
        (own[fact.passage_id], fact.id): {
            "passage": own[fact.passage_id],
            "id": bounded(fact.id),
            "subject": fact.subject,
            "relation": fact.relation,
            "object": fact.object,
            "subject_key": _key(fact.subject),
            "object_key": _key(fact.object),
            "folded": fold(storable(f"{fact.subject} {fact.relation} {fact.object}")),
            "starts": fact.start,
            "ends": fact.end,
            "confidence": fact.confidence,
            "extractor": fact.extractor,
            "ingested": now,
        }
        for fact in item.facts
    }


def _key(name: str) -> str:
    return bounded(entity_key(name))
