"""Where a PostgreSQL database is, and how to connect to it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from loopwright.errors import ConfigError, unknown_name_message

if TYPE_CHECKING:
    import psycopg

STANDSTILL = 3000
"""Milliseconds after which a process that stands still in a transaction loses what it has locked in it."""

_SCHEMA = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OPTIONS = ("host", "schema", "sslmode")
# A host that vanishes without a word is given up after half a minute; the system's own limits are hours.
_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "tcp_user_timeout": 20_000}
_SSLMODES = ("disable", "prefer", "require", "verify-full")


def is_postgres(address: str) -> bool:
    """Whether an address names a PostgreSQL database."""
    return address.partition(":")[0] in ("postgres", "postgresql")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """Where a database is, and who asks."""

    user: str
    """The user."""
    password: str | None
    """The password; never in a message."""
    host: str
    """The server's name, or the folder of its socket, which begins with a slash."""
    port: int
    """The port."""
    database: str
    """The database."""
    schema: str
    """The schema that holds the tables."""
    sslmode: str
    """How the connection is encrypted: "disable", "prefer", "require" or "verify-full"."""

    holds: str
    """What the schema holds, for messages: "a knowledge store"."""

    @classmethod
    def parse(cls, url: str, *, schema: str, holds: str) -> PostgresAddress:
        """Read ``postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME&sslmode=MODE``.

        Args:
            url: The address; only the database is needed. ``sslmode`` is "disable", "prefer" (the default: encrypted
                where the server can), "require", or "verify-full" (its certificate is checked too); ``host`` may name
                the folder of a socket.
            schema: The schema where the address names none.
            holds: What the schema holds, for messages: "a knowledge store".

        Raises:
            ConfigError: If a part is wrong; the message does not show the password.
        """
        form = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME"
        try:
            parts = urlsplit(url)
            port = parts.port or 5432
        except ValueError:
            # The cause would show the address, and the password with it.
            raise ConfigError(f"the address of the PostgreSQL database is unreadable: write it as {form}") from None
        options = dict(parse_qsl(parts.query))
        for name in options:
            if name not in _OPTIONS:
                raise ConfigError(unknown_name_message("option of a PostgreSQL address", name, _OPTIONS))
        database = unquote(parts.path.lstrip("/"))
        if not database:
            raise ConfigError(f"the address of the PostgreSQL server {parts.hostname} names no database: write {form}")
        schema = options.get("schema", schema)
        if not _SCHEMA.fullmatch(schema):
            raise ConfigError(f"{schema!r} cannot be the schema of {holds}: take small letters, digits and underscores")
        sslmode = options.get("sslmode", "prefer")
        if sslmode not in _SSLMODES:
            raise ConfigError(unknown_name_message("sslmode", sslmode, _SSLMODES))
        return cls(
            user=unquote(parts.username or "postgres"),
            password=unquote(parts.password) if parts.password else None,
            host=options.get("host") or parts.hostname or "localhost",
            port=port,
            database=database,
            schema=schema,
            sslmode=sslmode,
            holds=holds,
        )

    def libpq(self) -> dict[str, Any]:
        """Give what psycopg takes to connect; `settings` come next."""
        return {
            "user": self.user,
            "password": self.password,
            "host": self.host,
            "port": self.port,
            "dbname": self.database,
            "sslmode": self.sslmode,
            "sslrootcert": "system" if self.sslmode == "verify-full" else None,
            "client_encoding": "UTF8",
            "application_name": "loopwright",
            "connect_timeout": 10,
            **_ALIVE,
        }

    def settings(self, idle: int = 0, beside: str = "") -> bytes:
        """The statement with which every connection begins: a pooler refuses or drops what is set while connecting.

        Args:
            idle: Milliseconds after which the server takes back a transaction in which nothing happens: a process
                that stands still keeps its locks no longer. 0 leaves it as the server has it.
            beside: Schemas in which names are looked up besides, each after a comma.
        """
        wanted = {"search_path": self.schema + beside, "idle_in_transaction_session_timeout": idle}
        parts = (f"set_config('{name}', '{value}', false)" for name, value in wanted.items() if value)
        return f"SELECT {', '.join(parts)}".encode()

    def configure(self, connection: psycopg.Connection[Any], idle: int = 0, beside: str = "") -> None:
        """Begin a connection; see `settings`."""
        connection.execute(self.settings(idle, beside))
        connection.commit()

    def make_schema(self, connection: psycopg.Connection[Any]) -> None:
        """Make the schema where it is missing: whoever may make none is refused even where it is there."""
        there = connection.execute("SELECT to_regnamespace(%s)", [f'"{self.schema}"']).fetchone()
        if there == (None,):
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"'.encode())

    def __str__(self) -> str:
        place = f"in schema {self.schema} of {self.database} at {self.host}:{self.port}"
        return f"{self.holds.replace('a ', 'the ', 1)} {place}"


def with_schema(url: str, default: str, what: str) -> str:
    """The same address, with a schema beside the one that it names.

    Args:
        url: The address.
        default: The schema where it names none.
        what: What is appended to the schema that it names, "checkpoints" for example.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    options["schema"] = f"{options['schema']}_{what}" if "schema" in options else default
    return urlunsplit(parts._replace(query=urlencode(options)))
