"""The knowledge store on a database that SQLAlchemy speaks to; what depends on which one is abstract."""

import json
from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import ColumnElement, Connection, Select, and_, delete, distinct, func, insert, or_, select, true

from loopwright.database import storable
from loopwright.database.database import Database, Format
from loopwright.database.values import microseconds
from loopwright.errors import StoreError
from loopwright.retrieval.records import Contribution, Document, Filter, Hit, Passage, StoreStats
from loopwright.retrieval.stores.tables import (
    COUNTER,
    DOCUMENT,
    DOCUMENT_COLUMNS,
    EMBEDDING,
    PASSAGE,
    PASSAGE_COLUMNS,
    SCHEMA_VERSION,
    TAG,
    add,
    bounded,
    count_up,
    counted,
    document_of,
)
from loopwright.retrieval.text import query_terms

_VERSION = select(COUNTER.c.value).where(COUNTER.c.name == "version")
_OLDER = "ingest the documents again, into {}"
_FORMAT = Format([COUNTER, DOCUMENT, PASSAGE], _VERSION, SCHEMA_VERSION, _OLDER, lock=0x4C57_4B53)
# How scores are rounded: beyond that, equal passages may differ by the order of additions.
_TEXT_DIGITS = ".9g"  # those of common words are all close to 0, and differ there
_VECTOR_DIGITS = ".6f"
_TIES = 16

Scored = list[tuple[int, float]]
"""Passage numbers and scores, best first."""
Inside = Select[tuple[int]] | None
"""The numbers of the passages that count; None for all."""


