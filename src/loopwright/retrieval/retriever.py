"""Finding the passages that answer a query together: lexical, dense and graph search over one store."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.derived import Candidate, Derived
from loopwright.retrieval.evidence import choose_evidence
from loopwright.retrieval.fusion import ranks, reciprocal_rank_fusion
from loopwright.retrieval.names import named_in
from loopwright.retrieval.protocols import Embedder, Reranker
from loopwright.retrieval.records import Fact, Filter, Hit, Passage
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.retrieval.text import query_terms

__all__ = ["Embedder", "Reranker", "RetrievalSettings", "Retrieved", "Retriever"]

Floats = NDArray[np.float32]

FACTS_OF_A_PASSAGE = 100
"""How many facts of a passage are given back, on average over the passages of one search."""

_LOGIT_RANGE = 4.0  # A text that is this much worse than the best one is as good as irrelevant.


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalSettings:
    """What can be set; the defaults are those that were measured."""

    candidates: int = 100
    """How many passages each search brings in."""
    damping: float = 0.5
    """How far the walk over the graph strays from its seeds, from 0 up to 1."""
    dense_weight: float = 8.0
    """What the most similar passage gains over the least similar one found, in the unit of BM25 weights."""
    rerank: int = 10
    """How many candidates the reranker reads; 0 for none."""
    rerank_weight: float = 2.0
    """What the passage that the reranker likes best gains over an irrelevant one, in the unit of BM25 weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrieved:
    """A passage that was found."""

    passage: Passage
    """The passage."""
    score: float
    """What it adds to the passages before it, higher is better; comparable within one search only."""
    ranks: Mapping[str, int]
    """Signal ("lexical", "dense", "graph", "reranker") -> its rank there, from 1; missing where it was not found."""
    facts: tuple[Fact, ...] = ()
    """The facts that it states."""


