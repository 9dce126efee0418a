"""The tables of a knowledge store, for SQLite and PostgreSQL alike, and how records become rows."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    ForeignKey,
    Index,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    insert,
    select,
    update,
)
from sqlalchemy.types import UserDefinedType

from loopwright.database import storable
from loopwright.database.values import KEY, microseconds, moment, text_column
from loopwright.errors import StoreError
from loopwright.retrieval.names import entity_key
from loopwright.retrieval.records import Contribution, Document, Passage

SCHEMA_VERSION = 4
"""Grows whenever the tables change, so that a store of another version is recognised."""
METADATA = MetaData()
"""All tables that both databases have; each has an index of words besides."""

MOST_ID_BYTES = 2_000
"""The longest id of a document, in UTF-8; an entry of PostgreSQL's ordered index holds 2,704 bytes."""
MOST_NAME_BYTES = 1_000
"""The longest name, tag or value that is told apart as it stands; two of them share an entry of an index."""

_DIGEST_DIGITS = 16


class Vector(UserDefinedType[Any]):
    """The type of pgvector."""

    cache_ok = True

    def get_col_spec(self, **_: Any) -> str:
        """Its name in PostgreSQL."""
        return "vector"


def _whole(name: str, *, primary_key: bool = False, nullable: bool = False, index: bool | None = None) -> Column[int]:
    return Column(name, KEY, primary_key=primary_key, autoincrement=False, nullable=nullable, index=index)


def _of(table: str) -> Column[int]:
    return Column(table, KEY, ForeignKey(f"{table}.key", ondelete="CASCADE"), nullable=False)


# Strings name things outside, whole numbers name them inside. A number is never given twice, so that what was read up
# to one number can be continued from there.
COUNTER = Table("counter", METADATA, text_column("name", primary_key=True), _whole("value"))
"""The numbers given so far ("key"), the changes of documents ("revision"), and the version of the tables."""
DOCUMENT = Table(
    "document",
    METADATA,
    _whole("key", primary_key=True),
    text_column("id", unique=True),
    *(text_column(name) for name in ("title", "digest")),
    _whole("dated", nullable=True, index=True),
    *(text_column(name) for name in ("tags", "kept")),
)
"""Documents; tags in JSON, dates in microseconds since 1970."""
TAG = Table(
    "tag",
    METADATA,
    _of("document"),
    text_column("value"),
    UniqueConstraint("document", "value"),
    Index("tag_value", "value"),
)
"""The tags of documents, which they are filtered by."""
PASSAGE = Table(
    "passage",
    METADATA,
    _whole("key", primary_key=True),
    text_column("id", unique=True),
    _of("document"),
    _whole("place"),
    *(text_column(name) for name in ("text", "title", "heading", "title_key", "entities")),
    _whole("page", nullable=True),
    _whole("starts"),
    _whole("ends"),
    Index("passage_document", "document", "place"),
)
"""Passages, with the entity that the title names, and in JSON those that the text does."""
EMBEDDING = Table(
    "embedding",
    METADATA,
    _whole("key", primary_key=True),
    _of("passage"),
    text_column("model"),
    _whole("dimensions"),
    Column("value", LargeBinary().with_variant(Vector(), "postgresql"), nullable=False),
    UniqueConstraint("passage", "model"),
    Index("embedding_model", "model", "key"),
)
"""Vectors of passages."""

DOCUMENT_COLUMNS = tuple(column for column in DOCUMENT.c if column.name != "key")
"""What `document_of` takes."""
PASSAGE_COLUMNS = (
    *(PASSAGE.c.id, DOCUMENT.c.id.label("document_id"), PASSAGE.c.text, PASSAGE.c.title, PASSAGE.c.heading),
    *(PASSAGE.c.page, PASSAGE.c.starts.label("start"), PASSAGE.c.ends.label("end")),
)
"""A passage, by the names of its fields."""


