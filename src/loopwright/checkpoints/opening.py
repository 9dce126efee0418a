"""Open the checkpoint saver that a configuration line names."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from loopwright.checkpoints.allowlist import state_types
from loopwright.checkpoints.json_files import JsonFileSaver
from loopwright.errors import ConfigError, unknown_name_message

Scheme = Literal["memory", "json", "sqlite", "postgresql"]

_FORMS: dict[Scheme, str] = {
    "memory": "memory", "json": "json:DIR", "sqlite": "sqlite:FILE",
    "postgresql": "postgresql://USER:PASSWORD@HOST/DATABASE",
}  # fmt: skip


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
        CheckpointError: On entering at the latest, if the place cannot be written to or holds something else.
    """
    scheme, place = parse_spec(spec)
    serde = JsonPlusSerializer()
    if allow is not None:  # None here: only LangGraph's own safe types, and these
        serde = JsonPlusSerializer(allowed_msgpack_modules=None).with_msgpack_allowlist(state_types(*allow))
    if scheme == "postgresql":
        try:
            from loopwright.checkpoints import postgres
        except ModuleNotFoundError as missing:
            raise ConfigError(
                f"checkpoints in PostgreSQL need the package {missing.name}: pip install 'loopwright[postgres]'"
            ) from missing
        return postgres.open_saver(place, serde)
    if scheme == "sqlite":
        from loopwright.checkpoints import sqlite  # slow to import, and not everybody needs it

        return sqlite.open_saver(Path(place), serde)
    saver = InMemorySaver(serde=serde) if scheme == "memory" else JsonFileSaver(place, serde=serde)
    return contextlib.nullcontext(saver)


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


def parse_spec(spec: str) -> tuple[Scheme, str]:
    """Split a spec of `open_checkpointer`: the kind of saver, and its place, a path or a database's whole address.

    Raises:
        ConfigError: If it names no known kind of saver.
    """
    spec = str(spec).strip()
    scheme, colon, place = spec.partition(":")
    if scheme in ("postgres", "postgresql") and place.startswith("//"):
        return "postgresql", spec
    if scheme == "memory" and not colon:
        return scheme, ""
    if scheme in ("json", "sqlite") and place not in ("", ":memory:") and not place.startswith("//"):
        return scheme, str(Path(place).expanduser())
    wrong = f"the checkpointer {spec!r} cannot be opened." if scheme in _FORMS else unknown_name_message(
        "checkpointer", scheme, _FORMS
    )  # fmt: skip
    *first, last = (repr(form) for form in _FORMS.values())
    raise ConfigError(f"{wrong} Write {', '.join(first)} or {last}, with a path as it is.")
