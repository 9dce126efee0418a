"""Finding the passages that answer a query together: lexical, dense and graph search over one store."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import accumulate, islice

import numpy as np

from loopwright.retrieval.lexicon import Floats, Lexicon, TermCounts
from loopwright.retrieval.links import PassageLinks
from loopwright.retrieval.names import known_in
from loopwright.retrieval.records import Evidence, Filter, Hit
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.retrieval.text import query_terms
from loopwright.retrieval.vectors import Embedder

logger = logging.getLogger(__name__)

SAMPLE = 2000
"""From about how many passages, evenly spread, the weights of terms are taken."""
KEPT_FILTERS = 8
"""For how many filters the documents that they let through are remembered."""

_counted = lru_cache(maxsize=4096)(TermCounts)  # about 6 kB each; to count takes thirty times as long as to read


class Derived:
    """The links, the weights of terms, and what filters let through, of one revision of a store; safe in threads."""

    def __init__(self, store: KnowledgeStore, revision: int) -> None:
        """Read the links and a sample of the passages."""
        self.revision = revision
        """The store's revision before anything was read."""
        self.links = PassageLinks(store.links())
        """What links its passages."""
        self._store = store
        self._allowed: dict[str, frozenset[str]] = {}
        ids = self.links.passages
        sample = store.passages(ids[:: max(1, -(-len(ids) // SAMPLE))])
        self.lexicon = Lexicon([TermCounts(passage) for passage in sample])
        """How common each term is."""

    def allowed(self, where: Filter) -> frozenset[str]:
        """The ids of the documents that a filter lets through."""
        key = repr(where)
        if (allowed := self._allowed.get(key)) is None:
            allowed = frozenset(document.id for document in self._store.documents(where))
            kept = self._allowed if len(self._allowed) < KEPT_FILTERS else {}
            self._allowed = {**kept, key: allowed}  # a new one: other threads read the old
        return allowed


CANDIDATES = 100
"""How many passages each search brings in."""
DENSE_WEIGHT = 8.0
"""What the most similar passage gains over the least similar one found, in the unit of BM25 weights."""
COVERED_SHARE = 0.1
"""What a query term still counts once a chosen passage covers it."""
CHOSEN = 12
"""So many passages are chosen for what they add to each other; of more, the rest for how well each fits by itself."""


def choose_evidence(
    coverage: Floats, prior: Floats, links_of: Callable[[int], Floats], k: int
) -> list[tuple[int, float]]:
    """Choose passages one after the other, each for what it adds to those before.

    What a passage adds is the sum of

    - its BM25 weight on the query's terms, each only as far as no chosen passage covers it better (and for
      `COVERED_SHARE` in full: repeating the same still confirms);
    - its strongest link with a chosen passage: the second step of a question shares an entity with the first;
    - its prior, which depends on the query alone.

    Without links and prior this is greedy maximisation of a submodular coverage function; see H. Lin and J. Bilmes,
    "A class of submodular functions for document summarization", ACL 2011.

    Coverage, float32 [terms, passages], is the BM25 weight of each term in each passage; the prior and the links of a
    passage with all others, float32 [passages], are in the same unit.

    Returns:
        The places of the chosen passages and what each added, in the order of choice.
    """
    own = coverage.sum(axis=0)
    covered = np.zeros((coverage.shape[0], 1), np.float32)
    linked = np.zeros(coverage.shape[1], np.float32)
    free = np.ones(coverage.shape[1], bool)
    chosen: list[tuple[int, float]] = []
    for _ in range(min(k, coverage.shape[1])):
        added = np.maximum(coverage - covered, 0).sum(axis=0)
        gain = COVERED_SHARE * own + (1 - COVERED_SHARE) * added + linked + prior
        best = int(np.argmax(np.where(free, gain, -np.inf)))
        chosen.append((best, float(gain[best])))
        free[best] = False
        covered = np.maximum(covered, coverage[:, best : best + 1])
        linked = np.maximum(linked, links_of(best))
    return chosen


SMOOTHING = 60.0
"""The constant of the formula, as its authors chose it: how little the very first ranks stand out."""


def reciprocal_rank_fusion(orders: Iterable[Sequence[str]]) -> dict[str, float]:
    """Fuse orders of the same ids, in each the best first and none twice, into one.

    ``score(d) = sum over orders of 1 / (SMOOTHING + rank of d)``, ranks from 1; an order without d adds nothing.
    Source: G. Cormack, C. Clarke, S. Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank
    learning methods", SIGIR 2009.

    Returns:
        Id -> score, the highest first; equal scores by id.
    """
    scores: dict[str, float] = {}
    for order in orders:
        for rank, item in enumerate(order, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (SMOOTHING + rank)
    return dict(sorted(scores.items(), key=lambda entry: (-entry[1], entry[0])))


class Retriever:
    """Searches one store. Every method may be called from several threads, and raises `StoreError` if the store fails.

    What is derived from the store is kept until the store's revision changes.
    """

    def __init__(self, store: KnowledgeStore, *, embedder: Embedder | None = None) -> None:
        """Prepare; nothing is read yet. Without an embedder there is no dense search."""
        self._store = store
        self._embedder = embedder
        self._told = False
        self._derived: Derived | None = None
        self._lock = threading.Lock()

    def retrieve(self, query: str, k: int = 5, *, where: Filter | None = None) -> list[Evidence]:
        """Find the passages that answer a query together.

        The searches bring in candidates, fused by reciprocal rank, of all documents or of those that the filter lets
        through; `choose_evidence` then takes one after the other, at most ``k``, and what fits best by itself follows.

        Returns:
            The passages, best first, each scored by what it adds to those before it; empty if nothing fits.
        """
        derived = self._current()
        orders, similar = self._search(query, where)
        orders.append(self._linked(derived, query, orders, where))
        # Without what is not among the links yet, or is gone.
        known = [passage_id for passage_id in reciprocal_rank_fusion(orders) if passage_id in derived.links.position]
        pool = [*map(_counted, self._store.passages(known))]
        if not pool or k < 1:
            return []
        coverage = derived.lexicon.coverage(query_terms(query), pool)
        prior = _similarity([candidate.passage.id for candidate in pool], similar) * DENSE_WEIGHT
        links_of = derived.links.links_among([derived.links.position[each.passage.id] for each in pool])
        chosen = choose_evidence(coverage, prior, links_of, min(k, CHOSEN))
        # What says the same as another, with whom it has no link, may be the one that is meant.
        others = (place for place in range(len(pool)) if all(place != of for of, _ in chosen))
        chosen += [(place, 0.0) for place in islice(others, k - len(chosen))]
        # With its link, a second step may add more than the first did; what counts is the order of choice.
        scores = accumulate((gain for _, gain in chosen), min)
        return [
            Evidence(**asdict(pool[place].passage), score=score)
            for (place, _), score in zip(chosen, scores, strict=True)
        ]

    @property
    def lexicon(self) -> Lexicon:
        """How common each term is in the store, as the last search saw it: what grades and reads weighs the same."""
        return (self._derived or self._current()).lexicon

    def _current(self) -> Derived:
        revision = self._store.revision()
        with self._lock:
            # Another thread may have seen a later revision in between.
            if self._derived is None or self._derived.revision < revision:
                self._derived = Derived(self._store, revision)
            return self._derived

    def _search(self, query: str, where: Filter | None) -> tuple[list[list[str]], list[Hit]]:
        orders = [[hit.passage_id for hit in self._store.search_text(query, CANDIDATES, where)]]
        similar: list[Hit] = []
        if self._embedder is not None:
            vector, model = self._embedder.embed_query(query), self._embedder.model
            similar = self._store.search_vector(vector, CANDIDATES, where, model=model)
            orders.append([hit.passage_id for hit in similar])
            if not (similar or self._told or self._store.has_vectors(model)):
                self._told = True
                logger.warning("no passage has a vector of %s, only words find them: ingest again", model)
        return orders, similar

    def _linked(self, derived: Derived, query: str, orders: Sequence[Sequence[str]], where: Filter | None) -> list[str]:
        """The ids of the passages that are linked best with what was found, and with what the query names."""
        links = derived.links
        entities = known_in(query, links.names) & links.entity_position.keys()
        named = sorted(links.entity_position[entity] for entity in entities)
        found = reciprocal_rank_fusion(orders)
        places = {links.position[key]: score for key, score in found.items() if key in links.position}
        reached = links.reached(places, named)
        order = (links.passages[n] for n in np.argsort(-reached, kind="stable") if reached[n] > 0)
        if where is not None:
            allowed = derived.allowed(where)
            order = (passage_id for passage_id in order if passage_id.rsplit("::", 1)[0] in allowed)
        return list(islice(order, CANDIDATES))


def _similarity(ids: Sequence[str], similar: Sequence[Hit]) -> Floats:
    """How similar each passage is, from 0 (the least similar one found, or not found) to 1 (the most similar)."""
    if not similar:
        return np.zeros(len(ids), np.float32)
    least = similar[-1].score
    spread = similar[0].score - least or 1.0
    scaled = {hit.passage_id: (hit.score - least) / spread for hit in similar}
    return np.array([scaled.get(passage_id, 0.0) for passage_id in ids], np.float32)
