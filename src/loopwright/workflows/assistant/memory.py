"""Profiles and conversations in a database, and opening one by its address."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection, MetaData, Table, delete, func, insert, literal, select

from loopwright.database.database import Database, Format, open_database
from loopwright.database.values import text_column
from loopwright.errors import InputError, StoreError
from loopwright.postgres import is_postgres
from loopwright.workflows.assistant.schemas import Profile, Turn

MOST_TURNS = 200
"""Turns that are kept of one conversation; the oldest are dropped."""
_PATIENCE, _FILE_PATIENCE = 3.0, 30.0
"""Seconds for who uses it before: less than a run waits for a server, which it can do without; a file is only slow."""

_METADATA = MetaData()
_PROFILE = Table("profile", _METADATA, text_column("user_id", primary_key=True), text_column("kept"))
_CONVERSATION = Table(
    "conversation",
    _METADATA,
    text_column("key", primary_key=True),
    text_column("user_id", nullable=True),
    text_column("turns"),
)
"""Conversations by the user and the id together; their turns in JSON, oldest first."""
# Its columns tell the format, as long as there is one.
_FORMAT = Format([_CONVERSATION, _PROFILE], select(literal(1)), 1, "give {}", lock=0x4C57_4D45)


def open_memory(spec: str) -> Memory:
    """Open ``"memory"``, which keeps until the process ends, ``"sqlite:FILE"``, or an address in PostgreSQL.

    Missing folders, schemas and tables are made. An address that names no schema means ``loopwright_memory``.

    Raises:
        ConfigError: If it is none of these.
        StoreError: If the file cannot be used; a database is reached, and told of, at the first use.
    """

    def opened() -> Database:
        return open_database(spec.strip(), holds="a memory", schema="loopwright_memory")

    if is_postgres(spec.strip()):
        opened().close()  # its address is read, and nothing connected
        return Memory(opened)
    memory = Memory(opened, patience=_FILE_PATIENCE)
    memory.reach()
    return memory


class Memory(AbstractContextManager["Memory"]):
    """Keeps profiles and conversations. All methods may be called from any event loop, and at the same time.

    Every user has conversations of their own, and so have those who give no name, all of them together: an id names
    another conversation for each. Nothing is lost where several processes change the same at the same moment. Every
    method raises `InputError` for an id that is blank, and `StoreError` if the database fails.
    """

    def __init__(self, opened: Callable[[], Database], patience: float = _PATIENCE) -> None:
        """Keep in a database, which is opened at the first use; see `open_memory`."""
        self._open, self._patience = opened, patience
        self._database: Database | None = None
        self._lock = threading.Lock()

    def reach(self) -> Database:
        """The database, opened and with its tables made at the first use, again where that failed."""
        if self._database is None:
            database = self._open()
            database.made(_FORMAT, lambda connection: _METADATA.create_all(connection, checkfirst=False))
            self._database = database
        return self._database

    async def profile(self, user_id: str) -> Profile | None:
        """What is known of a person, or None."""
        return await self._run(_profile, _named(user_id, "user_id"), writes=False)

    async def keep_profile(self, profile: Profile) -> None:
        """Keep what is known of a person in place of what was known before."""
        await self.change_profile(profile.user_id, lambda _: profile)

    async def change_profile(self, user_id: str, change: Callable[[Profile | None], Profile]) -> Profile:
        """Change what is known of a person, and give it back; no other change comes between.

        What is known now, or None, is given to `change`.
        """

        def changed(connection: Connection, user_id: str) -> Profile:
            profile = change(_profile(connection, user_id))
            connection.execute(delete(_PROFILE).where(_PROFILE.c.user_id == user_id))
            connection.execute(insert(_PROFILE).values(user_id=user_id, kept=_text(profile.model_dump(mode="json"))))
            return profile

        return await self._run(changed, _named(user_id, "user_id"))

    async def delete_profile(self, user_id: str) -> None:
        """Forget a person, with all conversations that belong to the person."""

        def forget(connection: Connection, user_id: str) -> None:
            for table in (_CONVERSATION, _PROFILE):
                connection.execute(delete(table).where(table.c.user_id == user_id))

        await self._run(forget, _named(user_id, "user_id"), forgets=True)

    async def turns(self, conversation_id: str, limit: int | None = None, *, user_id: str | None = None) -> list[Turn]:
        """The latest turns of a conversation, at most `limit`, oldest first; none if the user has no such one."""
        turns = await self._run(_turns, _key(conversation_id, user_id), writes=False)
        latest = turns if limit is None else turns[max(0, len(turns) - limit) :]
        return [Turn.model_validate(turn) for turn in latest]

    async def add_turns(self, conversation_id: str, turns: Sequence[Turn], user_id: str | None = None) -> None:
        """Add turns to a conversation; the first ones begin it. At most `MOST_TURNS` are kept."""

        def add(connection: Connection, key: str) -> None:
            whole = [*_turns(connection, key), *(turn.model_dump(mode="json") for turn in turns)][-MOST_TURNS:]
            connection.execute(delete(_CONVERSATION).where(_CONVERSATION.c.key == key))
            connection.execute(insert(_CONVERSATION).values(key=key, user_id=user_id, turns=_text(whole)))

        await self._run(add, _key(conversation_id, user_id))

    async def delete_conversation(self, conversation_id: str, user_id: str | None = None) -> None:
        """Forget a conversation."""
        key = _key(conversation_id, user_id)
        forget = delete(_CONVERSATION).where(_CONVERSATION.c.key == key)
        await self._run(lambda connection, _: connection.execute(forget), key, forgets=True)

    def close(self) -> None:
        """Let go of the database."""
        with self._lock:
            if self._database:
                self._database.close()

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def _run(
        self, work: Callable[[Connection, str], Any], name: str, *, writes: bool = True, forgets: bool = False
    ) -> Any:
        def guarded() -> Any:
            # Whoever waits for a database that is gone keeps a thread, which others need.
            if not self._lock.acquire(timeout=self._patience):
                raise StoreError("the memory is busy: try again later", transient=True)
            try:
                database = self.reach()
                with database.writing() if writes else database.reading() as connection:
                    if writes:
                        _alone(connection)
                    found = work(connection, name)
                if forgets and database.dialect == "sqlite":
                    with database.reading() as connection:  # nor does its log keep what was deleted
                        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
                return found
            finally:
                self._lock.release()

        return await asyncio.to_thread(guarded)


def _alone(connection: Connection) -> None:
    """See that no other process changes anything at the same time, and that what is deleted is overwritten."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
    else:
        connection.execute(select(func.pg_advisory_xact_lock(_FORMAT.lock)))


def _profile(connection: Connection, user_id: str) -> Profile | None:
    kept = connection.scalar(select(_PROFILE.c.kept).where(_PROFILE.c.user_id == user_id))
    return None if kept is None else Profile.model_validate_json(kept)


def _turns(connection: Connection, key: str) -> list[Any]:
    return json.loads(connection.scalar(select(_CONVERSATION.c.turns).where(_CONVERSATION.c.key == key)) or "[]")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _key(conversation_id: str, user_id: str | None) -> str:
    return json.dumps([user_id, _named(conversation_id, "conversation_id")])


def _named(given: str, what: str) -> str:
    if not given.strip():
        raise InputError(f"{what} is blank: give an id that names one person or conversation")
    return given
