"""Knowledge stores: SQLite by default, PostgreSQL with pgvector for production."""

from __future__ import annotations

from loopwright.retrieval.stores.opening import open_store
from loopwright.retrieval.stores.store import KnowledgeStore

__all__ = ["KnowledgeStore", "open_store"]
