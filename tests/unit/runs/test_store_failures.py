"""What the run history's database does when it fails: it says what, and whether to try again."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import a_run, kept, news, shown

from loopwright.errors import StoreError
from loopwright.postgres import PostgresAddress
from loopwright.runs.schemas import RunFilter
from loopwright.runs.store import RunStore, open_runs
from loopwright.runs.writer import Writer


def opened(path: Path) -> RunStore:
    return open_runs(f"sqlite:{path}")


def beside(url: str) -> psycopg.Connection:
    """A connection beside those of the store, which nobody takes for one of them."""
    address = PostgresAddress.parse(url, schema="", holds="")
    options = address.libpq(address.schema) | {"application_name": "admin", "autocommit": True}
    return psycopg.connect(**options)


def test_a_damaged_entry_is_named(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    store = opened(path)
    store.create(a_run("broken"), shown())
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET document = '{'")
        connection.commit()
    with pytest.raises(StoreError, match="entry of run 'broken' is damaged") as caught:
        store.get("broken")
    assert not caught.value.transient
    assert store.list(RunFilter()).total == 1
    store.close()


FILL = textwrap.dedent(
    """
    import resource, sys
    from run_histories import a_run, news, shown
    from loopwright.errors import StoreError
    from loopwright.runs.store import open_runs

    store = open_runs(f"sqlite:{sys.argv[1]}")
    store.create(a_run(), shown())
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    number = 0
    try:
        while True:
            store.write(events=[news("r1", range(number + 1, number + 101))])
            number += 100
    except StoreError as error:
        assert store.count("r1") == number
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        store.write(events=[news("r1", range(number + 1, number + 101))])
        print(number, error)
    """
)


def test_a_full_disk_is_an_error_and_costs_nothing_that_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    support = Path(__file__).parents[2] / "support"
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path)], capture_output=True, text=True, env={"PYTHONPATH": str(support)}
    )
    assert (done.returncode, done.stderr) == (0, "")
    number, message = done.stdout.split(maxsplit=1)
    assert int(number) > 300
    assert "nothing was changed" in message
    store = opened(path)
    assert store.events("r1", limit=10**6) == kept(range(1, int(number) + 101))
    store.close()


async def test_a_server_that_ends_its_connections_is_found_again(postgres_url: str) -> None:  # noqa: F811
    store = open_runs(postgres_url)
    store.create(a_run(), shown())
    writer = Writer(store)  # a connection may also end while it is being used
    with beside(postgres_url) as admin:
        for seq in range(1, 4):
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'loopwright'"
            )
            await writer.write(None, [news("r1", [seq])])
    await writer.aclose()
    assert store.events("r1") == kept([1, 2, 3])
    store.close()


def test_a_connection_that_ends_in_the_middle_is_a_passing_failure(postgres_url: str) -> None:  # noqa: F811
    store = open_runs(postgres_url)
    store.create(a_run(), shown())
    with (
        ThreadPoolExecutor(1) as threads,
        beside(postgres_url) as admin,
        beside(postgres_url) as killer,
        admin.transaction(force_rollback=True),
    ):
        admin.execute("LOCK TABLE run_events")
        writing = threads.submit(store.write, events=[news("r1", [1])])
        ended = False
        while not ended and not writing.done():
            found = killer.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'loopwright' "
                "AND wait_event_type = 'Lock'"
            )
            ended = bool(found.fetchall())
        with pytest.raises(StoreError, match="cannot be reached") as caught:
            writing.result()
    assert caught.value.transient
    store.write(events=[news("r1", [1])])
    assert store.count("r1") == 1
    store.close()
