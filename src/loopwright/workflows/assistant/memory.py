"""Profiles and conversations in a store of LangGraph's, and opening one by its name."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from loopwright.database import storable
from loopwright.errors import ConfigError, InputError, StoreError
from loopwright.postgres import PostgresAddress, is_postgres
from loopwright.workflows.assistant.schemas import Profile, Turn

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore

_WAIT = 30.0
_PATIENCE = 3.0
"""Seconds for a database: less than a run waits for its memory, which can fail without failing an answer."""


def open_memory(spec: str) -> Memory:
    """Open ``"memory"``, which keeps until the process ends, ``"sqlite:FILE"``, or an address in PostgreSQL.

    Missing folders, schemas and tables are made. An address that names no schema means ``loopwright_memory``.

    Raises:
        ConfigError: If it is none of these.
        StoreError: If the file cannot be used; a database is reached, and told of, at the first use.
    """
    kind, colon, place = spec.strip().partition(":")
    if kind == "memory" and not colon:
        return _in_file(Path(":memory:"))
    if kind == "sqlite" and place.strip() and not place.startswith("//"):
        return _in_file(Path(place.strip()).expanduser())
    if is_postgres(spec.strip()):
        return _in_postgres(spec.strip())
    # What is unknown may be an address with a password in it.
    shown = f"{spec.partition('://')[0]}://..." if "://" in spec else spec
    raise ConfigError(f"unknown memory {shown!r}. Known: 'memory', 'sqlite:FILE', 'postgresql://USER@HOST/DATABASE'.")


@dataclass(frozen=True)
class _Place:
    """Where a memory is, for people, and what it raises where it cannot be used."""

    name: str
    hint: str
    failures: tuple[type[Exception], ...]

    @contextmanager
    def told(self) -> Generator[None]:
        try:
            yield
        except (*self.failures, ValueError) as problem:
            # LangGraph's store hides what SQLite says within a ValueError.
            said = next((each for each in (problem.__cause__, problem) if isinstance(each, self.failures)), None)
            if said is None:
                raise
            reason = " ".join(str(said).split())
            raise StoreError(f"the memory {self.name} cannot be used ({reason}). {self.hint}") from problem


def _in_file(path: Path) -> Memory:
    """Keep in a file of SQLite; ``:memory:`` keeps until it is closed, and writes none."""
    from langgraph.store.sqlite import SqliteStore

    hint = "Name a file that you may write to and that is new or was made as a memory."
    place = _Place(str(path), hint, (OSError, sqlite3.Error))
    with place.told():
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
    return Memory(store, place, connection.close, deleted=lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))


def _in_postgres(url: str) -> Memory:
    """Keep in a schema of PostgreSQL, for all servers and workers that name it; it is reached at the first use."""
    try:
        import psycopg
        from langgraph.store.postgres import PostgresStore

        from loopwright.checkpoints.postgres import connected, is_made, make_tables, pool_at
    except ModuleNotFoundError as missing:
        extra = "pip install 'loopwright[postgres]'"
        raise ConfigError(f"a memory in PostgreSQL needs {missing.name}: {extra}") from missing

    address = PostgresAddress.parse(url, schema="loopwright_memory", holds="a memory")
    hint = f"See that the server runs and lets the user {address.user} make tables there."
    pool = pool_at(address, _PATIENCE)

    def prepare() -> None:
        with connected(address, _PATIENCE) as connection:
            if not is_made(connection, address, "store_migrations", PostgresStore):
                make_tables(connection, address, PostgresStore(connection).setup)
        pool.open()

    place = _Place(str(address).removeprefix("the memory "), hint, (psycopg.Error,))
    return Memory(PostgresStore(pool), place, pool.close, prepare=prepare)


MOST_TURNS = 200
"""Turns that are kept of one conversation; the oldest are dropped."""

_PROFILES = ("profiles",)
_CONVERSATIONS = ("conversations",)
_PAGE = 500


class Memory(AbstractContextManager["Memory"]):
    """Keeps profiles and conversations. All methods may be called from any event loop, and at the same time.

    Every user has conversations of their own, and so have those who give no name, all of them together: an id names
    another conversation for each. Within one process nothing is lost; where two processes add turns to one conversation
    at the same moment, those of one may be. Every method raises `InputError` for an id that is blank, and `StoreError`
    if the store fails.
    """

    def __init__(
        self,
        store: BaseStore,
        place: _Place,
        close: Callable[[], object],
        *,
        prepare: Callable[[], object] | None = None,
        deleted: Callable[[], object] = lambda: None,
    ) -> None:
        """Keep in a store; see `open_memory`. `prepare` is called before the first use, `deleted` after a deletion."""
        self._store, self._place, self._close = store, place, close
        self._prepare, self._deleted, self._wait = prepare, deleted, _PATIENCE if prepare else _WAIT
        # Turns are added, and profiles changed, by reading and writing.
        self._lock = threading.Lock()

    async def profile(self, user_id: str) -> Profile | None:
        """What is known of a person, or None."""
        return await self._run(self._profile, _named(user_id, "user_id"))

    async def keep_profile(self, profile: Profile) -> None:
        """Keep what is known of a person in place of what was known before."""
        await self.change_profile(profile.user_id, lambda _: profile)

    async def change_profile(self, user_id: str, change: Callable[[Profile | None], Profile]) -> Profile:
        """Change what is known of a person, and give it back; no other change comes between, within one process.

        What is known now, or None, is given to `change`.
        """

        def changed(user_id: str) -> Profile:
            profile = change(self._profile(user_id))
            self._store.put(_PROFILES, user_id, _storable(profile.model_dump(mode="json")))
            return profile

        return await self._run(changed, _named(user_id, "user_id"))

    async def delete_profile(self, user_id: str) -> None:
        """Forget a person, with all conversations that belong to the person."""

        def forget(user_id: str) -> None:
            while page := self._store.search(_CONVERSATIONS, filter={"user_id": user_id}, limit=_PAGE):
                for item in page:
                    self._store.delete(_CONVERSATIONS, item.key)
            self._delete(_PROFILES, user_id)

        await self._run(forget, _named(user_id, "user_id"))

    async def turns(self, conversation_id: str, limit: int | None = None, *, user_id: str | None = None) -> list[Turn]:
        """The latest turns of a conversation, at most `limit`, oldest first; none if the user has no such one."""
        turns = await self._run(self._turns, _key(conversation_id, user_id))
        latest = turns if limit is None else turns[max(0, len(turns) - limit) :]
        return [Turn.model_validate(turn) for turn in latest]

    async def add_turns(self, conversation_id: str, turns: Sequence[Turn], user_id: str | None = None) -> None:
        """Add turns to a conversation; the first ones begin it. At most `MOST_TURNS` are kept."""

        def add(key: str) -> None:
            whole = [*self._turns(key), *(_storable(turn.model_dump(mode="json")) for turn in turns)]
            self._store.put(_CONVERSATIONS, key, {"user_id": user_id, "turns": whole[-MOST_TURNS:]})

        await self._run(add, _key(conversation_id, user_id))

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> None:
        """Forget a conversation."""
        await self._run(self._delete, _CONVERSATIONS, _key(conversation_id, user_id))

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            self._close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        def guarded() -> Any:
            # Whoever waits for a database that is gone keeps a thread, which others need.
            if not self._lock.acquire(timeout=self._wait):
                raise StoreError(f"the memory {self._place.name} is busy: try again later", transient=True)
            try:
                with self._place.told():
                    if self._prepare:
                        self._prepare()
                        self._prepare = None
                    return work(*arguments)
            finally:
                self._lock.release()

        return await asyncio.to_thread(guarded)

    def _profile(self, user_id: str) -> Profile | None:
        item = self._store.get(_PROFILES, user_id)
        return None if item is None else Profile.model_validate(item.value)

    def _turns(self, key: str) -> list[Any]:
        item = self._store.get(_CONVERSATIONS, key)
        return [] if item is None else item.value["turns"]

    def _delete(self, namespace: tuple[str, ...], key: str) -> None:
        self._store.delete(namespace, key)
        self._deleted()


def _storable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _storable(each) for key, each in cast("dict[str, Any]", value).items()}
    return [*map(_storable, value)] if isinstance(value, list) else storable(value) if isinstance(value, str) else value


def _key(conversation_id: str, user_id: str | None) -> str:
    return json.dumps([user_id, _named(conversation_id, "conversation_id")])


def _named(given: str, what: str) -> str:
    if not given.strip():
        raise InputError(f"{what} is blank: give an id that names one person or conversation")
    return given
