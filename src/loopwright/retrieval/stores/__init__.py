"""Knowledge stores: SQLite by default, PostgreSQL with pgvector for production."""

from loopwright.database.database import open_database
from loopwright.retrieval.stores.postgres import PostgresStore
from loopwright.retrieval.stores.sqlite import SqliteStore
from loopwright.retrieval.stores.store import KnowledgeStore

__all__ = ["KnowledgeStore", "open_store"]

_STANDSTILL = 60_000  # milliseconds after which who stands still in a transaction locks out the others no longer


def open_store(spec: str, *, create: bool = True, schema: str = "loopwright", workflow: str = "") -> KnowledgeStore:
    """Open a knowledge store.

    Args:
        spec: A path that ends in ``.db`` or ``.sqlite``, or as for `loopwright.database.database.open_database`.
        create: Whether a store that is missing is made; an empty file always becomes one.
        schema: Where it lies in PostgreSQL, if the address does not say.
        workflow: Whose ``ingest`` makes it, for the message.

    Raises:
        ConfigError: If it is none of these.
        StoreError: If the store cannot be opened.
    """
    if spec.endswith((".db", ".sqlite")) and "://" not in spec and not spec.startswith("sqlite:"):
        spec = f"sqlite:{spec}"
    database = open_database(
        # The extension pgvector may be in another schema; Supabase's is "extensions".
        spec, holds="a knowledge store", schema=schema, beside=", public, extensions", create=create, idle=_STANDSTILL,
        missing="ingest documents first" + (f" (`loopwright {workflow} ingest ...`)" if workflow else ""),
    )  # fmt: skip
    return PostgresStore(database) if database.dialect == "postgresql" else SqliteStore(database)
