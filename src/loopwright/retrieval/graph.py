"""The graph of passages, entities and facts: random walks over it, and what links two passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.names import NameIndex
from loopwright.retrieval.records import Links

Floats = NDArray[np.float32]


TITLE_WEIGHT = 1.5
"""How much more a link counts whose entity is what one of the two passages is about: about the share by which BM25
prefers a term in the title."""


class KnowledgeGraph:
    """Passages and the entities that they name, as sparse matrices; never changed once built, safe in threads.

    A passage belongs to the entities that it mentions and to the one that its title names. An entity weighs
    ``ln(N / (1 + n))``, N all passages and n those that it belongs to: what every passage names links nothing.
    A passage's edge to the entity of its title, if it also mentions it, counts twice.
    """

    def __init__(self, links: Links) -> None:
        """Build the matrices.

        Args:
            links: The edges, as a store gives them.
        """
        # Imported here: SciPy is slow to import, and whoever only reads records does not need it.
        from scipy import sparse

        self.passages: tuple[str, ...] = links.passages
        self.position: dict[str, int] = {passage: n for n, passage in enumerate(links.passages)}
        self.entity_position: dict[str, int] = {entity: n for n, entity in enumerate(links.entities)}
        for title in filter(None, links.titles):
            self.entity_position.setdefault(title, len(self.entity_position))
        count, entities = len(self.passages), len(self.entity_position)
        self._title_of: NDArray[np.int64] = np.array(
            [self.entity_position.get(title, -1) for title in links.titles], dtype=np.int64
        )
        self.names = NameIndex(self.entity_position)

        mentions = np.array(links.mentions, dtype=np.int64).reshape(-1, 3)
        titled = np.flatnonzero(self._title_of >= 0)
        rows = np.concatenate([mentions[:, 0], titled])
        columns = np.concatenate([mentions[:, 1], self._title_of[titled]])
        member: Any = sparse.csr_matrix((np.ones(len(rows), np.float32), (rows, columns)), shape=(count, entities))
        member.sum_duplicates()
        self._starts: NDArray[np.int64] = np.asarray(member.indptr, dtype=np.int64)
        self._entities_of: NDArray[np.int64] = np.asarray(member.indices, dtype=np.int64)
        spread = np.bincount(self._entities_of, minlength=entities)
        self.weight: Floats = np.maximum(np.log(max(count, 1) / (1.0 + spread)), 0.0).astype(np.float32)
        self._walk: Any = _transition(sparse, member.multiply(self.weight[None, :]).tocsr(), links)

    def personalised_pagerank(
        self,
        passages: Mapping[int, float],
        entities: Mapping[int, float],
        *,
        damping: float = 0.5,
        tolerance: float = 1e-3,
    ) -> Floats:
        """How often a walker is at each passage who keeps starting again from the seeds.

        ``x = (1 - damping) * seeds + damping * W x``, W the column-normalised weights of the edges passage-entity,
        and subject-object of facts. Source: T. Haveliwala, "Topic-sensitive PageRank", WWW 2002; the damping of 0.5
        from B. Gutiérrez et al., "From RAG to Memory" (HippoRAG 2), 2025.

        Args:
            passages: Position of a passage -> its weight as a seed.
            entities: Position of an entity -> its weight as a seed.
            damping: How likely the walker goes on instead of starting again, from 0 up to 1.
            tolerance: The share of the walk that may still be missing at the end.

        Returns:
            float32 [passages], in their order; all 0 without seeds.
        """
        count = len(self.passages)
        seeds = np.zeros(count + len(self.entity_position), np.float32)
        seeds[list(passages)] = list(passages.values())
        seeds[[count + entity for entity in entities]] = list(entities.values())
        total = float(seeds.sum())
        if total <= 0:
            return seeds[:count]
        seeds *= (1.0 - damping) / total
        state = seeds.copy()
        missing = damping
        while missing > tolerance:
            state = np.asarray(seeds + damping * (self._walk @ state), np.float32)
            missing *= damping
        return state[:count]

    def neighbourhood(self, passages: Sequence[int]) -> Neighbourhood:
        """The part of the graph that some passages span, for many questions about them.

        Args:
            passages: Positions of passages, without repetition.
        """
        parts = [self._entities_of[self._starts[p] : self._starts[p + 1]] for p in passages]
        return Neighbourhood(self.weight, parts, self._title_of[np.asarray(passages, dtype=np.int64)])


class Neighbourhood:
    """How strongly some passages are linked among each other."""

    def __init__(self, weight: Floats, entities: Sequence[NDArray[np.int64]], titles: NDArray[np.int64]) -> None:
        """Lay the passages' entities out in one row.

        Args:
            weight: float32 [entities], how much each entity weighs.
            entities: For each passage the entities that it belongs to.
            titles: int64 [passages], the entity that each passage is about, -1 for none.
        """
        self._weight = weight
        self._entities = entities
        self._titles = titles
        self._flat = np.concatenate([np.empty(0, np.int64), *entities])
        self._owner = np.repeat(np.arange(len(entities)), [len(part) for part in entities])
        self._is_title = self._flat == titles[self._owner]

    def links_of(self, passage: int) -> Floats:
        """How strongly each passage is linked with one of them: by the weightiest entity that both belong to.

        Args:
            passage: Its place among the passages of the neighbourhood.

        Returns:
            float32 [passages], in the unit of `KnowledgeGraph.weight`; 0 for itself.
        """
        shared = np.isin(self._flat, self._entities[passage])
        about = self._is_title[shared] | (self._flat[shared] == self._titles[passage])
        strength = self._weight[self._flat[shared]] * np.where(about, np.float32(TITLE_WEIGHT), np.float32(1.0))
        links = np.zeros(len(self._entities), np.float32)
        np.maximum.at(links, self._owner[shared], strength)
        links[passage] = 0.0
        return links


def _transition(sparse: Any, member: Any, links: Links) -> Any:
    """The column-normalised weights between all nodes, passages first: float32 [nodes, nodes]."""
    entities = member.shape[1]
    facts = np.array([fact for fact in links.facts if fact[0] != fact[1]], dtype=np.float32).reshape(-1, 4)
    related: Any = sparse.csr_matrix(
        (facts[:, 3], (facts[:, 0].astype(np.int64), facts[:, 1].astype(np.int64))), shape=(entities, entities)
    )
    edges: Any = sparse.bmat([[None, member], [member.T, related + related.T]], format="csr", dtype=np.float32)
    if edges.shape[0] == 0:
        return edges
    sums = np.asarray(edges.sum(axis=0), dtype=np.float32).ravel()
    scale = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return (edges @ sparse.diags(scale)).tocsr().astype(np.float32)