class Retriever:
    """Searches one store. Every method may be called from several threads.

    What is derived from the store is kept until the store's revision changes.
    """

    def __init__(
        self,
        store: KnowledgeStore,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        settings: RetrievalSettings | None = None,
    ) -> None:
        """Prepare; nothing is read yet.

        Args:
            store: Where the passages are.
            embedder: For dense search; None does without.
            reranker: To read the best candidates; None does without.
            settings: What can be set; None for the defaults.
        """
        self._store = store
        self._embedder = embedder
        self._reranker = reranker
        self._settings = settings or RetrievalSettings()
        self._derived: Derived | None = None
        self._lock = threading.Lock()

    def retrieve(self, query: str, k: int = 5, *, where: Filter | None = None) -> list[Retrieved]:
        """Find the passages that answer a query together.

        The searches bring in candidates, fused by reciprocal rank; `choose_evidence` then takes one after the other.

        Args:
            query: The question, in any language.
            k: At most how many passages.
            where: Which documents count; None for all.

        Returns:
            The passages, best first; empty if nothing fits.

        Raises:
            StoreError: If the store fails.
        """
        derived = self._current()
        orders, similar = self._search(query, where)
        orders["graph"] = self._walk(derived, query, orders, where)
        pool = derived.candidates(list(reciprocal_rank_fusion(orders)))
        if not pool or k < 1:
            return []
        coverage = derived.lexicon.coverage(query_terms(query), [candidate.counts for candidate in pool])
        prior = _similarity([candidate.passage.id for candidate in pool], similar) * self._settings.dense_weight
        links_of = derived.graph.neighbourhood([derived.graph.position[each.passage.id] for each in pool]).links_of
        if self._reranker is not None and self._settings.rerank > 0:
            best = [place for place, _ in choose_evidence(coverage, prior, links_of, self._settings.rerank)]
            relevance, order = _relevance(self._reranker, query, pool, best)
            prior = prior + relevance * self._settings.rerank_weight
            orders["reranker"] = order
        chosen = choose_evidence(coverage, prior, links_of, k)
        return self._results([(pool[place].passage, gain) for place, gain in chosen], orders)

    def _current(self) -> Derived:
        revision = self._store.revision()
        with self._lock:
            # Another thread may have seen a later revision in between.
            if self._derived is None or self._derived.revision < revision:
                self._derived = Derived(self._store, revision)
            return self._derived

    def _search(self, query: str, where: Filter | None) -> tuple[dict[str, list[str]], list[Hit]]:
        count = self._settings.candidates
        orders = {"lexical": [hit.passage_id for hit in self._store.search_text(query, count, where)]}
        similar: list[Hit] = []
        if self._embedder is not None:
            vector = self._embedder.embed_query(query)
            similar = self._store.search_vector(vector, count, where, model=self._embedder.model)
            orders["dense"] = [hit.passage_id for hit in similar]
        return orders, similar

    def _walk(
        self, derived: Derived, query: str, orders: Mapping[str, Sequence[str]], where: Filter | None
    ) -> list[str]:
        """Passage ids by personalised PageRank: half from the entities that the query names, half from what was found.

        The walk crosses passages that the filter keeps out, but never ends there.
        """
        graph = derived.graph
        named = [graph.entity_position[mention.entity] for mention in named_in(query, graph.names)]
        entities = {position: float(graph.weight[position]) for position in named}
        found = reciprocal_rank_fusion(orders)
        share = (sum(entities.values()) or 1.0) / (sum(found.values()) or 1.0)
        passages = {graph.position[key]: score * share for key, score in found.items() if key in graph.position}
        visits = graph.personalised_pagerank(passages, entities, damping=self._settings.damping)
        order = (graph.passages[n] for n in np.argsort(-visits, kind="stable") if visits[n] > 0)
        if where is not None:
            allowed = derived.allowed(where)
            order = (passage_id for passage_id in order if passage_id.rsplit("::", 1)[0] in allowed)
        return list(islice(order, self._settings.candidates))

    def _results(self, chosen: Sequence[tuple[Passage, float]], orders: Mapping[str, Sequence[str]]) -> list[Retrieved]:
        by_signal = {name: ranks(order) for name, order in orders.items()}
        facts: dict[str, list[Fact]] = {passage.id: [] for passage, _ in chosen}
        for fact in self._store.facts(passage_ids=list(facts), limit=FACTS_OF_A_PASSAGE * len(facts)):
            facts[fact.passage_id].append(fact)
        results: list[Retrieved] = []
        score = float("inf")
        for passage, gain in chosen:
            # With its link, a second step may add more than the first did; what counts is the order of choice.
            score = min(score, gain)
            found_at = {name: order[passage.id] for name, order in by_signal.items() if passage.id in order}
            results.append(Retrieved(passage=passage, score=score, ranks=found_at, facts=tuple(facts[passage.id])))
        return results


def _similarity(ids: Sequence[str], similar: Sequence[Hit]) -> Floats:
    """How similar each passage is, from 0 (the least similar one found, or not found) to 1 (the most similar)."""
    if not similar:
        return np.zeros(len(ids), np.float32)
    least = similar[-1].score
    spread = similar[0].score - least or 1.0
    scaled = {hit.passage_id: (hit.score - least) / spread for hit in similar}
    return np.array([scaled.get(passage_id, 0.0) for passage_id in ids], np.float32)


def _relevance(
    reranker: Reranker, query: str, pool: Sequence[Candidate], places: Sequence[int]
) -> tuple[Floats, list[str]]:
    """How relevant each candidate is, from 0 (irrelevant or unread) to 1 (the best), and the ids read, best first."""
    passages = [pool[place].passage for place in places]
    texts = ["\n".join(filter(None, (passage.title, passage.heading, passage.text))) for passage in passages]
    # A text that the model cannot score is the worst; infinite numbers have no differences.
    lowest = float(np.finfo(np.float32).min)
    scores = np.asarray(reranker.score(query, texts), np.float64)
    logits = np.nan_to_num(scores, nan=lowest, posinf=-lowest, neginf=lowest)
    relevance = np.zeros(len(pool), np.float32)
    relevance[list(places)] = np.clip(1 + (logits - logits.max()) / _LOGIT_RANGE, 0, 1)
    return relevance, [passages[n].id for n in np.argsort(-logits, kind="stable")]
