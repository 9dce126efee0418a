"""What links passages: the entities that they share. No model and no extracted fact is needed for it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

import numpy as np

from loopwright.retrieval.lexicon import Floats
from loopwright.retrieval.names import findable

TITLE_WEIGHT = 1.5
"""How much more a link counts whose entity is what one of the two passages is about: about the share by which BM25
prefers a term in the title."""


class PassageLinks:
    """Passages and the entities that they name; never changed once built, safe in threads.

    A passage belongs to the entities that it mentions and to the one that its title names. An entity weighs
    ``ln(N / (1 + n))``, N all passages and n those that belong to it: what every passage names links nothing.
    """

    def __init__(self, named: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Lay the memberships out, passage by passage; see `loopwright.retrieval.stores.store.KnowledgeStore.links`."""
        self.passages = tuple(passage for passage, _, _ in named)
        self.position = {passage: n for n, passage in enumerate(self.passages)}
        self.entity_position: dict[str, int] = {}

        def place_of(entity: str) -> int:
            return self.entity_position.setdefault(entity, len(self.entity_position)) if entity else -1

        self._title_of = np.array([place_of(title) for _, title, _ in named], np.int64)
        held = [sorted({place_of(key) for key in (title, *keys) if key}) for _, title, keys in named]
        self.names = findable(self.entity_position)
        sizes = np.array([len(entities) for entities in held], np.int64)
        self._starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        self._passage = np.repeat(np.arange(len(held)), sizes)
        self._entity = np.fromiter(chain.from_iterable(held), np.int64)
        self._spread = np.bincount(self._entity, minlength=len(self.entity_position))
        weights = np.log(max(len(self.passages), 1) / (1.0 + self._spread))
        self.weight: Floats = np.maximum(weights, 0.0).astype(np.float32)

    def reached(self, passages: Mapping[int, float], entities: Sequence[int]) -> Floats:
        """How much of what was found, and of what the question names, each passage shares entities with.

        One step: each passage hands its share on to its entities by their weight, the named entities have as much
        together as all passages, and each entity divides what it got among its passages. Passages and entities are
        given by their positions, what was found with how much it counts.

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

    def links_among(self, passages: Sequence[int]) -> Callable[[int], Floats]:
        """How strongly some passages are linked among each other: by the weightiest entity that both belong to.

        Returns:
            Place of one among these passages -> its links with all of them, float32 [passages], in the unit of
            `weight`; 0 for itself.
        """
        entities = [self._entity[self._starts[p] : self._starts[p + 1]] for p in passages]
        titles = self._title_of[np.asarray(passages, np.int64)]
        flat = np.concatenate([np.empty(0, np.int64), *entities])
        owner = np.repeat(np.arange(len(entities)), [len(part) for part in entities])
        is_title = flat == titles[owner]

        def links_of(place: int) -> Floats:
            shared = np.isin(flat, entities[place])
            about = is_title[shared] | (flat[shared] == titles[place])
            strength = self.weight[flat[shared]] * np.where(about, np.float32(TITLE_WEIGHT), np.float32(1.0))
            links = np.zeros(len(entities), np.float32)
            np.maximum.at(links, owner[shared], strength)
            links[place] = 0.0
            return links

        return links_of
