"""Writing in groups, everything in its order; and a database that fails says what, to those whom it concerns."""

from __future__ import annotations

import asyncio
import os
import resource
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import a_run, kept, news, shown

from loopwright.database import opening
from loopwright.errors import StoreError
from loopwright.postgres import PostgresAddress
from loopwright.runs.schemas import RunFilter
from loopwright.runs.store import RunStore, open_runs
from loopwright.runs.writer import Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked file is waited for in each attempt; here a tenth of the usual time."""
    monkeypatch.setattr(opening, "BUSY", 0.5)


@pytest.fixture
def store(path: Path) -> Iterator[RunStore]:
    opened = open_runs(f"sqlite:{path}")
    for number in range(4):
        opened.create(a_run(f"r{number}"), shown())
    yield opened
    opened.close()


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Another process writes; whoever wants to write waits."""
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def put(writer: Writer, *given: Any) -> asyncio.Task[None]:
    """Have something kept, without waiting for it."""
    return asyncio.create_task(writer.write(*given))


async def test_what_was_acknowledged_is_kept(store: RunStore) -> None:
    writer = Writer(store)

    async def work(id: str) -> None:
        for seq in range(1, 51):
            await writer.write(a_run(id, events=seq), [news(id, [seq])])
            assert store.count(id) >= seq

    await asyncio.gather(*(work(f"r{number}") for number in range(4)))
    for number in range(4):
        assert store.events(f"r{number}") == kept(range(1, 51))
        assert store.get(f"r{number}").events == 50
    await writer.aclose()


async def test_closing_keeps_what_waits_and_takes_no_more(store: RunStore) -> None:
    writer = Writer(store)
    futures = [put(writer, None, [news("r1", [seq])]) for seq in range(1, 31)]
    await asyncio.sleep(0)
    await writer.aclose()
    await writer.aclose()
    await asyncio.gather(*futures)
    assert store.count("r1") == 30
    with pytest.raises(StoreError, match="writer of the run history is closed"):
        await writer.write(a_run("r1"))


async def test_a_cancelled_wait_cancels_no_write(store: RunStore, path: Path) -> None:
    writer = Writer(store)
    with locked(path):
        waiting = [asyncio.create_task(writer.write(None, [news("r2", [seq])])) for seq in (1, 2)]
        await asyncio.sleep(0.05)
        for task in waiting:
            task.cancel()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
    await writer.write(None)
    assert store.events("r2") == kept([1, 2])
    await writer.aclose()


async def test_what_cannot_be_kept_takes_nothing_else_with_it(store: RunStore, path: Path) -> None:
    writer = Writer(store)
    unwritable: Any = a_run("r1").model_copy(update={"input": {"x": object()}})
    with locked(path):
        first = put(writer, None, [news("r0", [1])])
        await asyncio.sleep(0.1)  # until the thread has taken it
        good = [put(writer, a_run("r2", title="new"), [news("r2", [1])])]
        bad = put(writer, unwritable, [news("r1", [1])])
        good.append(put(writer, None, [news("r2", [2])]))
        await asyncio.sleep(0)
    for future in (first, *good):
        await future
    with pytest.raises(Exception, match="serialize"):
        await bad
    assert store.events("r2") == kept([1, 2])
    assert store.get("r2").title == "new"
    assert store.count("r1") == 0
    await writer.write(None, [news("r1", [1])])
    assert store.count("r1") == 1
    await writer.aclose()


async def test_a_passing_failure_is_tried_again_for_as_long_as_there_is_patience(store: RunStore, path: Path) -> None:
    patient, impatient = Writer(store), Writer(store, patience=0)
    with locked(path):
        kept_later = put(patient, None, [news("r1", [1])])
        with pytest.raises(StoreError, match="locked") as caught:
            await impatient.write(a_run("r2", title="never"), [news("r2", [1])])
        assert caught.value.transient
        # The patient one has failed as often by now, or does in a moment.
        await asyncio.sleep(0.3)
        assert not kept_later.done()
    await kept_later
    assert store.count("r1") == 1
    assert store.get("r2").title == ""
    await patient.aclose()
    await impatient.aclose()


def beside(url: str) -> psycopg.Connection:
    """A connection beside those of the store, which nobody takes for one of them."""
    address = PostgresAddress.parse(url, schema="", holds="")
    options = address.libpq(address.schema) | {"application_name": "admin", "autocommit": True}
    return psycopg.connect(**options)


def test_a_damaged_entry_is_named(store: RunStore, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET document = '{'")
        connection.commit()
    with pytest.raises(StoreError, match="entry of run 'r1' is damaged") as caught:
        store.get("r1")
    assert not caught.value.transient
    assert store.list(RunFilter()).total == 4


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


def test_a_full_disk_is_an_error_and_costs_nothing_that_was_kept(path: Path) -> None:
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    support = Path(__file__).parents[2] / "support"
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(support)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    number, message = done.stdout.split(maxsplit=1)
    assert int(number) > 300
    assert "nothing was changed" in message
    with closing(open_runs(f"sqlite:{path}")) as store:
        assert store.events("r1", limit=10**6) == kept(range(1, int(number) + 101))


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
