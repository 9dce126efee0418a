"""What the stores on SQL databases have in common: everything but connections and the two searches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.records import Contribution, Document, Entity, Fact, Filter, Hit, Links, Passage, StoreStats
from loopwright.retrieval.stores.filtering import TAGS, documents_within, facet_label, passages_within
from loopwright.retrieval.stores.graph import read_entities, read_facts, read_links, read_stats
from loopwright.retrieval.stores.ranking import TEXT_DIGITS, VECTOR_DIGITS, Scored, best_hits
from loopwright.retrieval.stores.sessions import Condition, Session
from loopwright.retrieval.stores.storable import storable, storable_contribution
from loopwright.retrieval.stores.tables import count_up, counted
from loopwright.retrieval.stores.values import DOCUMENT_COLUMNS, PASSAGE_COLUMNS, document_of, passage_of
from loopwright.retrieval.stores.vectors import check_dimensions, store_vectors, unit
from loopwright.retrieval.stores.writing import add, keys_of, take_away
from loopwright.retrieval.text import query_terms

_ALL = 2**62


class SqlStore(ABC):
    """A knowledge store on an SQL database: see `loopwright.retrieval.stores.protocol.KnowledgeStore`.

    Every method may be called from several threads; those that write do so one after another.
    """

    def __init__(self) -> None:
        self._vectors_complete_below: dict[str, int] = {}

    @abstractmethod
    def _reading(self) -> AbstractContextManager[Session]:
        """A transaction that sees one state of the database."""

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Session]:
        """A transaction that writes; no other does until it ends."""

    @abstractmethod
    def _index(self, session: Session, passages: Sequence[tuple[int, Passage]]) -> None:
        """Make passages findable by their words."""

    @abstractmethod
    def _unindex(self, session: Session, document_keys: Sequence[int]) -> None:
        """Take the passages of documents out of the index of words, before they are deleted."""

    @abstractmethod
    def _best_by_text(self, session: Session, terms: Sequence[str], inside: Condition | None, limit: int) -> Scored:
        """The best passages by BM25; ``inside`` selects the numbers of those that count."""

    @abstractmethod
    def _best_by_vector(
        self, session: Session, model: str, vector: NDArray[np.float32], inside: Condition | None, limit: int
    ) -> Scored:
        """The best passages by cosine to a vector of length one."""

    @abstractmethod
    def _encoded(self, vector: NDArray[np.float32]) -> Any:
        """A vector as it is stored."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; again does nothing."""

    def put(self, contributions: Sequence[Contribution]) -> None:
        """Store documents with all that they bring, in one transaction; a document that is there is replaced whole.

        Args:
            contributions: What the documents bring; of two with the same document, the later counts.

        Raises:
            StoreError: If the database fails, or a passage, mention or fact belongs to another document, or an id has
                more than about 2,000 bytes; nothing of it is stored then.
        """
        cleaned = map(storable_contribution, contributions)
        latest = list({item.document.id: item for item in cleaned}.values())
        if not latest:
            return
        with self._writing() as session:
            self._remove(session, keys_of(session, [item.document.id for item in latest]))
            self._index(session, add(session, latest))
            count_up(session, "revision")

    def delete(self, document_ids: Sequence[str]) -> int:
        """Take documents away with all that only they brought, and say how many there were.

        Args:
            document_ids: The documents.

        Returns:
            How many of them were there.
        """
        with self._writing() as session:
            keys = keys_of(session, document_ids)
            if keys:
                self._remove(session, keys)
                count_up(session, "revision")
        return len(keys)

    def digests(self, document_ids: Sequence[str] | None = None) -> dict[str, str]:
        """Document id -> digest, of those that are there; None asks for all."""
        with self._reading() as session:
            named = Condition("TRUE") if document_ids is None else session.among("id", document_ids)
            rows = session.rows(f"SELECT id, digest FROM document WHERE {named.sql} ORDER BY id", named.parameters)
        return {row[0]: row[1] for row in rows}

    def documents(self, where: Filter | None = None, *, offset: int = 0, limit: int | None = None) -> list[Document]:
        """The documents, by id.

        Args:
            where: Which of them.
            offset: How many to leave out at the beginning.
            limit: At most how many; None for all.
        """
        with self._reading() as session:
            within = documents_within(session, where)
            rows = session.rows(
                f"SELECT {DOCUMENT_COLUMNS} FROM document WHERE {within.sql} ORDER BY id LIMIT ? OFFSET ?",
                (*within.parameters, _ALL if limit is None else max(0, limit), max(0, offset)),
            )
        return [document_of(row) for row in rows]

    def passages(self, ids: Sequence[str]) -> list[Passage]:
        """The passages with these ids, in the same order; those that are not there are left out."""
        with self._reading() as session:
            found = {passage.id: passage for passage in self._passages(session, session.among("passage.id", ids))}
        return [found[id] for id in map(storable, ids) if id in found]

    def passages_of(self, document_id: str) -> list[Passage]:
        """A document's passages, in order."""
        with self._reading() as session:
            return self._passages(session, Condition("document.id = ?", (document_id,)))

    def search_text(self, query: str, k: int, where: Filter | None = None) -> list[Hit]:
        """The best passages by BM25 over title, headings and text, best first; ties by id.

        Args:
            query: Words; signs and operators in it mean nothing.
            k: At most how many.
            where: The passages of which documents count. How rare a word is, is told from all passages.
        """
        terms = query_terms(query)
        if not terms or k < 1:
            return []
        with self._reading() as session:
            inside = passages_within(session, where)
            return best_hits(session, k, TEXT_DIGITS, lambda limit: self._best_by_text(session, terms, inside, limit))

    def search_vector(
        self, vector: NDArray[np.float32], k: int, where: Filter | None = None, *, model: str
    ) -> list[Hit]:
        """The passages with the most similar vectors by cosine, best first; ties by id. It is exact, never approximate.

        Args:
            vector: What to compare with, shape (dimensions,), of any length.
            k: At most how many.
            where: The passages of which documents count.
            model: The embedding model that the vector comes from.

        Raises:
            StoreError: If the model's other vectors have another shape.
        """
        wanted = unit(vector, "the query")
        if k < 1:
            return []
        with self._reading() as session:
            check_dimensions(session, model, len(wanted))
            inside = passages_within(session, where)
            return best_hits(
                session,
                k,
                VECTOR_DIGITS,
                lambda limit: self._best_by_vector(session, model, wanted, inside, limit),
            )

    def without_vector(self, model: str, limit: int) -> list[Passage]:
        """Passages that have no vector of this model yet, those stored first before others.

        Args:
            model: The embedding model.
            limit: At most how many.
        """
        # A vector goes only with its passage, and no number is given twice: below a passage without a vector that was
        # the first once, none is ever missing. Without this, filling n passages would take n * n steps.
        begin = self._vectors_complete_below.get(model, 0)
        with self._reading() as session:
            missing = session.rows(
                "SELECT passage.key FROM passage WHERE passage.key >= ? AND NOT EXISTS (SELECT 1 FROM embedding WHERE "
                "embedding.passage = passage.key AND embedding.model = ?) ORDER BY passage.key LIMIT ?",
                (begin, model, max(0, limit)),
            )
            keys = [row[0] for row in missing]
            passages = self._passages(session, session.among("passage.key", keys))
        if keys:
            self._vectors_complete_below[model] = keys[0]
        return passages

    def put_vectors(self, model: str, vectors: Sequence[tuple[Passage, NDArray[np.float32]]]) -> None:
        """Store the vectors of passages; of those that are gone, or have another text by now, none.

        Args:
            model: The embedding model that they come from.
            vectors: Passages as they were embedded, and their vectors, shape (dimensions,), of any length.

        Raises:
            StoreError: If a vector has another shape than the model's others, or a number that is not finite.
        """
        if not vectors:
            return
        units = {
            storable(passage.id): (passage, unit(vector, f"passage {passage.id!r}")) for passage, vector in vectors
        }
        with self._writing() as session:
            store_vectors(session, model, units, self._encoded)

    def entities(self, text: str = "", *, limit: int = 20) -> list[Entity]:
        """Entities whose name holds the text (any case, with or without accents), the most mentioned first.

        Args:
            text: A part of a name; an empty one for all entities.
            limit: At most how many.
        """
        with self._reading() as session:
            return read_entities(session, text, limit)

    def facts(
        self, *, entity: str | None = None, passage_ids: Sequence[str] | None = None, text: str = "", limit: int = 100
    ) -> list[Fact]:
        """Facts of an entity, of passages, or whose words hold a text; the surest first, then by id.

        Args:
            entity: An entity's key, or that of an alias: it is the subject or the object.
            passage_ids: The passages that say it.
            text: A part of its words, in any case.
            limit: At most how many.

        Returns:
            Those that meet all that is given.
        """
        with self._reading() as session:
            return read_facts(session, entity=entity, passage_ids=passage_ids, text=text, limit=limit)

    def facets(self, name: str, where: Filter | None = None) -> dict[str, int]:
        """Value -> how many documents, the most frequent first, then by value; the facet ``"tags"`` counts tags.

        Args:
            name: The facet.
            where: The documents to count.
        """
        with self._reading() as session:
            within = documents_within(session, where)
            rows = session.rows(
                "SELECT label.value, count(*) FROM label JOIN document ON document.key = label.document "
                f"WHERE label.name = ? AND {within.sql} GROUP BY label.value ORDER BY count(*) DESC, label.value",
                (name if name == TAGS else facet_label(name), *within.parameters),
            )
        return {row[0]: row[1] for row in rows}

    def links(self) -> Links:
        """The graph of passages, entities and facts."""
        with self._reading() as session:
            return read_links(session)

    def revision(self) -> int:
        """A number that grows with every change of documents, by whichever process; vectors do not count."""
        with self._reading() as session:
            return counted(session, "revision")

    def stats(self) -> StoreStats:
        """How much it holds."""
        with self._reading() as session:
            return read_stats(session)

    def __enter__(self) -> Self:
        """Use it in a ``with`` statement."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    def _remove(self, session: Session, document_keys: Sequence[int]) -> None:
        if document_keys:
            self._unindex(session, document_keys)
            take_away(session, document_keys)

    def _passages(self, session: Session, named: Condition) -> list[Passage]:
        rows = session.rows(
            f"SELECT {PASSAGE_COLUMNS} FROM passage JOIN document ON document.key = passage.document "
            f"WHERE {named.sql} ORDER BY passage.document, passage.place",
            named.parameters,
        )
        return [passage_of(row) for row in rows]
