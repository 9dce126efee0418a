"""Profiles and conversations in a LangGraph store, and opening one by its name."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from langgraph.store.base import BaseStore

from loopwright.errors import ConfigError, InputError, StoreError
from loopwright.workflows.assistant.schemas import Profile, Turn

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

    with _told_of(path):
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
    return Memory(store, path=path, connection=connection)


@contextmanager
def _told_of(path: Path | None) -> Generator[None]:
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

    A conversation belongs to whoever began it: to a user, or to nobody, and then anyone who knows its id may read it,
    but not as a user. Within one process nothing is lost; where two processes add turns to one conversation at the same
    moment, those of one may be. Every method raises `InputError` for an id that is blank, or a conversation that is
    somebody else's, and `StoreError` if the store fails.
    """

    def __init__(
        self,
        store: BaseStore,
        *,
        path: Path | None = None,
        connection: sqlite3.Connection | None = None,
    ) -> None:
        """Keep in a store.

        Args:
            store: A store with synchronous methods, for example `InMemoryStore` or `SqliteStore`.
            path: The file that the store writes to, for messages.
            connection: What the store writes to, to take deletions out of the files and to close.
        """
        self._store = store
        self._path = path
        self._connection = connection
        # Turns are added, and profiles changed, by reading and writing, and the store for memory cannot be searched
        # while it grows.
        self._lock = threading.Lock()

    async def profile(self, user_id: str) -> Profile | None:
        """What is known of a person, or None."""
        kept = await self._run(self._value, _PROFILES, _named(user_id, "user_id"))
        return None if kept is None else Profile.model_validate(kept)

    async def keep_profile(self, profile: Profile) -> None:
        """Keep what is known of a person in place of what was known before."""
        await self.change_profile(profile.user_id, lambda _: profile)

    async def change_profile(self, user_id: str, change: Callable[[Profile | None], Profile]) -> Profile:
        """Change what is known of a person; no other change comes between, within one process.

        Args:
            user_id: The person.
            change: Makes the new profile of what is known now; None if nothing is.

        Returns:
            The new profile.
        """

        def changed(user_id: str) -> Profile:
            kept = self._value(_PROFILES, user_id)
            profile = change(None if kept is None else Profile.model_validate(kept))
            self._store.put(_PROFILES, user_id, profile.model_dump(mode="json"))
            return profile

        return await self._run(changed, _named(user_id, "user_id"))

    async def delete_profile(self, user_id: str) -> bool:
        """Forget a person, with all conversations that belong to the person.

        Returns:
            Whether there was anything.
        """
        return await self._run(self._forget, _named(user_id, "user_id"))

    async def turns(self, conversation_id: str, limit: int | None = None, *, user_id: str | None = None) -> list[Turn]:
        """The latest turns of a conversation, oldest first; none if there is no such conversation.

        Args:
            conversation_id: The conversation.
            limit: At most so many; None for all that are kept.
            user_id: Who asks.
        """
        kept = await self._run(self._conversation, conversation_id, user_id)
        turns: list[Any] = kept["turns"] if kept else []
        latest = turns if limit is None else turns[max(0, len(turns) - limit) :]
        return [Turn.model_validate(turn) for turn in latest]

    async def add_turns(self, conversation_id: str, turns: Sequence[Turn], user_id: str | None = None) -> None:
        """Add turns to a conversation; the first ones begin it. At most `MOST_TURNS` are kept.

        Args:
            conversation_id: The conversation.
            turns: The turns, oldest first.
            user_id: Whose conversation it is; None for nobody's.
        """
        await self._run(self._add, conversation_id, turns, user_id)

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> bool:
        """Forget a conversation.

        Returns:
            Whether there was one.
        """
        return await self._run(self._delete, conversation_id, user_id)

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _run(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.to_thread(self._guarded, work, *arguments)

    def _guarded(self, work: Callable[..., Any], *arguments: Any) -> Any:
        with self._lock, _told_of(self._path):
            return work(*arguments)

    def _value(self, namespace: tuple[str, ...], key: str) -> dict[str, Any] | None:
        item = self._store.get(namespace, key)
        return None if item is None else item.value

    def _conversation(self, conversation_id: str, user_id: str | None) -> dict[str, Any] | None:
        kept = self._value(_CONVERSATIONS, _named(conversation_id, "conversation_id"))
        if kept is not None and kept["user_id"] != user_id:
            raise InputError(
                f"conversation {conversation_id!r} belongs to somebody else: give the user_id that began it, or begin "
                "another one"
            )
        return kept

    def _add(self, conversation_id: str, turns: Sequence[Turn], user_id: str | None) -> None:
        kept = self._conversation(conversation_id, user_id)
        whole = [*(kept["turns"] if kept else []), *(turn.model_dump(mode="json") for turn in turns)]
        self._store.put(_CONVERSATIONS, conversation_id, {"user_id": user_id, "turns": whole[-MOST_TURNS:]})

    def _forget(self, user_id: str) -> bool:
        found = self._value(_PROFILES, user_id) is not None
        while page := self._store.search(_CONVERSATIONS, filter={"user_id": user_id}, limit=_PAGE):
            found = True
            for item in page:
                self._store.delete(_CONVERSATIONS, item.key)
        self._store.delete(_PROFILES, user_id)
        self._erase()
        return found

    def _delete(self, conversation_id: str, user_id: str | None) -> bool:
        if self._conversation(conversation_id, user_id) is None:
            return False
        self._store.delete(_CONVERSATIONS, conversation_id)
        self._erase()
        return True

    def _erase(self) -> None:
        if self._connection is not None:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _named(given: str, what: str) -> str:
    if not given.strip():
        raise InputError(f"{what} is blank: give an id that names one person or conversation")
    return given
