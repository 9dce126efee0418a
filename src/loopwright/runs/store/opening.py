"""Opening a run history by its address."""

from __future__ import annotations

from loopwright.database.database import Database
from loopwright.database.postgres import open_database
from loopwright.database.sqlite import MEMORY, open_file, open_memory
from loopwright.errors import ConfigError
from loopwright.postgres import STANDSTILL
from loopwright.runs.store.formats import prepare
from loopwright.runs.store.history import RunStore

SCHEMA = "loopwright_runs"
"""The schema of PostgreSQL where the address names none."""

_HOLDS = "a run history"
_KNOWN = "'memory', 'sqlite:FILE', 'postgresql://USER:PASSWORD@HOST/DATABASE'"


def open_runs(url: str, *, create: bool = True) -> RunStore:
    """Open a run history.

    Args:
        url: ``"sqlite:FILE"``; ``"memory"``, which is gone when it is closed; or
            ``"postgresql://USER:PASSWORD@HOST:PORT/DATABASE"``, with the options that `postgres.open_database` names.
        create: Whether a history that is missing is made, with the folders that lead to it.

    Raises:
        ConfigError: If it is none of these, or a package that it needs is not installed.
        StoreError: If it cannot be opened, is missing, or is no run history that this version reads.
    """
    database = _database(url, create)
    try:
        prepare(database, create or url == "memory")
    except BaseException:
        database.close()
        raise
    return RunStore(database)


def _database(url: str, create: bool) -> Database:
    kind, colon, rest = url.partition(":")
    if kind in ("postgres", "postgresql") and rest.startswith("//"):
        return open_database(url, schema=SCHEMA, holds=_HOLDS, idle=STANDSTILL)
    if url == "memory":
        return open_memory(holds=_HOLDS)
    if kind == "sqlite" and colon and (path := rest.strip()):
        if path == MEMORY:
            raise ConfigError("a run history in memory is called 'memory', not 'sqlite::memory:'")
        if path.startswith("//"):
            raise ConfigError(
                "the address of a run history in SQLite is 'sqlite:FILE', without slashes before the file"
            )
        missing = "run a workflow on the server first, or check the path"
        return open_file(path, create, holds=_HOLDS, missing=missing, one_server=True)
    # What is unknown may be an address with a password in it.
    shown = f"{url.partition('://')[0]}://..." if "://" in url else url
    raise ConfigError(f"unknown run history {shown!r}. Known: {_KNOWN}.")
