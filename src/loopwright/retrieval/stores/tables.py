"""The tables that every backend has, and the counters in them."""

from __future__ import annotations

from loopwright.retrieval.stores.sessions import Session

SCHEMA_VERSION = 1
"""Grows whenever the tables change, so that a store of another version is recognised."""

# Strings name things outside, whole numbers name them inside. A number is never given twice, so that what was read up
# to one number can be continued from there.
_TABLES = """
CREATE TABLE counter (name {text} PRIMARY KEY, value {integer} NOT NULL);
INSERT INTO counter (name, value) VALUES ('revision', 0), ('key', 0), ('version', {version});
CREATE TABLE document (
    key {integer} PRIMARY KEY, id {text} NOT NULL UNIQUE, title {text} NOT NULL, digest {text} NOT NULL,
    own_key {text} NOT NULL, media_type {text} NOT NULL, dated {integer}, tags {text} NOT NULL, facets {text} NOT NULL
);
CREATE INDEX document_dated ON document (dated);
CREATE TABLE label (
    document {integer} NOT NULL REFERENCES document ON DELETE CASCADE, name {text} NOT NULL, value {text} NOT NULL,
    PRIMARY KEY (document, name, value)
);
CREATE INDEX label_value ON label (name, value);
CREATE TABLE passage (
    key {integer} PRIMARY KEY, id {text} NOT NULL UNIQUE,
    document {integer} NOT NULL REFERENCES document ON DELETE CASCADE, place {integer} NOT NULL, text {text} NOT NULL,
    title {text} NOT NULL, title_key {text} NOT NULL, heading {text} NOT NULL, page {integer},
    starts {integer} NOT NULL, ends {integer} NOT NULL
);
CREATE INDEX passage_document ON passage (document, place);
CREATE TABLE entity_name (
    key {integer} PRIMARY KEY, entity {text} NOT NULL, name {text} NOT NULL, folded {text} NOT NULL,
    mentions {integer} NOT NULL, UNIQUE (entity, name)
);
CREATE TABLE mention (
    passage {integer} NOT NULL REFERENCES passage ON DELETE CASCADE, name {integer} NOT NULL,
    starts {integer} NOT NULL, ends {integer} NOT NULL
);
CREATE INDEX mention_passage ON mention (passage, name);
CREATE INDEX mention_name ON mention (name, passage);
CREATE TABLE alias (
    document {integer} NOT NULL REFERENCES document ON DELETE CASCADE, alias {text} NOT NULL, entity {text} NOT NULL,
    PRIMARY KEY (document, alias, entity)
);
CREATE TABLE fact (
    passage {integer} NOT NULL REFERENCES passage ON DELETE CASCADE, id {text} NOT NULL, subject {text} NOT NULL,
    relation {text} NOT NULL, object {text} NOT NULL, subject_key {text} NOT NULL, object_key {text} NOT NULL,
    folded {text} NOT NULL, starts {integer} NOT NULL, ends {integer} NOT NULL, confidence {real} NOT NULL,
    extractor {text} NOT NULL, ingested {integer} NOT NULL, PRIMARY KEY (passage, id)
);
CREATE INDEX fact_subject ON fact {long_index} (subject_key);
CREATE INDEX fact_object ON fact {long_index} (object_key);
CREATE TABLE embedding_model (name {text} PRIMARY KEY, dimensions {integer} NOT NULL);
CREATE TABLE embedding (
    key {integer} PRIMARY KEY, passage {integer} NOT NULL REFERENCES passage ON DELETE CASCADE, model {text} NOT NULL,
    value {vector} NOT NULL, UNIQUE (passage, model)
);
"""


def table_statements(*, integer: str, text: str, real: str, vector: str, long_index: str) -> list[str]:
    """The statements that make the tables.

    Args:
        integer: The type of whole numbers of 64 bits.
        text: The type of text; it must compare by code point.
        real: The type of numbers of double precision.
        vector: The type of vectors.
        long_index: What makes an index take text of any length.
    """
    statements = _TABLES.format(
        integer=integer, text=text, real=real, vector=vector, long_index=long_index, version=SCHEMA_VERSION
    )
    return [statement.strip() for statement in statements.split(";") if statement.strip()]


def counted(session: Session, name: str) -> int:
    """The value of a counter."""
    return int(session.rows("SELECT value FROM counter WHERE name = ?", (name,))[0][0])


def count_up(session: Session, name: str, by: int = 1) -> int:
    """Raise a counter, in a transaction that writes.

    Args:
        session: The transaction.
        name: The counter.
        by: By how much.

    Returns:
        Its value before.
    """
    rows = session.rows("UPDATE counter SET value = value + ? WHERE name = ? RETURNING value", (by, name))
    return int(rows[0][0]) - by
