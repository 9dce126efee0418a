"""Opening a knowledge store by its name."""

from __future__ import annotations

from loopwright.errors import ConfigError
from loopwright.retrieval.stores.protocol import KnowledgeStore

_KNOWN = "'memory', 'sqlite:FILE' or a path that ends in .db or .sqlite, 'postgresql://USER@HOST/DATABASE'"


def open_store(spec: str, *, create: bool = True) -> KnowledgeStore:
    """Open a knowledge store; its backend is imported now.

    Args:
        spec: ``"memory"``, ``"sqlite:FILE"`` or a path that ends in ``.db`` or ``.sqlite``, or an address that begins
            with ``postgresql://`` or ``postgres://`` (see `PostgresStore`).
        create: Whether a file that is missing is made.

    Raises:
        ConfigError: If it is none of these.
        StoreError: If the store cannot be opened.
    """
    kind, colon, rest = spec.partition(":")
    if kind in ("postgres", "postgresql") and rest.startswith("//"):
        from loopwright.retrieval.stores.postgres import PostgresStore

        return PostgresStore(spec)
    if spec == "memory":
        path = ":memory:"
    elif kind == "sqlite" and colon and rest.strip():
        path = rest
    elif spec.endswith((".db", ".sqlite")) and "://" not in spec:
        path = spec
    else:
        # What is unknown may be an address with a password in it.
        shown = f"{spec.partition('://')[0]}://..." if "://" in spec else spec
        raise ConfigError(f"unknown knowledge store {shown!r}. Known: {_KNOWN}.")
    from loopwright.retrieval.stores.sqlite import SqliteStore

    return SqliteStore(path, create=create)
