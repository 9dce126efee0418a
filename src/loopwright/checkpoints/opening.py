"""Open the checkpoint saver that a configuration line names."""

from __future__ import annotations

import asyncio
import contextlib
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
    """Open a checkpoint saver.

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
        A context manager that gives the saver, and closes it. It serves synchronous and asynchronous calls.

    Raises:
        ConfigError: If `spec` names no known kind of saver, or a package that it needs is not installed.
        CheckpointError: On entering, if the place cannot be written to or holds something else.
    """
    scheme, place = parse_spec(spec)
    serde = JsonPlusSerializer() if allow is None else strict_serializer(allow)
    if scheme == "postgresql":
        return postgres().open_saver(place, serde)
    if scheme == "sqlite":
        from loopwright.checkpoints import sqlite  # slow to import, and not everybody needs it

        return sqlite.open_saver(Path(place), serde)
    return contextlib.nullcontext(InMemorySaver(serde=serde)) if scheme == "memory" else _json(Path(place), serde)


def aopen_checkpointer(
    spec: str, *, allow: Iterable[Any] | None = None
) -> AbstractAsyncContextManager[BaseCheckpointSaver[str]]:
    """Open a checkpoint saver in an event loop, which goes on meanwhile; see `open_checkpointer`."""
    return _entered(open_checkpointer(spec, allow=allow))


@contextlib.asynccontextmanager
async def _entered(
    opened: AbstractContextManager[BaseCheckpointSaver[str]],
) -> AsyncGenerator[BaseCheckpointSaver[str]]:
    with contextlib.ExitStack() as stack:
        yield await asyncio.to_thread(stack.enter_context, opened)


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
        from loopwright.checkpoints import sqlite

        with sqlite.open_existing(path, PLAIN_DATA) as saver:
            yield saver


def forget(spec: str, threads: Iterable[str]) -> None:
    """Take runs away; others may be saving meanwhile.

    Raises:
        ConfigError: If `spec` is no place of checkpoints.
        CheckpointError: If nothing is there, or it cannot be read or written.
    """
    with open_archive(spec) as archive:
        for thread_id in threads:
            archive.delete_thread(thread_id)


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
def _json(path: Path, serde: SerializerProtocol) -> Generator[BaseCheckpointSaver[str]]:
    saver = JsonFileSaver(path, serde=serde)
    try:
        tempfile.TemporaryFile(dir=path).close()
    except OSError as problem:
        raise CheckpointError(
            f"the checkpoint folder {path} cannot be written to ({problem}). Make it writable, or name another."
        ) from problem
    yield saver
