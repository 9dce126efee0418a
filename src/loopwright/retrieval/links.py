"""What links passages: the entities that they share. No model and no extracted fact is needed for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from loopwright.retrieval.names import NameIndex
from loopwright.retrieval.records import Links

Floats = NDArray[np.float32]


TITLE_WEIGHT = 1.5
"""How much more a link counts whose entity is what one of the two passages is about: about the share by which BM25
prefers a term in the title."""


class PassageLinks:
    """Passages and the entities that they name; never changed once built, safe in threads.

    A passage belongs to the entities that it mentions and to the one that its title names. An entity weighs
    ``ln(N / (1 + n))``, N all passages and n those that belong to it: what every passage names links nothing.
    """

    def __init__(self, links: Links) -> None:
        """Lay the memberships out, passage by passage."""
        self.passages: tuple[str, ...] = links.passages
        self.position: dict[str, int] = {passage: n for n, passage in enumerate(links.passages)}
        self.entity_position: dict[str, int] = {entity: n for n, entity in enumerate(links.entities)}
        for title in filter(None, links.titles):
            self.entity_position.setdefault(title, len(self.entity_position))
        self.names = NameIndex(self.entity_position)
        self._title_of: NDArray[np.int64] = np.array(
            [self.entity_position.get(title, -1) for title in links.titles], dtype=np.int64
        )
        titled = np.flatnonzero(self._title_of >= 0)
        mentions = np.array(links.mentions, dtype=np.int64).reshape(-1, 2)
        pairs = np.concatenate([mentions, np.stack([titled, self._title_of[titled]], axis=1)])
        # One number for each pair, of which there may be millions, sorts them by passage.
        entities = max(len(self.entity_position), 1)
        numbers = np.sort(pairs[:, 0] * entities + pairs[:, 1])
        # What np.unique would do, which first imports masked arrays for 0.1 s.
        self._passage, self._entity = np.divmod(numbers[np.diff(numbers, prepend=-1) > 0], entities)
        self._starts = np.searchsorted(self._passage, np.arange(len(self.passages) + 1))
        self._spread = np.bincount(self._entity, minlength=len(self.entity_position))
        self.weight: Floats = np.maximum(np.log(max(len(self.passages), 1) / (1.0 + self._spread)), 0.0).astype(
            np.float32
        )

    def reached(self, passages: Mapping[int, float], entities: Sequence[int]) -> Floats:
        """How much of what was found, and of what the question names, each passage shares entities with.

        One step: each passage hands its share on to its entities by their weight, the named entities have as much
        together as all passages, and each entity divides what it got among its passages.

        Args:
            passages: Position of a passage that was found -> how much it counts.
            entities: Positions of the entities that the question names.

        Returns:
            float32 [passages]; 0 for what nothing leads to.
        """
        found = np.zeros(len(self.passages), np.float64)
        found[list(passages)] = list(passages.values())
        found /= found.sum() or 1.0
        weight = self.weight[self._entity]
        strength = np.bincount(self._passage, weight, len(self.passages))
        handed = np.divide(found, strength, out=np.zeros_like(found), where=strength > 0)[self._passage] * weight
        # Without any membership, NumPy counts in whole numbers.
        mass = np.bincount(self._entity, handed, len(self.entity_position)).astype(np.float64)
        named = np.asarray(entities, np.int64)
        mass[named] += self.weight[named] / (float(self.weight[named].sum()) or 1.0)
        shared = mass / np.maximum(self._spread, 1)
        return np.bincount(self._passage, shared[self._entity], len(self.passages)).astype(np.float32)

    def neighbourhood(self, passages: Sequence[int]) -> Neighbourhood:
        """How some passages are linked among each other, for many questions about them."""
        parts = [self._entity[self._starts[p] : self._starts[p + 1]] for p in passages]
        return Neighbourhood(self.weight, parts, self._title_of[np.asarray(passages, dtype=np.int64)])


class Neighbourhood:
    """How strongly some passages are linked among each other."""

    def __init__(self, weight: Floats, entities: Sequence[NDArray[np.int64]], titles: NDArray[np.int64]) -> None:
        """Lay the passages' entities out in one row."""
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
            float32 [passages], in the unit of `PassageLinks.weight`; 0 for itself.
        """
        shared = np.isin(self._flat, self._entities[passage])
        about = self._is_title[shared] | (self._flat[shared] == self._titles[passage])
        strength = self._weight[self._flat[shared]] * np.where(about, np.float32(TITLE_WEIGHT), np.float32(1.0))
        links = np.zeros(len(self._entities), np.float32)
        np.maximum.at(links, self._owner[shared], strength)
        links[passage] = 0.0
        return links
