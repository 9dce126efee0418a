"""BM25 in PostgreSQL, over a table of terms: the ranking of SQLite's FTS5, so that both stores rank alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from loopwright.retrieval.records import Passage
from loopwright.retrieval.stores.ranking import COLUMN_WEIGHTS, Scored
from loopwright.retrieval.stores.sessions import Condition, Session
from loopwright.retrieval.stores.tables import count_up, counted
from loopwright.retrieval.text import terms

TABLES = """
CREATE TABLE term (term text COLLATE "C" PRIMARY KEY, key bigint NOT NULL, passages bigint NOT NULL);
CREATE TABLE posting (
    term bigint NOT NULL, passage bigint NOT NULL, in_title int NOT NULL, in_heading int NOT NULL,
    in_text int NOT NULL, length int NOT NULL, PRIMARY KEY (term, passage)
);
CREATE INDEX posting_passage ON posting (passage);
INSERT INTO counter (name, value) VALUES ('indexed', 0), ('words', 0);
"""
"""The tables: how many passages hold a term, and how often it stands in each part of each passage, beside the number of
terms of that passage. Two counters tell how many passages there are, and of how many terms."""

_MAX_TERM = 200  # characters; an index entry has at most about 2,700 bytes, and a longer term is no word
_ADD_TERMS = "ON CONFLICT (term) DO UPDATE SET passages = term.passages + excluded.passages"

_FREQUENCY = " + ".join(
    f"{weight} * posting.{column}"
    for weight, column in zip(COLUMN_WEIGHTS, ("in_title", "in_heading", "in_text"), strict=True)
)
# https://www.sqlite.org/fts5.html#the_bm25_function with k1 = 1.2 and b = 0.75; {total} passages of {average} terms.
_SEARCH = f"""
SELECT passage, sum(rarity * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / ?::float8))) AS score
FROM (
    SELECT posting.passage, posting.length, ({_FREQUENCY})::float8 AS frequency,
        greatest(1e-6, ln((?::float8 - term.passages + 0.5) / (term.passages + 0.5))) AS rarity
    FROM term JOIN posting ON posting.term = term.key WHERE {{wanted}} {{inside}}
) AS found
GROUP BY passage ORDER BY score DESC LIMIT ?
"""


def index(session: Session, passages: Sequence[tuple[int, Passage]]) -> None:
    """Add the terms of passages.

    Args:
        session: A transaction that writes.
        passages: Their numbers, and themselves.
    """
    found: list[tuple[str, int, int, int, int, int]] = []
    for key, passage in passages:
        parts = [Counter(_cut(terms(part))) for part in (passage.title, passage.heading, passage.text)]
        length = sum(part.total() for part in parts)
        title, heading, text = parts
        for term in title | heading | text:
            found.append((term, key, title[term], heading[term], text[term], length))
    holding = Counter(posting[0] for posting in found)
    first = count_up(session, "key", len(holding)) + 1
    session.insert(
        "term",
        ("term", "key", "passages"),
        [(term, key, count) for key, (term, count) in enumerate(sorted(holding.items()), first)],
        _ADD_TERMS,
    )
    named = session.among("term", list(holding))
    key_of = {row[0]: row[1] for row in session.rows(f"SELECT term, key FROM term WHERE {named.sql}", named.parameters)}
    session.insert(
        "posting",
        ("term", "passage", "in_title", "in_heading", "in_text", "length"),
        [(key_of[term], *posting) for term, *posting in found],
    )
    count_up(session, "indexed", len(passages))
    count_up(session, "words", sum({key: length for _, key, _, _, _, length in found}.values()))


def unindex(session: Session, document_keys: Sequence[int]) -> None:
    """Take away the terms of the passages of documents.

    Args:
        session: A transaction that writes.
        document_keys: The documents' numbers.
    """
    gone = session.among("document", document_keys)
    keys = [row[0] for row in session.rows(f"SELECT key FROM passage WHERE {gone.sql}", gone.parameters)]
    named = session.among("passage", keys)
    words = session.rows(
        f"SELECT sum(length) FROM (SELECT DISTINCT passage, length FROM posting WHERE {named.sql}) AS found",
        named.parameters,
    )[0][0]
    session.rows(
        f"WITH gone AS (DELETE FROM posting WHERE {named.sql} RETURNING term) UPDATE term SET passages = passages - "
        "counts.count FROM (SELECT term AS key, count(*) AS count FROM gone GROUP BY term) AS counts "
        "WHERE counts.key = term.key",
        named.parameters,
    )
    session.rows("DELETE FROM term WHERE passages = 0")
    count_up(session, "indexed", -len(keys))
    count_up(session, "words", -int(words or 0))


def best_by_text(session: Session, wanted: Sequence[str], inside: Condition | None, limit: int) -> Scored:
    """The best passages by BM25.

    Args:
        session: The transaction.
        wanted: The terms of the query.
        inside: Selects the numbers of the passages that count; None for all.
        limit: At most how many.
    """
    passages = counted(session, "indexed")
    average = counted(session, "words") / max(1, passages)
    named = session.among("term.term", _cut(wanted))
    within = f"AND posting.passage IN ({inside.sql})" if inside else ""
    rows = session.rows(
        _SEARCH.format(wanted=named.sql, inside=within),
        (average, passages, *named.parameters, *(inside.parameters if inside else ()), limit),
    )
    return [(row[0], row[1]) for row in rows]


def _cut(words: Sequence[str]) -> list[str]:
    return [word[:_MAX_TERM] for word in words]
