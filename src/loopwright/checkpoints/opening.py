"""Open the checkpoint saver that a configuration line names."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from loopwright.checkpoints import fencing
from loopwright.checkpoints.allowlist import strict_serializer
from loopwright.checkpoints.archive import Archive
from loopwright.checkpoints.encoding import PLAIN_DATA
from loopwright.checkpoints.json_files import JsonFileSaver
from loopwright.errors import CheckpointError, ConfigError, unknown_name_message

Scheme = Literal["memory", "json", "sqlite", "postgresql"]

_FORMS: dict[Scheme, str] = {
    "memory": "memory",
    "json": "json:DIR",
    "sqlite": "sqlite:FILE",
    "postgresql": "postgresql://USER:PASSWORD@HOST/DATABASE",
}


def open_checkpointer(
    spec: str, *, allow: Iterable[Any] | None = None
) -> AbstractContextManager[BaseCheckpointSaver[str]]:
    """Open a checkpoint saver for `invoke`, `stream` and the other synchronous calls.

    ::

        with open_checkpointer("sqlite:runs.db", allow=[MyState]) as saver:
            graph = builder.compile(checkpointer=saver)

    Args:
        spec: ``"memory"``, ``"json:DIR"`` (a file for each run), ``"sqlite:FILE"``, or
            ``"postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&sslmode=MODE"`` (the extra ``postgres``).
            Missing folders and tables are made.
        allow: State schemas and classes; only instances of these, of what their fields mention, and of LangGraph's safe
            types are brought back from a checkpoint, and others come back as plain data. None leaves it to LangGraph,
            which brings back everything and warns once for each class.

    Returns:
        A context manager that gives the saver, and closes it. The savers for memory and JSON serve asynchronous calls
        as well; for SQLite and PostgreSQL use `aopen_checkpointer` there.

    Raises:
        ConfigError: If `spec` names no known kind of saver, or a package that it needs is not installed.
        CheckpointError: On entering, if the place cannot be written to or holds something else.
    """
    scheme, place = parse_spec(spec)
    serde = JsonPlusSerializer() if allow is None else strict_serializer(allow)
    if scheme == "postgresql":
        return postgres().open_saver(place, serde)
    return _sqlite(Path(place), serde) if scheme == "sqlite" else _shared(scheme, Path(place), serde)


def aopen_checkpointer(
    spec: str, *, allow: Iterable[Any] | None = None
) -> AbstractAsyncContextManager[BaseCheckpointSaver[str]]:
    """Open a checkpoint saver for `ainvoke`, `astream` and the other asynchronous calls.

    Args:
        spec: As for `open_checkpointer`.
        allow: As for `open_checkpointer`.

    Returns:
        An asynchronous context manager that gives the saver, and closes it.

    Raises:
        ConfigError: As for `open_checkpointer`.
        CheckpointError: On entering, if the place cannot be written to or holds something else.
    """
    scheme, place = parse_spec(spec)
    serde = JsonPlusSerializer() if allow is None else strict_serializer(allow)
    if scheme == "postgresql":
        return postgres().aopen_saver(place, serde)
    return _async_sqlite(Path(place), serde) if scheme == "sqlite" else _async_shared(scheme, Path(place), serde)


@contextlib.contextmanager
def open_archive(spec: str) -> Generator[Archive]:
    """Open what a saver has saved, as plain data: no class of the user's is imported. Nothing is made.

    Args:
        spec: ``"json:DIR"``, ``"sqlite:FILE"`` or ``"postgresql://..."``.

    Raises:
        ConfigError: If `spec` is none of these.
        CheckpointError: If nothing is there, or something else.
    """
    scheme, place = parse_spec(spec)
    path = Path(place)
    if scheme == "memory":
        raise ConfigError(
            "the checkpointer 'memory' keeps nothing: name 'json:DIR', 'sqlite:FILE' or 'postgresql://...'."
        )
    if scheme == "postgresql":
        with postgres().open_existing(place, PLAIN_DATA) as saver:
            yield saver
    elif scheme == "json":
        if not path.is_dir():
            raise CheckpointError(f"there is no checkpoint folder {path}. Name the one of a 'json:DIR' checkpointer.")
        yield JsonFileSaver(path, serde=PLAIN_DATA)
    else:
        if not path.is_file():
            raise CheckpointError(
                f"there is no checkpoint database {path}. Name the one of a 'sqlite:FILE' checkpointer."
            )
        from loopwright.checkpoints import sqlite

        opened = f"{path.resolve().as_uri()}?mode=rw"
        with (
            sqlite.sqlite_problems(path),
            contextlib.closing(sqlite3.connect(opened, uri=True, check_same_thread=False)) as connection,
        ):
            query = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('checkpoints', 'writes')"
            if connection.execute(query).fetchone() != (2,):
                raise CheckpointError(
                    f"the database {path} holds no checkpoints. Name the one of a 'sqlite:FILE' checkpointer."
                )
            yield sqlite.KeptSqliteSaver(connection, serde=PLAIN_DATA)


def parse_spec(spec: str) -> tuple[Scheme, str]:
    """Split and check a spec.

    Args:
        spec: As for `open_checkpointer`.

    Returns:
        The kind of saver, and its place: a path, or the whole address of a database.

    Raises:
        ConfigError: If `spec` names no known kind of saver.
    """
    scheme, colon, place = spec.strip().partition(":")
    if scheme in ("postgres", "postgresql") and place.startswith("//"):
        return "postgresql", spec.strip()
    if scheme not in _FORMS:
        raise ConfigError(f"{unknown_name_message('checkpointer', scheme, _FORMS)} Write {_all_forms()}.")
    known: Scheme = scheme
    if known == "memory":
        if colon:
            raise ConfigError(f"the checkpointer {spec!r} has too much in it: write just 'memory'.")
        return known, ""
    if not place or known == "postgresql":
        raise ConfigError(f"the checkpointer {spec!r} does not say where: write {_FORMS[known]!r}.")
    if place.startswith("//"):
        raise ConfigError(f"the checkpointer {spec!r} is not a URL: write {_FORMS[known]!r}, with a path as it is.")
    if place == ":memory:":
        raise ConfigError(f"the checkpointer {spec!r} would keep nothing: write 'memory' if that is meant.")
    return known, str(Path(place).expanduser())


def postgres() -> ModuleType:
    """Import what reads and writes checkpoints in PostgreSQL.

    Raises:
        ConfigError: If a package that it needs is not installed.
    """
    try:
        from loopwright.checkpoints import postgres
    except ModuleNotFoundError as missing:
        raise ConfigError(
            f"checkpoints in PostgreSQL need the package {missing.name}: pip install 'loopwright[postgres]'"
        ) from missing
    return postgres


def _all_forms() -> str:
    *first, last = (repr(form) for form in _FORMS.values())
    return f"{', '.join(first)} or {last}"


@contextlib.contextmanager
def _shared(scheme: Scheme, path: Path, serde: SerializerProtocol) -> Generator[BaseCheckpointSaver[str], None, None]:
    """Open a saver that serves synchronous and asynchronous calls alike."""
    if scheme == "memory":
        yield InMemorySaver(serde=serde)
        return
    saver = JsonFileSaver(path, serde=serde)
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as problem:
        raise CheckpointError(
            f"the checkpoint folder {path} cannot be written to ({problem}). Make it writable, or name another."
        ) from problem
    yield saver


@contextlib.asynccontextmanager
async def _async_shared(
    scheme: Scheme, path: Path, serde: SerializerProtocol
) -> AsyncGenerator[BaseCheckpointSaver[str], None]:
    with _shared(scheme, path, serde) as saver:
        yield saver


@contextlib.contextmanager
def _sqlite(path: Path, serde: SerializerProtocol) -> Generator[BaseCheckpointSaver[str], None, None]:
    from loopwright.checkpoints import sqlite  # slow to import, and not everybody needs it

    with contextlib.ExitStack() as stack:
        with sqlite.sqlite_problems(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            # The saver has a lock of its own, and LangGraph saves from its worker threads.
            connection = stack.enter_context(contextlib.closing(sqlite3.connect(path, check_same_thread=False)))
            saver = sqlite.KeptSqliteSaver(connection, serde=serde)
            saver.setup()
            connection.executescript(f"{sqlite.CREATE}; {fencing.SQLITE}")
        yield saver


@contextlib.asynccontextmanager
async def _async_sqlite(path: Path, serde: SerializerProtocol) -> AsyncGenerator[BaseCheckpointSaver[str], None]:
    import aiosqlite

    from loopwright.checkpoints import sqlite

    async with contextlib.AsyncExitStack() as stack:
        with sqlite.sqlite_problems(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = await stack.enter_async_context(aiosqlite.connect(path))
            saver = sqlite.AsyncKeptSqliteSaver(connection, serde=serde)
            await saver.setup()
            await connection.executescript(f"{sqlite.CREATE}; {fencing.SQLITE}")
        yield saver
