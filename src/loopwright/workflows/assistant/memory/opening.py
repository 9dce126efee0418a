"""Opening a memory by its name."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from loopwright.errors import ConfigError, StoreError
from loopwright.workflows.assistant.memory.keeping import Memory

_WAIT = 30.0


def open_memory(spec: str) -> Memory:
    """Open the memory that a configuration line names; its backend is imported now.

    Args:
        spec: ``"memory"`` (until the process ends) or ``"sqlite:FILE"``. Missing folders are made.

    Raises:
        ConfigError: If it is none of these.
        StoreError: If the file cannot be used.
    """
    kind, colon, place = spec.strip().partition(":")
    if kind == "memory" and not colon:
        from langgraph.store.memory import InMemoryStore

        return Memory(InMemoryStore())
    if kind == "sqlite" and place.strip() and not place.startswith("//"):
        return _of_file(Path(place.strip()).expanduser())
    # What is unknown may be an address with a password in it.
    shown = f"{spec.partition('://')[0]}://..." if "://" in spec else spec
    raise ConfigError(f"unknown memory {shown!r}. Known: 'memory', 'sqlite:FILE'.")


def _of_file(path: Path) -> Memory:
    from langgraph.store.sqlite import SqliteStore

    @contextmanager
    def guard() -> Generator[None]:
        try:
            yield
        except (OSError, sqlite3.Error, ValueError) as problem:
            # LangGraph's store hides what SQLite says within a ValueError.
            if isinstance(problem, ValueError) and not isinstance(problem.__cause__, sqlite3.Error):
                raise
            said = problem.__cause__ or problem
            raise StoreError(
                f"the memory {path} cannot be used ({said}). Name a file that you may write to and that is new or "
                "was made as a memory."
            ) from problem

    with guard():
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False, isolation_level=None)
        try:
            # Deleted people are overwritten, in the file and, by a checkpoint after each deletion, in its log.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            store = SqliteStore(connection)
            store.setup()
        except sqlite3.Error:
            connection.close()
            raise

    def erase() -> None:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    return Memory(store, guard=guard, erase=erase, close=connection.close)