def counted(connection: Connection, name: str) -> int:
    """The value of a counter."""
    return connection.execute(select(COUNTER.c.value).where(COUNTER.c.name == name)).scalar_one()


def count_up(connection: Connection, name: str, by: int = 1) -> int:
    """Raise a counter, in a transaction that writes; gives its value before."""
    value = COUNTER.c.value
    raised = update(COUNTER).where(COUNTER.c.name == name).values(value=value + by).returning(value)
    return connection.execute(raised).scalar_one() - by


def document_row(document: Document) -> dict[str, Any]:
    """The columns `DOCUMENT_COLUMNS` of a document."""
    dated = None if document.date is None else microseconds(document.date)
    own = {name: getattr(document, name) for name in ("id", "title", "digest", "kept")}
    return {**own, "dated": dated, "tags": json.dumps(document.tags, ensure_ascii=False)}


def document_of(row: Sequence[Any]) -> Document:
    """A document from its columns `DOCUMENT_COLUMNS`."""
    id, title, digest, dated, tags, kept = row
    date = None if dated is None else moment(dated)
    return Document(id=id, title=title, digest=digest, date=date, tags=tuple(json.loads(tags)), kept=kept)


def add(connection: Connection, contributions: Sequence[Contribution]) -> list[tuple[int, Passage]]:
    """Insert documents that are not there, with all that they bring.

    Returns:
        The passages with their numbers.

    Raises:
        StoreError: If a passage is of another document, an entity of a passage that is not given, or an id too long.
    """
    first = count_up(connection, "key", len(contributions)) + 1
    numbered = list(enumerate(contributions, first))
    documents = [{"key": key, **document_row(item.document)} for key, item in numbered]
    for id in (storable(item.document.id) for item in contributions):
        if (length := len(id.encode())) > MOST_ID_BYTES:
            raise StoreError(
                f"the id of a document has {length} bytes, at most {MOST_ID_BYTES} are kept; "
                f"shorten it: {id[:100]!r}..."
            )
    connection.execute(insert(DOCUMENT), documents)
    tags = [
        {"document": key, "value": tag}
        for key, item in numbered
        for tag in dict.fromkeys(storable(bounded(tag)) for tag in item.document.tags)
    ]
    if tags:
        connection.execute(insert(TAG), tags)
    number = count_up(connection, "key", sum(len(item.passages) for item in contributions)) + 1
    passages: list[tuple[int, Passage]] = []
    rows: list[dict[str, Any]] = []
    for document, item in numbered:
        own = {passage.id for passage in item.passages if passage.document_id == item.document.id}
        if stray := {*item.entities, *(passage.id for passage in item.passages)} - own:
            raise StoreError(
                f"{item.document.id!r} comes with {min(stray)!r}, no passage of its own: give it its own, all of them"
            )
        for place, passage in enumerate(item.passages):
            passages.append((number, passage))
            rows.append(_passage_row(passage, number, document, place, item.entities.get(passage.id, ())))
            number += 1
    if rows:
        connection.execute(insert(PASSAGE), rows)
    return passages


def _passage_row(passage: Passage, key: int, document: int, place: int, entities: Iterable[str]) -> dict[str, Any]:
    named = {"title_key": bounded(entity_key(passage.title)), "starts": passage.start, "ends": passage.end}
    listed = json.dumps(list(dict.fromkeys(map(bounded, entities))), ensure_ascii=False)
    own = {name: getattr(passage, name) for name in ("id", "text", "title", "heading", "page")}
    return {"key": key, "document": document, "place": place, "entities": listed, **named, **own}


def bounded(text: str) -> str:
    """A name, tag or value as it is indexed: one that is too long is cut, and ends with a digest of the whole."""
    data = storable(text).encode()
    if len(data) <= MOST_NAME_BYTES:
        return text
    kept = data[: MOST_NAME_BYTES - _DIGEST_DIGITS - 1].decode(errors="ignore")
    return f"{kept}~{hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]}"
