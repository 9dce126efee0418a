"""Searching the records of a conference: as a whole or facet by facet, within filters, on one scale."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.workflows.assistant.conference.catalogue import Catalogue, current
from loopwright.workflows.assistant.schemas import Found, PlannedQuery, Profile, Record, SearchOutcome
from loopwright.workflows.assistant.searching.acronyms import Acronyms
from loopwright.workflows.assistant.searching.asking import QuestionReader
from loopwright.workflows.assistant.searching.dense import DenseSearch
from loopwright.workflows.assistant.searching.index import RecordIndex
from loopwright.workflows.assistant.searching.scoring import Fit, Scorer, with_person
from loopwright.workflows.assistant.searching.shortening import ShortForms
from loopwright.workflows.assistant.searching.spelling import Spelling
from loopwright.workflows.assistant.searching.vocabulary import Vocabulary

NEAR_MISSES = 5
"""How many records below the threshold are shown."""
LEAST_SHOWN = 0.2
"""A facet that fits less is not among those that matched."""
_DIGITS = 4


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What is made from one revision of a store."""

    catalogue: Catalogue
    index: RecordIndex
    scorer: Scorer
    vocabulary: Vocabulary


class Search:
    """Searches one conference. All methods may be called from several threads.

    What is made from the records is kept until the store changes. With an embedder, likeness in meaning takes part as
    soon as all vectors are stored; without one, words alone decide, on the same scale.
    """

    def __init__(self, store: KnowledgeStore, embedder: Embedder | None = None) -> None:
        """Prepare; nothing is read yet.

        Args:
            store: Where the conference is.
            embedder: Makes the vectors of questions; None does without.
        """
        self._store = store
        self._embedder = embedder
        self._lock = threading.Lock()
        self._made: _Prepared | None = None

    @property
    def catalogue(self) -> Catalogue:
        """All records, as the store has them now.

        Raises:
            StoreError: If the store fails.
        """
        return current(self._store)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of all records, as the store has them now.

        Raises:
            StoreError: If the store fails.
        """
        return self._current().vocabulary

    def run(self, query: PlannedQuery, profile: Profile | None = None) -> SearchOutcome:
        """Carry out one planned search.

        The score of a record says how well it fits, from 0 to 1, on one scale for all tables and both search modes: see
        `Scorer.fit`. An empty text takes all that pass the filters, in order of time, with score 1; but in a faceted
        search, for a person that the table can be paired with, it takes what suits them.

        Args:
            query: What to look for.
            profile: Who asks: in a faceted search, what suits them counts for more; see `Scorer.suited`.

        Returns:
            What reaches the query's threshold, and the best of the rest; equal scores in order of time.

        Raises:
            StoreError: If the store fails.
        """
        made = self._current()
        passing = made.catalogue.filtered(query.table, query.filters)
        faceted = query.search_mode == "faceted"
        suited = made.scorer.suited(query.table, profile) if faceted and profile is not None else None
        if not query.query_text.strip():
            return _all_of(query, passing) if suited is None else _outcome(made.index, query, suited, passing)
        among = None if query.filters.empty else passing
        fit = made.scorer.fit(query.query_text, query.table, query.search_mode, among)
        return _outcome(made.index, query, fit if suited is None else with_person(fit, suited), passing)

    def _current(self) -> _Prepared:
        catalogue = self.catalogue
        with self._lock:
            # Another thread may have seen a later revision in between.
            if self._made is None or self._made.catalogue.revision < catalogue.revision:
                self._made = self._prepared(catalogue)
            return self._made

    def _prepared(self, catalogue: Catalogue) -> _Prepared:
        index = RecordIndex(catalogue.records.values())
        reader = QuestionReader(index, Spelling(index.surfaces), Acronyms.of(index.records), ShortForms(index))
        dense = DenseSearch(self._store, self._embedder, index) if self._embedder is not None else None
        scorer = Scorer(index, reader, dense)
        return _Prepared(catalogue, index, scorer, Vocabulary(index, reader, dense))


def _all_of(query: PlannedQuery, passing: Sequence[Record]) -> SearchOutcome:
    hits = tuple(Found(record=record, score=1.0) for record in passing[: query.limit])
    return SearchOutcome(query=query, hits=hits, total=len(passing))


def _outcome(index: RecordIndex, query: PlannedQuery, fit: Fit, passing: Sequence[Record]) -> SearchOutcome:
    places = index.of_table[query.table]
    if len(passing) < len(places):
        places = np.array([index.place[record.id] for record in passing], np.int32)
    scores = np.round(np.clip(fit.records[places].astype(np.float64), 0.0, 1.0), _DIGITS)
    order = np.argsort(-scores, kind="stable")
    total = int((scores >= query.score_threshold).sum())
    best = order[: min(total, query.limit)]
    near = [place for place in order[total : total + NEAR_MISSES] if scores[place] > 0]
    return SearchOutcome(
        query=query,
        hits=tuple(_found(index, fit, int(places[n]), float(scores[n])) for n in best),
        near_misses=tuple(_found(index, fit, int(places[n]), float(scores[n])) for n in near),
        total=total,
    )


def _found(index: RecordIndex, fit: Fit, place: int, score: float) -> Found:
    cells = range(index.first_cell[place], index.first_cell[place + 1])
    facets = sorted(((float(fit.cells[cell]), index.cell_facet[cell]) for cell in cells), key=lambda each: -each[0])
    held = () if fit.held is None else fit.held[:, place]
    return Found(
        record=index.records[place],
        score=score,
        matched={facet: round(min(likeness, 1.0), _DIGITS) for likeness, facet in facets if likeness >= LEAST_SHOWN},
        terms=tuple(word for word, how in zip(fit.words, held, strict=True) if how > 0),
    )
