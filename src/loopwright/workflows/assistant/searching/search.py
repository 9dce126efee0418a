"""Searching the records of a conference: ranked by words and meaning, within filters and exclusions, on one scale."""

import math
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from loopwright.retrieval.english import share
from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.retrieval.text import fold, terms
from loopwright.retrieval.vectors import Embedder
from loopwright.workflows.assistant.constants import MAX_LIMIT
from loopwright.workflows.assistant.schemas import Found, PlannedQuery, Record, SearchOutcome, Table
from loopwright.workflows.assistant.searching.index import COMMON, Floats, TableIndex, Term
from loopwright.workflows.assistant.searching.lexicon import same_as
from loopwright.workflows.assistant.searching.vocabulary import Vocabulary
from loopwright.workflows.assistant.sources.catalogue import Catalogue, current, span_of


def merge(results: Mapping[str, Sequence[Found]], outcomes: Iterable[SearchOutcome]) -> dict[str, list[Found]]:
    """Add the hits of another plan to what was found before, by table: no record twice, each with its best score.

    The best stands first, equal scores in the order in which they came. `results` stays as it is.
    """
    best = {table: {each.record.id: each for each in found} for table, found in results.items()}
    for outcome in outcomes:
        found = best.setdefault(outcome.query.table.value, {})
        for hit in outcome.hits:
            if hit.record.id not in found or hit.score > found[hit.record.id].score:
                found[hit.record.id] = hit
    return {table: sorted(found.values(), key=lambda each: -each.score) for table, found in best.items()}


NEAR_MISSES = 10
"""How many records below the threshold are shown."""
TOLD = 3
"""So many words of plain English describe something, so that likeness in meaning alone is evidence."""
_WORDS = 6.0
"""What words that cover the whole question add to the likeness in meaning; from 6 to 10 there is little difference."""
_SEEN = 40
"""The best so many are chosen from for what each adds."""
_DIGITS = 4
_SAYS = 2.0
_COUNTED = ("day", "room", "track", "speaker", "type", "language")
_ALL = 100_000
_LARGE = 3.74
"""How far above the mean the best of a thousand records is by chance, in standard deviations."""
_STANDS_OUT, _SPREAD, _MOST = 1.0, 5.6, 0.8
"""Evidence begins so far above the mean, and is at its most so much farther; on labelled questions the best record was
2.9 to 4 above where there was no answer, and 4 to 8 where the words of the answer were there too."""
_COUNTS = {"track": 0.6, "topics": 0.6, "role": 0.6, "subtitle": 0.8, "biography": 0.8, "seeking": 0.8}
"""What likeness to some passages counts: the name of a track says less than a text, and all of it less than a title."""


