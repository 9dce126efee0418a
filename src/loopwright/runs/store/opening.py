"""Opening a run history by its address."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from loopwright.errors import ConfigError
from loopwright.runs.store.protocol import RunStore

if TYPE_CHECKING:
    from loopwright.database.database import Database

SCHEMA = "loopwright_runs"
"""The schema of PostgreSQL where the address names none."""

_HOLDS = "a run history"
_KNOWN = "'memory', 'sqlite:FILE', 'postgresql://USER:PASSWORD@HOST/DATABASE'"


def open_runs(url: str, *, create: bool = True) -> RunStore:
    """Open a run history; its database driver is imported now.

    Args:
        url: ``"sqlite:FILE"``; ``"memory"``, which is gone when it is closed; or
            ``"postgresql://USER:PASSWORD@HOST:PORT/DATABASE"``, with the options that `postgres.open_database` names.
        create: Whether a history that is missing is made, with the folders that lead to it.

    Raises:
        ConfigError: If it is none of these, or a package that it needs is not installed.
        StoreError: If it cannot be opened, is missing, or is no run history that this version reads.
    """
    kind, colon, rest = url.partition(":")
    _need("sqlalchemy", "a run history needs SQLAlchemy", "server")
    if kind in ("postgres", "postgresql") and rest.startswith("//"):
        _need("pg8000", "a run history in PostgreSQL needs pg8000", "postgres")
        from loopwright.database.postgres import open_database
        from loopwright.postgres import STANDSTILL

        database = open_database(url, schema=SCHEMA, holds=_HOLDS, idle=STANDSTILL)
        return _prepared(database, create)
    from loopwright.database.sqlite import MEMORY, open_file, open_memory

    if url == "memory":
        return _prepared(open_memory(holds=_HOLDS), create=True)
    if kind == "sqlite" and colon and (path := rest.strip()):
        if path == MEMORY:
            raise ConfigError("a run history in memory is called 'memory', not 'sqlite::memory:'")
        if path.startswith("//"):
            raise ConfigError(
                "the address of a run history in SQLite is 'sqlite:FILE', without slashes before the file"
            )
        from loopwright.runs.store.claims import claimed_file

        missing = "run a workflow on the server first, or check the path"
        return _prepared(open_file(path, create, holds=_HOLDS, missing=missing, claiming=claimed_file), create)
    # What is unknown may be an address with a password in it.
    shown = f"{url.partition('://')[0]}://..." if "://" in url else url
    raise ConfigError(f"unknown run history {shown!r}. Known: {_KNOWN}.")


def _prepared(database: Database, create: bool) -> RunStore:
    from loopwright.runs.store.formats import prepare
    from loopwright.runs.store.sql import SqlRunStore

    try:
        prepare(database, create)
    except BaseException:
        database.close()
        raise
    return SqlRunStore(database)


def _need(package: str, told: str, extra: str) -> None:
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as missing:
        raise ConfigError(f"{told}: pip install 'loopwright[{extra}]'") from missing
