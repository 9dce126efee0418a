"""Profiles and conversations in a LangGraph store of SQLite, and opening one by its name."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from loopwright.errors import ConfigError, InputError, StoreError
from loopwright.workflows.assistant.schemas import Profile, Turn

_WAIT = 30.0


def open_memory(spec: str) -> Memory:
    """Open ``"memory"``, which keeps until the process ends, or ``"sqlite:FILE"``; missing folders are made.

    Raises:
        ConfigError: If it is none of these.
        StoreError: If the file cannot be used.
    """
    kind, colon, place = spec.strip().partition(":")
    if kind == "memory" and not colon:
        return Memory(Path(":memory:"))
    if kind == "sqlite" and place.strip() and not place.startswith("//"):
        return Memory(Path(place.strip()).expanduser())
    # What is unknown may be an address with a password in it.
    shown = f"{spec.partition('://')[0]}://..." if "://" in spec else spec
    raise ConfigError(f"unknown memory {shown!r}. Known: 'memory', 'sqlite:FILE'.")


@contextmanager
def _told_of(path: Path) -> Generator[None]:
    """Errors of a memory's file, as what they mean for people."""
    try:
        yield
    except (OSError, sqlite3.Error, ValueError) as problem:
        # LangGraph's store hides what SQLite says within a ValueError.
        if isinstance(problem, ValueError) and not isinstance(problem.__cause__, sqlite3.Error):
            raise
        said = problem.__cause__ or problem
        raise StoreError(
            f"the memory {path} cannot be used ({said}). Name a file that you may write to and that is new or was made "
            "as a memory."
        ) from problem


MOST_TURNS = 200
"""Turns that are kept of one conversation; the oldest are dropped."""

_PROFILES = ("profiles",)
_CONVERSATIONS = ("conversations",)
_PAGE = 500


class Memory:
    """Keeps profiles and conversations. All methods may be called from any event loop, and at the same time.

    Every user has conversations of their own, and so have those who give no name, all of them together: an id names
    another conversation for each. Within one process nothing is lost; where two processes add turns to one conversation
    at the same moment, those of one may be. Every method raises `InputError` for an id that is blank, and `StoreError`
    if the store fails.
    """

    def __init__(self, path: Path) -> None:
        """Keep in a file of SQLite; ``:memory:`` keeps until it is closed, and writes none."""
        from langgraph.store.sqlite import SqliteStore

        self._path = path
        # Turns are added, and profiles changed, by reading and writing.
        self._lock = threading.Lock()
        with _told_of(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=_WAIT, check_same_thread=False, isolation_level=None)
            try:
                # Deleted people are overwritten, in the file and, by a checkpoint after each deletion, in its log.
                self._connection.execute("PRAGMA secure_delete = ON")
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._store = SqliteStore(self._connection)
                self._store.setup()
            except sqlite3.Error:
                self._connection.close()
                raise

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
            self._store.put(_PROFILES, user_id, profile.model_dump(mode="json"))
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
            whole = [*self._turns(key), *(turn.model_dump(mode="json") for turn in turns)]
            self._store.put(_CONVERSATIONS, key, {"user_id": user_id, "turns": whole[-MOST_TURNS:]})

        await self._run(add, _key(conversation_id, user_id))

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> None:
        """Forget a conversation."""
        await self._run(self._delete, _CONVERSATIONS, _key(conversation_id, user_id))

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        def guarded() -> Any:
            with self._lock, _told_of(self._path):
                return work(*arguments)

        return await asyncio.to_thread(guarded)

    def _profile(self, user_id: str) -> Profile | None:
        item = self._store.get(_PROFILES, user_id)
        return None if item is None else Profile.model_validate(item.value)

    def _turns(self, key: str) -> list[Any]:
        item = self._store.get(_CONVERSATIONS, key)
        return [] if item is None else item.value["turns"]

    def _delete(self, namespace: tuple[str, ...], key: str) -> None:
        self._store.delete(namespace, key)
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _key(conversation_id: str, user_id: str | None) -> str:
    return json.dumps([user_id, _named(conversation_id, "conversation_id")])


def _named(given: str, what: str) -> str:
    if not given.strip():
        raise InputError(f"{what} is blank: give an id that names one person or conversation")
    return given
