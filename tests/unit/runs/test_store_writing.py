"""Opening a run history and writing to it in groups, in order; what fails says what, and never a password."""

import asyncio
import resource
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from postgres import END_OTHERS, beside, postgres_server, postgres_url  # noqa: F401
from run_histories import a_run, kept, news, shown

from loopwright.database import database
from loopwright.errors import ConfigError, StoreError
from loopwright.retrieval.stores import open_store
from loopwright.runs.checkpoints import checkpoints
from loopwright.runs.live import REMEMBERED, LiveRun, Writer
from loopwright.runs.schemas import RunFilter, RunLimits
from loopwright.runs.store import KeptEvent, NewEvents, RunStore, open_runs


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked file is waited for in each attempt; here a tenth of the usual time."""
    monkeypatch.setattr(database, "BUSY", 0.5)


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


async def test_what_was_kept_last_is_followed_without_the_store(store: RunStore) -> None:
    live, heard = LiveRun(a_run("r1"), Writer(store), RunLimits(), {"run": 0, "client": 0}), asyncio.Event()
    live.on_news = heard.set

    async def behind(*made: str) -> list[list[int] | None]:
        heard.clear()
        for data in made:
            live.add("run", "told", data)
        await heard.wait()
        found = [live.kept_behind("run", after) for after in range(5)]
        return [None if events is None else [event.seq for event in events] for events in found]

    assert await behind("1", "2") == [[1, 2], [2], [], [], []]
    assert await behind("3" * REMEMBERED, "4") == [None, None, None, [4], []], "what is long is left to the store"
    await live.end(a_run("r1"))


async def test_closing_keeps_what_waits(store: RunStore) -> None:
    writer = Writer(store)
    futures = [put(writer, None, [news("r1", [seq])]) for seq in range(1, 31)]
    await asyncio.sleep(0)
    await writer.aclose()
    await writer.aclose()
    await asyncio.gather(*futures)
    assert store.count("r1") == 30


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


def test_a_damaged_entry_is_named(store: RunStore, path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE runs SET document = '{'")
        connection.commit()
    with pytest.raises(StoreError, match="entry of run 'r1' is damaged") as caught:
        store.get("r1")
    assert not caught.value.transient
    assert store.list(RunFilter()).total == 4


def test_a_full_disk_is_an_error_and_costs_nothing_that_was_kept(path: Path, store: RunStore) -> None:
    number, (soft, hard) = 0, resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, hard))  # Python ignores the signal, so it is an error
    try:
        with pytest.raises(StoreError, match="nothing was changed"):
            while True:
                store.write(events=[news("r1", range(number + 1, number + 101))])
                number += 100
        assert store.count("r1") == number >= 300
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    store.write(events=[news("r1", range(number + 1, number + 101))])
    with closing(open_runs(f"sqlite:{path}")) as again:
        assert again.events("r1", limit=10**6) == kept(range(1, number + 101))


async def test_a_server_that_ends_its_connections_is_found_again(postgres_url: str) -> None:  # noqa: F811
    store = open_runs(postgres_url)
    store.create(a_run(), shown())
    writer = Writer(store)  # a connection may also end while it is being used
    with beside(postgres_url) as admin:
        for seq in range(1, 4):
            admin.execute(END_OTHERS)
            await writer.write(None, [news("r1", [seq])])
    await writer.aclose()
    assert store.events("r1") == kept([1, 2, 3])
    store.close()


def test_a_connection_that_ends_in_the_middle_is_a_passing_failure(postgres_url: str) -> None:  # noqa: F811
    store = open_runs(postgres_url)
    store.create(a_run(), shown())
    with ThreadPoolExecutor(1) as threads, beside(postgres_url) as admin, beside(postgres_url) as killer:
        admin.execute("BEGIN; LOCK TABLE run_events")
        writing = threads.submit(store.write, events=[news("r1", [1])])
        ended = False
        while not ended and not writing.done():
            ended = bool(killer.execute(f"{END_OTHERS} AND wait_event_type = 'Lock'").fetchall())
        with pytest.raises(StoreError, match="cannot be reached") as caught:
            writing.result()
    assert caught.value.transient
    store.write(events=[news("r1", [1])])
    assert store.count("r1") == 1
    store.close()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "unknown run history ''"),
        ("runs.db", "unknown run history 'runs.db'. Known: 'memory', 'sqlite:FILE'"),
        ("sqlite:", "unknown run history 'sqlite:'"),
        ("sqlite::memory:", "is called 'memory'"),
        ("sqlite:///runs.db", "without slashes before the file"),
        ("mysql://ada:secret@db/x", r"unknown run history 'mysql://\.\.\.'"),
        ("postgresql://ada:secret@db:port/x", "unreadable: write it as postgresql://USER:PASSWORD"),
        ("postgresql://ada:secret@db", "server db names no database"),
        ("postgresql://ada:secret@db/x?schema=A-b", "'A-b' cannot be the schema"),
        ("postgresql://ada:secret@db/x?shema=a", "the option 'shema', which libpq does not know"),
        ("postgresql://ada:1/2?secret=x@db/x", "unreadable: write it as"),
        ("postgresql://ada:1/secret@db/x", "unreadable: write it as"),
    ],
)
def test_addresses_that_lead_nowhere(url: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as caught:
        open_runs(url)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(caught.value.__cause__)


def test_a_server_that_is_not_there_is_a_passing_failure_without_the_password() -> None:
    with pytest.raises(StoreError, match=r"loopwright_runs of db at 127\.0\.0\.1:9 cannot be reached") as caught:
        open_runs("postgres://ada:secret@127.0.0.1:9/db")
    assert caught.value.transient
    error: BaseException | None = caught.value
    while error is not None:
        assert "secret" not in str(error)
        error = error.__cause__


def test_folders_and_files_of_other_kinds_are_refused_untouched(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        open_runs(f"sqlite:{tmp_path}")
    text = tmp_path / "notes.txt"
    text.write_text("These are my notes, and no database.\n" * 9)
    with pytest.raises(StoreError, match="no SQLite database, and was not touched"):
        open_runs(f"sqlite:{text}")
    with pytest.raises(StoreError, match=r"deep/runs\.db cannot be opened, or its folder made"):
        open_runs(f"sqlite:{text / 'deep' / 'runs.db'}")
    with pytest.raises(StoreError, match="cannot be opened, or its folder made: File name too long"):
        open_runs(f"sqlite:{'a' * 300}.db")
    assert text.read_text().startswith("These are my notes")


def test_a_knowledge_store_and_a_run_history_do_not_take_each_other_for_their_own(postgres_url: str) -> None:  # noqa: F811
    open_store(postgres_url).close()
    with pytest.raises(StoreError, match="belongs to something else"):
        open_runs(postgres_url)


def test_what_libpq_says_of_the_last_attempt_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text("[ours]\nhost=nowhere.invalid\ndbname=db")
    monkeypatch.setenv("PGSERVICEFILE", str(path))
    with pytest.raises(StoreError, match=r"cannot be reached: .*nowhere\.invalid"):
        open_runs("postgresql://?service=ours")
    with pytest.raises(StoreError, match='failed: invalid sslmode value: "x": correct the options'):
        open_runs("postgresql://127.0.0.1:9,127.0.0.1:9/db?sslmode=x")


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("CREATE TABLE orders (id)", r"holds the tables orders\), and was not touched"),
        ("CREATE TABLE run_history (since)", r"holds the tables run_history\), and was not touched"),
        ("CREATE TABLE run_history AS SELECT 'csv' AS format", "has the format csv, .*: use the version of Loopwright"),
        ("UPDATE run_history SET format = 7", "has the format 7, .* reads the format 4; .*: update Loopwright,"),
        ("UPDATE run_history SET format = 0", "has the format 0, .*: use the version of Loopwright that made it,"),
        ("DELETE FROM run_history", "has the format none, .*: use the version of Loopwright that made it,"),
        ("INSERT INTO run_history VALUES (5)", "has the format 4, 5, .*: update Loopwright,"),
    ],
)
def test_another_database_or_format_is_refused_with_what_to_do_and_not_touched(path, statement, told):
    ours = "CREATE" not in statement
    if ours:
        open_runs(f"sqlite:{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"(?s)runs.db .*{told}") as caught:
        open_runs(f"sqlite:{path}")
    assert "it was not touched" in str(caught.value) or not ours
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", ['{"type": "of_later"}', '{"type": "state"}', "{", "[]"])
def test_an_event_of_another_version_is_named(tmp_path, data):
    with closing(open_runs(f"sqlite:{tmp_path / 'runs.db'}")) as store:
        store.create(a_run("r1"), shown())
        store.write([], [NewEvents("r1", "run", [KeptEvent(1, "state", data)])])
        with pytest.raises(StoreError, match=r"event 1 \(state\) of run r1 is damaged, or of another .* delete"):
            checkpoints(store, "r1")
