"""How alike a question and each facet are in meaning, by an embedding model."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.workflows.assistant.conference.facets import facet_of
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.searching.index import Floats, Ints, RecordIndex

NEAREST = 300
"""How many passages one search asks for; what is beyond them counts as the last of them."""
FEW = 400
"""So many records are searched on their own; more are searched with all others, which costs less than to part them."""
_SAMPLED_RECORDS = 200
_SAMPLED_QUESTIONS = 16
_REMEMBERED = 256
_ALL = 100_000


@dataclass(frozen=True, slots=True)
class Background:
    """What cosines are worth: they lie elsewhere with each model and each conference."""

    median: float
    """The median cosine between a title and the texts of other records."""
    spread: float
    """By how much the 90th percentile is above it."""


class DenseSearch:
    """Cosines on one scale: 0 is what a title has with any text, 1 what it has with one text in ten.

    Safe in threads. Takes no part until every passage has a vector, since records without one would seem to fit worse.
    """

    def __init__(self, store: KnowledgeStore, embedder: Embedder, index: RecordIndex) -> None:
        """Prepare; nothing is searched yet.

        Args:
            store: Where the vectors are.
            embedder: Makes the vectors of questions.
            index: The records of the store.
        """
        self._store = store
        self._embedder = embedder
        self._index = index
        self._lock = threading.Lock()
        self._background: Background | None = None
        self._cells: dict[str, int | None] = {}
        self.vector = lru_cache(maxsize=1024)(embedder.embed_query)
        """The vector of a question, float32 [dimensions]."""
        self.word_vector = lru_cache(maxsize=8192)(self._embedded)
        """The vector of a word, to compare with that of another, float32 [dimensions]."""
        self._nearest = lru_cache(maxsize=_REMEMBERED)(self._search)

    @property
    def ready(self) -> bool:
        """Whether every passage has a vector; once it was so, it stays so."""
        return self._background is not None or not self._store.without_vector(self._embedder.model, 1)

    @property
    def usual(self) -> float:
        """The cosine that a title has with one text of other records in ten."""
        background = self._measured()
        return background.median + background.spread

    def similarities(self, text: str, table: Table, among: Sequence[Record] | None = None) -> Floats:
        """How alike a question and each facet of a table are.

        Args:
            text: The question.
            table: The table.
            among: The records that matter, where they are few: those beyond the nearest are looked up as well.

        Returns:
            ``(cosine - median) / spread`` for each cell, float32 [cells]; see `Background`.
        """
        cells, scaled = self._in_table(text, table)
        farthest = scaled[-1] if len(scaled) else 0.0
        found = np.full(len(self._index.cell_record), farthest, np.float32)
        found[cells] = scaled
        if among and len(among) <= FEW:
            reached = set(self._index.cell_record[cells].tolist())
            beyond = tuple(record.id for record in among if self._index.place[record.id] not in reached)
            if beyond:
                more, values = self._nearest(text, (), beyond)
                found[more] = values
        return found

    def nearest_records(self, text: str, table: Table, count: int) -> list[int]:
        """The places of the records of a table that are nearest in meaning, the nearest first.

        Args:
            text: A question or a word.
            table: The table.
            count: At most how many.
        """
        cells, _ = self._in_table(text, table)
        places = dict.fromkeys(self._index.cell_record[cells].tolist())
        return [place for place in places if self._index.records[place].table == table][:count]

    def _embedded(self, word: str) -> Floats:
        return self._embedder.embed([word])[0]

    def _in_table(self, text: str, table: Table) -> tuple[Ints, Floats]:
        few = len(self._index.of_table[table]) <= FEW
        return self._nearest(text, (table.value,) if few else (), ())

    def _search(self, text: str, tags: tuple[str, ...], documents: tuple[str, ...]) -> tuple[Ints, Floats]:
        """Cells and their scaled cosine, the best first."""
        background = self._measured()
        cells, cosines = self._hits(text, NEAREST, Filter(tags=tags, documents=documents))
        return cells, (cosines - background.median) / background.spread

    def _hits(self, text: str, count: int, where: Filter) -> tuple[Ints, Floats]:
        hits = self._store.search_vector(self.vector(text), count, where, model=self._embedder.model)
        cells = self._cells_of([hit.passage_id for hit in hits])
        best: dict[int, float] = {}
        for cell, hit in zip(cells, hits, strict=True):
            if cell is not None:
                best.setdefault(cell, hit.score)
        return np.array(list(best), np.int32), np.array(list(best.values()), np.float32)

    def _cells_of(self, passage_ids: Sequence[str]) -> list[int | None]:
        known = self._cells
        missing = [passage_id for passage_id in passage_ids if passage_id not in known]
        if missing:
            read = {
                passage.id: self._index.cell_of(passage.document_id, passage.heading)
                for passage in self._store.passages(missing)
            }
            # Another dictionary rather than a lock: other threads may be reading the old one.
            self._cells = known = {**known, **dict.fromkeys(missing), **read}
        return [known[passage_id] for passage_id in passage_ids]

    def _measured(self) -> Background:
        with self._lock:
            if self._background is None:
                self._background = self._measure()
            return self._background

    def _measure(self) -> Background:
        """Ask a sample of the titles of a sample of the records, without what they have with their own.

        Only the texts of facets that are embedded with their title count, where there are such: prose, which questions
        are compared with most.
        """
        index = self._index
        records = [record for record in index.records if record.table in (Table.SESSIONS, Table.EXHIBITORS)]
        records = (records or list(index.records))[:: max(1, len(records) // _SAMPLED_RECORDS)]
        where = Filter(documents=tuple(record.id for record in records))
        cosines: list[float] = []
        prose: list[float] = []
        for record in records[:: max(1, len(records) // _SAMPLED_QUESTIONS)]:
            cells, found = self._hits(record.title, _ALL, where)
            for cell, cosine in zip(cells.tolist(), found.tolist(), strict=True):
                other = index.records[index.cell_record[cell]]
                if other.id != record.id:
                    cosines.append(cosine)
                    facet = facet_of(other.table, index.cell_facet[cell])
                    if facet is not None and facet.with_title:
                        prose.append(cosine)
        sample = np.array(prose or cosines or [0.0])
        median, high = np.quantile(sample, [0.5, 0.9])
        return Background(float(median), max(float(high - median), 1e-3))
