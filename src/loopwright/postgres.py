"""Where a PostgreSQL database is, and how to connect to it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from select import select
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from uuid import uuid4

from loopwright.errors import ConfigError

if TYPE_CHECKING:
    import psycopg

STANDSTILL = 3000
"""Milliseconds after which a process that stands still in a transaction loses what it has locked in it."""

_HOSTS = re.compile(r"((\[[^]]*\]|[^][:,]*)(:\d*)?(,|$))*")
_UNKNOWN = re.compile(r'invalid URI query parameter: "(\w+)"')
_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
# A host that vanishes without a word is given up after half a minute; the system's own limits are hours.
_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}
_APART: set[tuple[Any, ...]] = set()  # databases and users that were asked through a pooler in session mode
_PLACE = ("service", "host", "port", "dbname", "user")
_PATIENCE = 5.0  # seconds for another session of a pooler, which may have none left


def is_postgres(address: str) -> bool:
    """Whether an address names a PostgreSQL database."""
    return address.partition(":")[0] in ("postgres", "postgresql")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """Where a database is, and who asks."""

    options: Mapping[str, Any] = field(repr=False)
    """What the address says, by libpq's names; never in a message, since the password is among it."""
    schema: str
    """The schema that holds the tables."""
    holds: str
    """What the schema holds, for messages: "a knowledge store"."""

    @classmethod
    def parse(cls, url: str, *, schema: str, holds: str) -> PostgresAddress:
        """Read ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&OPTION=VALUE``.

        Args:
            url: The address; only the database is needed. Several hosts are written ``HOST1:PORT1,HOST2:PORT2``.
                The options are libpq's, ``sslmode`` and ``sslrootcert`` for example; ``host`` may name the folder of a
                socket.
            schema: The schema where the address names none.
            holds: What the schema holds, for messages: "a knowledge store".

        Raises:
            ConfigError: If a part is wrong, or psycopg is not installed; the message does not show the password.
        """
        try:
            from psycopg import ProgrammingError
            from psycopg.conninfo import conninfo_to_dict
        except ModuleNotFoundError as missing:
            told = f"{holds} in PostgreSQL needs {missing.name}: pip install 'loopwright[postgres]'"
            raise ConfigError(told) from missing
        form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME"
        address, named, rest = _apart(url)
        place, slash, database = address.partition("://")[2].partition("/")
        who, _at, hosts = place.rpartition("@")
        user, _colon, password = who.partition(":")
        told = "is unreadable"
        try:
            if not _HOSTS.fullmatch(hosts) or "@" in database:  # a slash of a password
                raise ProgrammingError
            options = conninfo_to_dict(f"postgresql://{hosts}{slash}{database}?{'&'.join(rest)}")
        except ProgrammingError as error:
            # Most of its messages show a part of the address, which may be one of the password.
            if (unknown := _UNKNOWN.search(str(error))) and "@" not in "".join(rest):
                told = f"has the option {unknown[1]!r}, which libpq does not know"
            raise ConfigError(f"the address of the PostgreSQL database {told}: write it as {form}") from None
        if not options.get("dbname") and "service" not in options:
            raise ConfigError(
                f"the address of the PostgreSQL server {options.get('host')} names no database: write {form}"
            )
        if not _SCHEMA.fullmatch(schema := named or schema):
            raise ConfigError(f"{schema!r} cannot be the schema of {holds}: take small letters, digits and underscores")
        # The file of a service says what is not said here.
        usual = {} if "service" in options else {"user": "postgres", "host": "localhost", "port": "5432"}
        given = {name: unquote(value) for name, value in (("user", user), ("password", password)) if value}
        return cls(options={**usual, **given, **options}, schema=schema, holds=holds)

    @property
    def user(self) -> str:
        """Who asks."""
        return self.options.get("user", "of the service")

    def libpq(self) -> dict[str, Any]:
        """Give what psycopg takes to connect; `settings` come next."""
        how = {"application_name": "loopwright", "connect_timeout": 10, **_ALIVE, **self.options}
        named = "service" in how or "PGSSLROOTCERT" in os.environ  # the file of a service may name authorities
        if not named and how.get("sslmode", os.environ.get("PGSSLMODE")) == "verify-full":
            how.setdefault("sslrootcert", "system")
        return how | {"client_encoding": "UTF8"}

    def settings(self, idle: int = 0, beside: str = "") -> bytes:
        """The statement with which every connection begins: a pooler refuses or drops what is set while connecting.

        Args:
            idle: Milliseconds after which the server takes back a transaction in which nothing happens: a process
                that stands still keeps its locks no longer. 0 leaves it as the server has it.
            beside: Schemas in which names are looked up besides, each after a comma.
        """
        wanted = {"search_path": self.schema + beside, "idle_in_transaction_session_timeout": idle}
        parts = (f"set_config('{name}', '{value}', false)" for name, value in wanted.items() if value)
        return f"SELECT pg_backend_pid(), {', '.join(parts)}".encode()

    def configure(self, connection: psycopg.Connection[Any], idle: int = 0, beside: str = "") -> None:
        """Begin a connection; see `settings`.

        Raises:
            ConfigError: If it leads through a pooler that gives what was set for it to others.
        """
        begun = connection.execute(self.settings(idle, beside), prepare=False).fetchone()
        connection.commit()
        place = tuple(self.options.get(name) for name in _PLACE)
        # A pooler tells another number than the server.
        if begun and begun[0] != connection.info.backend_pid and place not in _APART:
            if self._is_lent_out(connection):
                raise ConfigError(
                    f"{self} is asked through a pooler in transaction mode, which keeps nothing that is set for a "
                    "connection: give the address of PostgreSQL itself, or of a pooler in session mode"
                )
            _APART.add(place)

    def _is_lent_out(self, connection: psycopg.Connection[Any]) -> bool:
        """Whether another connection finds what is set for this one, or this one does not."""
        from psycopg import OperationalError

        asked, mine = b"SELECT current_setting('loopwright.session', true)", (uuid4().hex,)
        connection.execute("SELECT set_config('loopwright.session', %s, false)", mine, prepare=False)
        connection.commit()
        how: dict[str, Any] = {**self.libpq(), "autocommit": True}
        with suppress(OperationalError, ValueError), closing(type(connection).connect(**how)) as other:
            other.pgconn.send_query(b"SELECT 1")
            if select([other.pgconn.socket], (), (), _PATIENCE)[0]:  # else it waits for a session: none is lent out
                while other.pgconn.get_result():
                    pass
                # Several times: a pooler may give its sessions in turn.
                found = [who.execute(asked, prepare=False).fetchone() for who in (*[other] * 5, connection)]
                connection.commit()
                return mine in found[:5] or found[5] != mine
        return False

    def make_schema(self, connection: psycopg.Connection[Any]) -> None:
        """Make the schema where it is missing: whoever may make none is refused even where it is there."""
        there = connection.execute("SELECT to_regnamespace(%s)", [f'"{self.schema}"']).fetchone()
        if there == (None,):
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"'.encode())

    def __str__(self) -> str:
        if "service" in self.options:
            at = f"the service {self.options['service']}"
        else:
            hosts, ports = (str(self.options[name]).split(",") for name in ("host", "port"))
            pairs = zip_longest(hosts, ports, fillvalue=ports[-1])
            at = f"{self.options['dbname']} at {','.join(f'{host}:{port or 5432}' for host, port in pairs)}"
        return f"{self.holds.replace('a ', 'the ', 1)} in schema {self.schema} of {at}"


def with_schema(url: str, default: str, what: str) -> str:
    """The same address, with a schema beside the one that it names.

    Args:
        url: The address.
        default: The schema where it names none.
        what: What is appended to the schema that it names, "checkpoints" for example.
    """
    address, named, rest = _apart(url)
    schema = f"{named}_{what}" if named else default
    return f"{address}?{'&'.join([*rest, f'schema={schema}'])}"


def _apart(url: str) -> tuple[str, str | None, list[str]]:
    """An address without options, the schema that it names, which libpq does not know, and the others as written."""
    address, _mark, query = url.partition("?")
    options = [each for each in query.split("&") if each]
    named = [unquote(each.partition("=")[2]) for each in options if each.startswith("schema=")]
    return address, named[-1] if named else None, [each for each in options if not each.startswith("schema=")]