class DenseSearch:
    """Cosines as evidence: how far a record stands out from all others for the same question.

    The cosines themselves lie elsewhere with each model and each question. Takes no part until every passage has a
    vector, since records without one would seem to fit worse. Safe in threads.
    """

    def __init__(self, store: KnowledgeStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder
        self._ready = False
        self._headings: dict[str, str] = {}
        self.likeness = lru_cache(maxsize=256)(self._measured)
        """How far each record's best passage stands out from all others, float32 [records], in standard deviations."""

    @property
    def ready(self) -> bool:
        """Whether every passage has a vector; once it was so, it stays so."""
        self._ready = self._ready or not self._store.without_vector(self._embedder.model, 1)
        return self._ready

    def _measured(self, text: str, table: Table, index: TableIndex) -> Floats:
        where = Filter(tags=(table.value,))
        hits = self._store.search_vector(self._embedder.embed_query(text), _ALL, where, model=self._embedder.model)
        if len(hits) < 3:
            return np.zeros(len(index.records), np.float32)
        above = np.array([hit.score for hit in hits], np.float32)
        above -= above.mean()
        above = np.where(above > 0, above * self._weights([hit.passage_id for hit in hits]), above)
        found = np.full(len(index.records), np.nan, np.float32)
        # Records that came after the index was made have no place in it.
        places = [index.place.get(hit.passage_id.rpartition("::")[0], -1) for hit in hits]
        for place, value in zip(places, above.tolist(), strict=True):
            if place >= 0:
                found[place] = np.fmax(found[place], value)
        found = np.where(np.isnan(found), np.nanmean(found) if np.isfinite(found).any() else 0, found)
        # Of few records the best stands out less by chance than of many.
        scale = _LARGE / math.sqrt(2 * math.log(max(2, len(found)))) / max(float(found.std()), 1e-6)
        return np.asarray((found - found.mean()) * scale, np.float32)

    def _weights(self, passages: Sequence[str]) -> Floats:
        """What each passage counts, by what it is of its record."""
        known = self._headings
        if missing := [each for each in passages if each not in known]:
            read = {each.id: each.heading for each in self._store.passages(missing)}
            # Another dictionary rather than a lock: other threads may be reading the old one.
            self._headings = known = {**known, **dict.fromkeys(missing, ""), **read}
        return np.array([_COUNTS.get(known[each], 1.0) for each in passages], np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    """What is made from one revision of a store."""

    catalogue: Catalogue
    tables: dict[Table, TableIndex]
    vocabulary: Vocabulary
    dense: DenseSearch | None


class Search:
    """Searches one conference; safe in threads. Its methods raise `StoreError` if the store fails.

    What is made from the records is kept until the store changes. With an embedder, likeness in meaning takes part as
    soon as all vectors are stored; without one, words alone decide, on the same scale.
    """

    def __init__(self, store: KnowledgeStore, embedder: Embedder | None = None) -> None:
        self._store = store
        self._embedder = embedder
        self._prepared = lru_cache(maxsize=1)(self._prepare)
        self._lock = threading.Lock()
        self._related = lru_cache(maxsize=256)(self._about)

    @property
    def catalogue(self) -> Catalogue:
        """All records, as the store has them now."""
        return current(self._store)

    @property
    def vocabulary(self) -> Vocabulary:
        """The words of all records, as the store has them now."""
        return self._current().vocabulary

    @property
    def by_meaning(self) -> bool:
        """Whether likeness in meaning takes part: there is an embedding model, and every passage has a vector."""
        dense = self._current().dense
        return dense is not None and dense.ready

    def index(self, table: Table = Table.SESSIONS) -> TableIndex:
        """The words of a table, as the store has them now."""
        return self._current().tables[table]

    def run(self, query: PlannedQuery) -> SearchOutcome:
        """Carry out one planned search.

        Records are ranked, and never left out because they lack a word; what filters and exclusions say holds for every
        one of them, near misses too. The score says how much of what is asked a record holds, from 0 to 1, on one scale
        for all tables. An empty text takes all that pass, in order of time, with score 1. What reaches the query's
        threshold is told, and the best of the rest; equal scores in order of time.
        """
        made = self._current()
        index = made.tables[query.table]
        # What is cancelled is found by its name, and is in no list and no count.
        named = bool(query.query_text) and query.limit < MAX_LIMIT
        asked = made.catalogue.filtered(query.table, query.filters)
        passing = np.array([index.place[each.id] for each in asked if named or not each.values("status")], int)
        for topic in query.filters.without:
            passing = passing[~self._related(made, query.table, topic, frozenset(terms(query.query_text)))[passing]]
        words = index.read(query.query_text)
        scores = self._scores(made, query, words) if words else np.ones(len(index.records), np.float32)
        return _outcome(index, query, words, scores, passing)

    def _current(self) -> _Prepared:
        with self._lock:  # what is slow to make is made once, however many ask at the same time
            return self._prepared(self.catalogue)

    def _prepare(self, catalogue: Catalogue) -> _Prepared:
        dense = DenseSearch(self._store, self._embedder) if self._embedder is not None else None
        tables = {table: TableIndex(catalogue.of_table(table)) for table in Table}
        return _Prepared(catalogue, tables, Vocabulary(catalogue.records.values()), dense)

    def _scores(self, made: _Prepared, query: PlannedQuery, words: Sequence[Term]) -> Floats:
        """Evidence of the words, or of likeness in meaning where enough is told: either may be enough."""
        index = made.tables[query.table]
        scores = np.minimum(index.evidence(words), 1)
        if made.dense is not None and made.dense.ready and len(index.records):
            likeness = made.dense.likeness(query.query_text, query.table, index)
            near = np.asarray(_MOST * np.clip((likeness - _STANDS_OUT) / _SPREAD, 0, 1), np.float32)
            near *= np.float32(_told(words))
            if query.by_meaning:
                return near
            # Words that no record holds well together prove less than meaning does.
            scores = 1 - (1 - scores * scores.max(initial=0.0)) * (1 - near)
            # How sure the search is of its best is one thing, which they are another: of a question in other words than
            # the programme's, single words that say much tell the former, but lead astray in the latter.
            if len(words) >= TOLD:
                order = np.argsort(likeness + _WORDS * index.coverage(words) ** 2, kind="stable")
                scores[order] = np.sort(scores)
        return np.asarray(scores, np.float32)

    def _about(self, made: _Prepared, table: Table, topic: str, asked: frozenset[str] | None) -> np.ndarray:
        """Which records mention a topic, or another name of it that is not asked for, or stand in a part about it."""
        index = made.tables[table]
        wanted = terms(topic)
        found = np.ones(len(index.records), bool)
        for term in wanted:
            has = np.zeros(len(index.records), bool)
            # A common word, as "go", is a subject only where it names one.
            has[[n for n in index.held(term)[0] if share(term) < COMMON or term in index.titled[n]]] = True
            found &= has
        if not wanted or table is not Table.SESSIONS:
            return found if wanted else ~found
        for begun in (term for term in index.total if len(wanted) == 1 and _is_of(term, wanted[0])):
            found[index.held(begun)[0]] = True
        others = [each for each, kind in made.vocabulary.others(topic).items() if kind == "short form"]
        for other in (*others, *same_as(fold(topic))):
            if asked is not None and asked.isdisjoint(terms(other)):
                found |= self._about(made, table, other, None)
        # All of the part of the programme that is about it, whatever words a record uses.
        found |= np.array([set(wanted) <= set(terms(" ".join(each.values("track")))) for each in index.records], bool)
        return found


def _is_of(term: str, wanted: str) -> bool:
    """Whether a term is one of another with something put to it, as "cephfs" of "ceph"."""
    longer = len(term) > len(wanted) > 3 and term.startswith(wanted)
    return longer and share(term) == 0 and share(wanted) < COMMON / 100


def _told(words: Sequence[Term]) -> float:
    """How far likeness in meaning counts: little for a name, more the more is told in words that the programme has."""
    heavy = max((each.weight for each in words), default=0.0)
    strange = [each for each in words if each.weight == heavy and not each.known]
    named = any(each.word[0].isupper() for each in strange)
    return 0.4 if named or (strange and len(words) < TOLD) else 1.0


def _outcome(
    index: TableIndex, query: PlannedQuery, words: Sequence[Term], scores: Floats, passing: np.ndarray
) -> SearchOutcome:
    rounded = np.round(np.clip(scores[passing].astype(np.float64), 0.0, 1.0), _DIGITS)
    near = query.near
    away = np.array([0 if near is None else abs(span_of(index.records[n])[0] - near) for n in passing.tolist()])
    order = np.lexsort((away, -rounded))
    ranked = [(int(passing[place]), float(rounded[place])) for place in order.tolist()]
    fits = ranked[: int((rounded >= query.score_threshold).sum())]
    near = ranked[len(fits) :][:NEAR_MISSES]
    records = [index.records[place] for place, _ in fits]
    chosen = [fits[n] for n in _picked(records, query)]
    counted = _COUNTED if query.limit > _SEEN else ()
    # A word that nobody uses here may be a subject, unless it is the shorthand of messages, as "abt".
    unknown = [each.word for each in words if not each.known and each.weight > _SAYS]
    counts = {name: Counter(value for each in records for value in each.values(name)) for name in counted}
    return SearchOutcome(
        query=query,
        hits=tuple(_found(index, words, place, score) for place, score in chosen[: query.limit]),
        near_misses=tuple(_found(index, words, place, score) for place, score in near if score > 0),
        total=len(records),
        strangers=tuple(word for word in unknown if len(word) > 3 or not word.islower()),
        counts={name: dict(found.most_common()) for name, found in counts.items()},
    )


def _picked(records: Sequence[Record], query: PlannedQuery) -> list[int]:
    """Which of some records are asked for: all, or those at one end."""
    pick = query.pick
    if not pick:
        return list(range(len(records)))
    if pick in ("longest", "shortest"):
        lengths = ((n, each.end - each.start) for n, each in enumerate(records) if each.start and each.end)
        known = {n: length.total_seconds() for n, length in lengths}
    else:
        # Of what is over, the last is what ended last.
        over = any(each.slot == "end" and each.least is None for each in query.filters.include)
        times = ((each.end or each.start) if over else each.start for each in records)
        known = {n: moment.timestamp() for n, moment in enumerate(times) if moment}
    edge = (max if pick in ("last", "longest") else min)(known.values(), default=None)
    return [n for n, measured in known.items() if measured == edge]


def _found(index: TableIndex, words: Sequence[Term], place: int, score: float) -> Found:
    record = index.records[place]
    held = [each for each in words if place in index.held_any(each)[0]]
    return Found(record=record, score=float(score), terms=tuple(each.word for each in held))
