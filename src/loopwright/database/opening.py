"""A database by its address, the same for everything that is kept in one."""

from __future__ import annotations

from loopwright.database.database import Database
from loopwright.database.postgres import open_schema
from loopwright.database.sqlite import MEMORY, open_file, open_memory
from loopwright.errors import ConfigError
from loopwright.postgres import is_postgres

KNOWN = "'memory', 'sqlite:FILE', 'postgresql://USER:PASSWORD@HOST/DATABASE'"
"""The forms of an address."""


def open_database(
    address: str,
    *,
    holds: str,
    schema: str,
    missing: str = "",
    create: bool = True,
    beside: str = "",
    idle: int = 0,
    one_server: bool = False,
) -> Database:
    """Open a database.

    Args:
        address: ``"memory"``, which is gone when it is closed; ``"sqlite:FILE"``; or
            ``"postgresql://USER:PASSWORD@HOST:PORT/DATABASE"``, see `loopwright.postgres.PostgresAddress.parse`.
        holds: What it holds, for messages: "a run history".
        schema: The schema of PostgreSQL where the address names none.
        missing: What to do where the file is missing.
        create: Whether to make a file that is missing, with its folders.
        beside: As for `loopwright.database.postgres.open_schema`.
        idle: The same.
        one_server: Whether only one server may have the file.

    Raises:
        ConfigError: If it is none of these, or a package that it needs is not installed.
        StoreError: If the file is missing or cannot be used.
    """
    kind, _colon, rest = address.partition(":")
    if is_postgres(address) and rest.startswith("//"):
        return open_schema(address, schema=schema, holds=holds, beside=beside, idle=idle)
    if address == "memory":
        return open_memory(holds=holds)
    if kind == "sqlite" and (path := rest.strip()):
        if path == MEMORY:
            raise ConfigError(f"{holds} in memory is called 'memory', not 'sqlite::memory:'")
        if path.startswith("//"):
            raise ConfigError(f"the address of {holds} in SQLite is 'sqlite:FILE', without slashes before the file")
        return open_file(path, create, holds=holds, missing=missing, one_server=one_server)
    # What is unknown may be an address with a password in it.
    shown = f"{address.partition('://')[0]}://..." if "://" in address else address
    raise ConfigError(f"unknown {holds.removeprefix('a ')} {shown!r}. Known: {KNOWN}.")