class KnowledgeStore(AbstractContextManager["KnowledgeStore"]):
    """Documents, passages, their links and vectors. Every method may be called from several threads.

    Every method raises `StoreError` where the database fails: a store that is down is never "nothing found". Those that
    write do so one after another.
    """

    def __init__(self, database: Database) -> None:
        """Recognise the store, or make one where there is nothing; the database is closed with it.

        Raises:
            StoreError: If the database fails, holds something else, or a store of another version.
        """
        self._database = database
        self._vectors_complete_below: dict[str, int] = {}
        self._revision: tuple[float, int] | None = None
        """When the revision was read last, and what it was; None once something was written here."""
        database.made(_FORMAT, self._made)

    def put(self, contributions: Sequence[Contribution]) -> None:
        """Store documents with all that they bring, in one transaction; a document that is there is replaced whole.

        Of two with the same id, the later counts.

        Raises:
            StoreError: If the database fails, a passage says that it is of another document, an entity is of a passage
                that is not given, or an id has more than about 2,000 bytes; nothing of it is stored then.
        """
        latest = {storable(item.document.id): item for item in contributions}
        if not latest:
            return
        with self._writing() as connection:
            self._remove(connection, list(latest))
            self._index(connection, add(connection, list(latest.values())))
            count_up(connection, "revision")
        self._revision = None

    def delete(self, document_ids: Sequence[str]) -> int:
        """Take documents away with all that only they brought, and say how many there were."""
        with self._writing() as connection:
            gone = self._remove(connection, document_ids)
            if gone:
                count_up(connection, "revision")
        self._revision = None
        return gone

    def digests(self, document_ids: Sequence[str] | None = None) -> dict[str, str]:
        """Document id -> digest, of those that are there; None asks for all."""
        wanted = select(DOCUMENT.c.id, DOCUMENT.c.digest).order_by(DOCUMENT.c.id)
        if document_ids is not None:
            wanted = wanted.where(self._among(DOCUMENT.c.id, document_ids))
        with self._reading() as connection:
            return {row[0]: row[1] for row in connection.execute(wanted)}

    def documents(self, where: Filter | None = None, *, limit: int | None = None) -> list[Document]:
        """The documents, all or those that a filter lets through, by id; at most so many as the limit, if any."""
        within = self._documents_within(where or Filter())
        wanted = select(*DOCUMENT_COLUMNS).where(within).order_by(DOCUMENT.c.id).limit(limit)
        with self._reading() as connection:
            return [document_of(row) for row in connection.execute(wanted)]

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in the same order; those that are not there are left out."""
        with self._reading() as connection:
            found = self._passages(connection, self._among(PASSAGE.c.id, ids))
        by_id = {passage.id: passage for passage in found}
        return [by_id[id] for id in map(storable, ids) if id in by_id]

    def passages_of(self, document_id: str) -> list[Passage]:
        """A document's passages, in order."""
        with self._reading() as connection:
            return self._passages(connection, DOCUMENT.c.id == document_id)

    def search_text(self, query: str, k: int, where: Filter | None = None) -> list[Hit]:
        """The passages with any of the words, by how often, how rare and where they stand; best first, ties by id.

        Signs and operators in the query mean nothing. How rare a word is, is told from all passages, whatever the
        filter lets through.
        """
        terms = query_terms(query)
        if not terms or k < 1:
            return []
        with self._reading() as connection:
            inside = self._passages_within(where)
            best = partial(self._best_by_text, connection, terms, inside)
            return self._hits(connection, k, _TEXT_DIGITS, best)

    def search_vector(
        self, vector: NDArray[np.float32], k: int, where: Filter | None = None, *, model: str
    ) -> list[Hit]:
        """The passages with the most similar vectors by cosine, best first, ties by id; exact, never approximate.

        The vector has the shape (dimensions,) and any length, and comes from the embedding model.

        Raises:
            StoreError: If the model's other vectors have another shape.
        """
        wanted = _unit(vector, "the query")
        if k < 1:
            return []
        with self._reading() as connection:
            _check_dimensions(connection, model, len(wanted))
            inside = self._passages_within(where)
            best = partial(self._best_by_vector, connection, model, wanted, inside)
            return self._hits(connection, k, _VECTOR_DIGITS, best)

    def has_vectors(self, model: str) -> bool:
        """Whether any passage has a vector of this model."""
        wanted = select(EMBEDDING.c.key).where(EMBEDDING.c.model == model).limit(1)
        with self._reading() as connection:
            return connection.scalar(wanted) is not None

    def without_vector(self, model: str, limit: int) -> list[Passage]:
        """Passages that have no vector of this model yet, those stored first before others."""
        # A vector goes only with its passage, and no number is given twice: below a passage without a vector that was
        # the first once, none is ever missing. Without this, filling n passages would take n * n steps.
        begin = self._vectors_complete_below.get(model, 0)
        there = select(EMBEDDING.c.key).where(EMBEDDING.c.passage == PASSAGE.c.key, EMBEDDING.c.model == model)
        missing = select(PASSAGE.c.key).where(PASSAGE.c.key >= begin, ~there.exists()).order_by(PASSAGE.c.key)
        with self._reading() as connection:
            keys = connection.scalars(missing.limit(limit)).all()
            passages = self._passages(connection, self._among(PASSAGE.c.key, keys))
        if keys:
            self._vectors_complete_below[model] = keys[0]
        return passages

    def put_vectors(self, model: str, vectors: Sequence[tuple[Passage, NDArray[np.float32]]]) -> None:
        """Store the vectors of passages as they were embedded; of those that are gone or changed by now, none.

        The vectors come from the model, have the shape (dimensions,) and any length, each with its passage as embedded.

        Raises:
            StoreError: If a vector has another shape than the model's others, or a number that is not finite.
        """
        units = {
            storable(passage.id): (passage, _unit(vector, f"passage {passage.id!r}")) for passage, vector in vectors
        }
        parts = select(PASSAGE.c.key, PASSAGE.c.id, PASSAGE.c.title, PASSAGE.c.heading, PASSAGE.c.text)
        with self._writing() as connection:
            found = connection.execute(parts.where(self._among(PASSAGE.c.id, list(units)))).all()
            # A document that was replaced meanwhile may have another text under the same id.
            embedded = {id: tuple(map(storable, (of.title, of.heading, of.text))) for id, (of, _) in units.items()}
            rows = [row for row in found if tuple(row[2:]) == embedded[row.id]]
            if not rows:
                return
            dimensions = _check_dimensions(connection, model, *(len(vector) for _, vector in units.values()))
            replaced = self._among(EMBEDDING.c.passage, [row.key for row in rows])
            connection.execute(delete(EMBEDDING).where(EMBEDDING.c.model == model, replaced))
            first = count_up(connection, "key", len(rows)) + 1
            shared = {"model": model, "dimensions": dimensions}
            added = [
                {"key": number, "passage": row.key, **shared, "value": self._encoded(units[row.id][1])}
                for number, row in enumerate(rows, first)
            ]
            connection.execute(insert(EMBEDDING), added)

    def links(self) -> list[tuple[str, str, list[str]]]:
        """The id of each passage, by id, the entity that its title names, and those that its text names."""
        columns = select(PASSAGE.c.id, PASSAGE.c.title_key, PASSAGE.c.entities).order_by(PASSAGE.c.id)
        with self._reading() as connection:
            return [(id, title, json.loads(entities)) for id, title, entities in connection.execute(columns)]

    def revision(self, within: float = 0.0) -> int:
        """A number that grows with every change of documents, by whichever process; vectors do not count.

        What was derived from the documents is made anew when it has grown. A change by another process may go unseen
        for ``within`` seconds.
        """
        known, now = self._revision, monotonic()
        if known is not None and now - known[0] < within:
            return known[1]
        with self._reading() as connection:
            revision = counted(connection, "revision")
        self._revision = now, revision
        return revision

    def stats(self) -> StoreStats:
        """How much it holds."""
        counts = select(
            *(select(func.count()).select_from(table).scalar_subquery() for table in (DOCUMENT, PASSAGE)),
            select(func.count(distinct(EMBEDDING.c.passage))).scalar_subquery(),
        )
        with self._reading() as connection:
            documents, passages, vectors = map(int, connection.execute(counts).one())
            named = connection.scalars(select(PASSAGE.c.entities).distinct())
            entities = len({key for keys in named for key in json.loads(keys)})
        return StoreStats(documents=documents, passages=passages, entities=entities, vectors=vectors)

    def close(self) -> None:
        """Let go of files and connections; again does nothing."""
        self._database.close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Generator[Connection]:
        """A transaction that sees one state of the database."""
        with self._database.reading() as connection:
            if self._database.schema:
                connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield connection

    @contextmanager
    def _writing(self) -> Generator[Connection]:
        """A transaction that writes; no other does until it ends."""
        with self._database.writing() as connection:
            if self._database.schema:
                connection.exec_driver_sql("LOCK TABLE counter IN EXCLUSIVE MODE")
            yield connection

    def _made(self, connection: Connection) -> None:
        self._make(connection)
        counters = {"revision": 0, "key": 0, "version": SCHEMA_VERSION}
        connection.execute(insert(COUNTER), [{"name": name, "value": value} for name, value in counters.items()])

    def _remove(self, connection: Connection, document_ids: Sequence[str]) -> int:
        named = self._among(DOCUMENT.c.id, document_ids)
        keys = connection.scalars(select(DOCUMENT.c.key).where(named)).all()
        if keys:
            gone = select(PASSAGE.c.key).where(self._among(PASSAGE.c.document, keys))
            self._unindex(connection, gone)
            connection.execute(delete(DOCUMENT).where(self._among(DOCUMENT.c.key, keys)))
        return len(keys)

    def _passages(self, connection: Connection, named: ColumnElement[bool]) -> list[Passage]:
        wanted = select(*PASSAGE_COLUMNS).join(DOCUMENT).where(named)
        rows = connection.execute(wanted.order_by(PASSAGE.c.document, PASSAGE.c.place)).mappings()
        return [Passage(**row) for row in rows]

    def _hits(self, connection: Connection, k: int, digits: str, best: Callable[[int], Scored]) -> list[Hit]:
        limit = k + _TIES
        # Which of several equal passages are the last of k is decided by id, so all that equal the last are needed.
        while True:
            found = [(key, float(f"{score:{digits}}")) for key, score in best(limit)]
            if len(found) < limit or found[-1][1] < found[k - 1][1]:
                break
            limit *= 4
        among = self._among(PASSAGE.c.key, [key for key, _ in found])
        ids = {row.key: row.id for row in connection.execute(select(PASSAGE.c.key, PASSAGE.c.id).where(among))}
        hits = [Hit(ids[key], score) for key, score in found]
        return sorted(hits, key=lambda hit: (-hit.score, hit.passage_id))[:k]

    def _documents_within(self, where: Filter) -> ColumnElement[bool]:
        """The condition that a filter puts on documents."""
        conditions = [
            true() if not where.documents else self._named(where.documents),
            true() if where.after is None else DOCUMENT.c.dated >= microseconds(where.after),
            true() if where.before is None else DOCUMENT.c.dated < microseconds(where.before),
        ]
        if where.tags:
            among = self._among(TAG.c.value, [bounded(tag) for tag in where.tags])
            conditions.append(DOCUMENT.c.key.in_(select(TAG.c.document).where(among)))
        return and_(*conditions)

    def _named(self, names: Sequence[str]) -> ColumnElement[bool]:
        conditions = [self._among(DOCUMENT.c.id, names)]
        for prefix in dict.fromkeys(name for name in names if name.endswith(("/", "#"))):
            after = prefix[:-1] + chr(ord(prefix[-1]) + 1)  # the least text above all that begin with the prefix
            conditions.append(and_(DOCUMENT.c.id >= prefix, DOCUMENT.c.id < after))
        return or_(*conditions)

    def _passages_within(self, where: Filter | None) -> Inside:
        """The numbers of the passages that a filter lets pass; None without one."""
        return None if where is None else select(PASSAGE.c.key).join(DOCUMENT).where(self._documents_within(where))

    # What SQLite and PostgreSQL do in ways of their own: the two searches, and long lists.

    @abstractmethod
    def _make(self, connection: Connection) -> None:
        """Make the tables and the index of words; a `StoreError` if the database has not what they need."""

    @abstractmethod
    def _among(self, column: ColumnElement[Any], values: Sequence[Any]) -> ColumnElement[bool]:
        """The column has one of the values, all text or all whole numbers, however many there are."""

    @abstractmethod
    def _index(self, connection: Connection, passages: Sequence[tuple[int, Passage]]) -> None:
        """Make passages findable by their words."""

    def _unindex(self, connection: Connection, gone: Select[tuple[int]]) -> None:
        """Take passages, by their numbers, out of the index of words, where it does not lose them with the passages."""

    @abstractmethod
    def _best_by_text(self, connection: Connection, terms: Sequence[str], inside: Inside, limit: int) -> Scored:
        """The passages with any of the terms, those with the most, rarest and most prominent ones first."""

    @abstractmethod
    def _best_by_vector(
        self, connection: Connection, model: str, vector: NDArray[np.float32], inside: Inside, limit: int
    ) -> Scored:
        """The best passages by cosine to a vector of length one; exact, never approximate."""

    @abstractmethod
    def _encoded(self, vector: NDArray[np.float32]) -> Any:
        """A vector as it is stored."""


def _unit(vector: ArrayLike, what: str) -> NDArray[np.float32]:
    """A vector of length one in the same direction; zeros stay zeros.

    Raises:
        StoreError: If it has another shape, or a number that is not finite.
    """
    values = np.asarray(vector, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise StoreError(
            f"the vector of {what} is no row of finite numbers (shape {values.shape}): look at the embedding model"
        )
    length = float(np.linalg.norm(values))
    return (values / length if length else values).astype(np.float32)


def _check_dimensions(connection: Connection, model: str, *found: int) -> int:
    """See that vectors have as many numbers as the model's others, and say how many that is.

    Raises:
        StoreError: If one has another number than the others, here or in the store.
    """
    known = connection.scalars(select(EMBEDDING.c.dimensions).where(EMBEDDING.c.model == model).limit(1)).first()
    known = found[0] if known is None else known
    wrong = next((length for length in found if length != known), None)
    if wrong is not None:
        raise StoreError(
            f"the store has vectors of {known} numbers from the embedding model {model!r}, and this one has {wrong}: "
            "give each model its own name"
        )
    return known
