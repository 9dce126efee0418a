"""Storing and taking away what documents bring; the same statements for every backend."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from loopwright.errors import StoreError
from loopwright.retrieval.mentions import entity_key
from loopwright.retrieval.records import Contribution, Document, Passage
from loopwright.retrieval.stores.filtering import TAGS, facet_label
from loopwright.retrieval.stores.sessions import Session
from loopwright.retrieval.stores.storable import bounded
from loopwright.retrieval.stores.tables import count_up
from loopwright.retrieval.stores.values import document_row, microseconds
from loopwright.retrieval.text import fold

_NAME_COLUMNS = ("key", "entity", "name", "folded", "mentions")
_ADD_MENTIONS = "ON CONFLICT (entity, name) DO UPDATE SET mentions = entity_name.mentions + excluded.mentions"


def keys_of(session: Session, document_ids: Sequence[str]) -> list[int]:
    """The numbers of the documents that are there."""
    named = session.among("id", document_ids)
    return [row[0] for row in session.rows(f"SELECT key FROM document WHERE {named.sql}", named.parameters)]


def take_away(session: Session, document_keys: Sequence[int]) -> None:
    """Delete documents with their passages, vectors, facts, aliases and mentions, and names that nothing mentions.

    Args:
        session: A transaction that writes.
        document_keys: The documents' numbers.
    """
    gone = session.among("passage.document", document_keys)
    # A name's own number would conflict as well as its spelling does; no name has a negative one.
    names = session.rows(
        "SELECT -entity_name.key, entity_name.entity, entity_name.name, entity_name.folded, -count(*) FROM passage "
        "JOIN mention ON mention.passage = passage.key JOIN entity_name ON entity_name.key = mention.name "
        f"WHERE {gone.sql} GROUP BY entity_name.key, entity_name.entity, entity_name.name, entity_name.folded",
        gone.parameters,
    )
    session.insert("entity_name", _NAME_COLUMNS, names, _ADD_MENTIONS)
    unmentioned = session.among("key", [-row[0] for row in names])
    session.rows(f"DELETE FROM entity_name WHERE mentions = 0 AND {unmentioned.sql}", unmentioned.parameters)
    documents = session.among("key", document_keys)
    session.rows(f"DELETE FROM document WHERE {documents.sql}", documents.parameters)


def add(session: Session, contributions: Sequence[Contribution]) -> list[tuple[int, Passage]]:
    """Insert documents that are not there, with all that they bring.

    Args:
        session: A transaction that writes.
        contributions: What they bring; each document once.

    Returns:
        The passages with their numbers.

    Raises:
        StoreError: If a passage, mention or fact belongs to something else than it is given with.
    """
    first = count_up(session, "key", len(contributions)) + 1
    documents = list(enumerate((item.document for item in contributions), first))
    session.insert(
        "document",
        ("key", "id", "title", "digest", "own_key", "media_type", "dated", "tags", "facets"),
        [(key, *document_row(document)) for key, document in documents],
    )
    labels = [(key, *label) for key, document in documents for label in _labels(document)]
    session.insert("label", ("document", "name", "value"), labels)
    numbered = _add_passages(session, [(key, item) for (key, _), item in zip(documents, contributions, strict=True)])
    place = {passage.id: key for key, passage in numbered}
    for item in contributions:
        _check(item, place)
    _add_mentions(session, contributions, place)
    aliases = {
        (key, bounded(alias.alias), bounded(alias.entity)): None
        for (key, _), item in zip(documents, contributions, strict=True)
        for alias in item.aliases
    }
    session.insert("alias", ("document", "alias", "entity"), list(aliases))
    _add_facts(session, contributions, place)
    return numbered


def _labels(document: Document) -> Iterable[tuple[str, str]]:
    pairs = [(facet_label(name), bounded(value)) for name, values in document.facets.items() for value in values]
    return dict.fromkeys([*((TAGS, bounded(tag)) for tag in document.tags), *pairs])


def _add_passages(session: Session, contributions: Sequence[tuple[int, Contribution]]) -> list[tuple[int, Passage]]:
    first = count_up(session, "key", sum(len(item.passages) for _, item in contributions)) + 1
    placed = [(document, number, passage) for document, item in contributions for number, passage in _numbered(item)]
    session.insert(
        "passage",
        (*("key", "id", "document", "place", "text", "title", "title_key", "heading", "page", "starts", "ends"),),
        [
            (
                *(key, passage.id, document, number, passage.text, passage.title, _key(passage.title)),
                *(passage.heading, passage.page, passage.start, passage.end),
            )
            for key, (document, number, passage) in enumerate(placed, first)
        ],
    )
    return list(enumerate((passage for _, _, passage in placed), first))


def _numbered(item: Contribution) -> Iterable[tuple[int, Passage]]:
    for passage in item.passages:
        if passage.document_id != item.document.id:
            raise StoreError(
                f"passage {passage.id!r} says that it is of {passage.document_id!r} but is given with "
                f"{item.document.id!r}: give each document its own passages"
            )
    return enumerate(item.passages)


def _check(item: Contribution, place: dict[str, int]) -> None:
    for what, found in (("mention", item.mentions), ("fact", item.facts)):
        for record in found:
            if record.passage_id not in place:
                raise StoreError(
                    f"a {what} of {item.document.id!r} names the passage {record.passage_id!r}, which it does not "
                    "bring: give that passage too"
                )


def _add_mentions(session: Session, contributions: Sequence[Contribution], place: dict[str, int]) -> None:
    mentions = [
        (place[mention.passage_id], (bounded(mention.entity), bounded(mention.name)), mention.start, mention.end)
        for item in contributions
        for mention in item.mentions
    ]
    names = Counter(name for _, name, _, _ in mentions)
    first = count_up(session, "key", len(names)) + 1
    session.insert(
        "entity_name",
        _NAME_COLUMNS,
        [
            (key, entity, name, fold(name), count)
            for key, ((entity, name), count) in enumerate(sorted(names.items()), first)
        ],
        _ADD_MENTIONS,
    )
    named = session.among("entity", list(dict.fromkeys(entity for entity, _ in names)))
    keys = {
        (entity, name): key
        for key, entity, name in session.rows(
            f"SELECT key, entity, name FROM entity_name WHERE {named.sql}", named.parameters
        )
    }
    session.insert(
        "mention",
        ("passage", "name", "starts", "ends"),
        [(passage, keys[name], start, end) for passage, name, start, end in mentions],
    )


def _add_facts(session: Session, contributions: Sequence[Contribution], place: dict[str, int]) -> None:
    now = microseconds(datetime.now(UTC))
    session.insert(
        "fact",
        (
            *("passage", "id", "subject", "relation", "object", "subject_key", "object_key", "folded", "starts"),
            *("ends", "confidence", "extractor", "ingested"),
        ),
        [
            (
                *(place[fact.passage_id], bounded(fact.id), fact.subject, fact.relation, fact.object),
                *(_key(fact.subject), _key(fact.object)),
                fold(f"{fact.subject} {fact.relation} {fact.object}"),
                *(fact.start, fact.end, fact.confidence, fact.extractor, now),
            )
            for item in contributions
            for fact in item.facts
        ],
        "ON CONFLICT (passage, id) DO NOTHING",
    )


def _key(name: str) -> str:
    return bounded(entity_key(name))
