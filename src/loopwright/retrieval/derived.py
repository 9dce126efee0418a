"""What is made from a store for searching it, and kept until the store changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from loopwright.retrieval.lexicon import Lexicon, TermCounts
from loopwright.retrieval.links import PassageLinks
from loopwright.retrieval.records import Filter
from loopwright.retrieval.stores.store import KnowledgeStore

SAMPLE = 2000
"""From about how many passages, evenly spread, the weights of terms are taken."""
KEPT_PASSAGES = 4096
"""How many passages stay in memory with their terms counted; about 6 kB each."""
KEPT_FILTERS = 8
"""For how many filters the documents that they let through are remembered."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Derived:
    """The links, the weights of terms, and what was read lately, of one revision of a store; safe in threads."""

    def __init__(self, store: KnowledgeStore, revision: int) -> None:
        """Read the links and a sample of the passages.

        Args:
            store: The store.
            revision: Its revision before anything was read.
        """
        self.revision = revision
        """The revision that this was made from."""
        self.links = PassageLinks(store.links())
        """What links its passages."""
        self._store = store
        self._candidates: dict[str, TermCounts] = {}
        self._allowed: dict[str, frozenset[str]] = {}
        ids = self.links.passages
        sample = store.passages(ids[:: max(1, -(-len(ids) // SAMPLE))])
        self.lexicon = Lexicon([TermCounts(passage) for passage in sample])
        """How common each term is."""

    def candidates(self, ids: Sequence[str]) -> list[TermCounts]:
        """Passages by id, their terms counted, in the same order; without what is gone or not among the links yet."""
        known = self._candidates
        missing = [passage_id for passage_id in ids if passage_id not in known and passage_id in self.links.position]
        fresh = {passage.id: TermCounts(passage) for passage in self._store.passages(missing)}
        if fresh:
            self._candidates = _joined(known, fresh, KEPT_PASSAGES)
        found = (fresh.get(passage_id) or known.get(passage_id) for passage_id in ids)
        return [candidate for candidate in found if candidate is not None]

    def allowed(self, where: Filter) -> frozenset[str]:
        """The ids of the documents that a filter lets through."""
        key = repr(where)
        allowed = self._allowed.get(key)
        if allowed is None:
            allowed = frozenset(document.id for document in self._store.documents(where))
            self._allowed = _joined(self._allowed, {key: allowed}, KEPT_FILTERS)
        return allowed


def _joined(old: dict[_Key, _Value], new: dict[_Key, _Value], most: int) -> dict[_Key, _Value]:
    """A new dictionary, since other threads may be reading the old one; it starts afresh once it would be too large."""
    return {**old, **new} if len(old) + len(new) <= most else new
