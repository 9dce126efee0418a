"""Opening a run history: addresses, missing and foreign places, other versions, and messages without passwords."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from run_histories import a_run, shown

from loopwright.errors import ConfigError, StoreError
from loopwright.retrieval.stores import open_store
from loopwright.runs.schemas import RunFilter
from loopwright.runs.states import checkpoints
from loopwright.runs.store import KeptEvent, NewEvents, open_runs


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
        ("postgresql://ada:secret@db/x?sslmode=maybe", "unknown sslmode 'maybe'"),
        ("postgresql://ada:secret@db/x?shema=a", "option of a PostgreSQL address 'shema'. Did you mean 'schema'"),
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


def test_names_with_signs_that_addresses_know(tmp_path: Path) -> None:
    path = tmp_path / "a?b=c%20&d#é .db"
    store = open_runs(f"sqlite:{path}")
    store.create(a_run(), shown())
    store.close()
    assert path.is_file()


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


def test_a_database_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE orders (id)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"holds the tables orders\), and was not touched"):
        open_runs(f"sqlite:{path}")
    assert path.read_bytes() == before


def test_a_knowledge_store_and_a_run_history_do_not_take_each_other_for_their_own(postgres_url: str) -> None:  # noqa: F811
    open_store(postgres_url).close()
    with pytest.raises(StoreError, match="belongs to something else"):
        open_runs(postgres_url)


def test_the_schema_of_postgres_has_a_default(postgres_server: str) -> None:  # noqa: F811
    with closing(open_runs(postgres_server)) as store:
        before = store.list(RunFilter()).total
        store.create(a_run("default"), shown())
    with closing(open_runs(f"{postgres_server}&schema=loopwright_runs")) as store:
        assert store.list(RunFilter()).total == before + 1
        store.delete("default")


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (["UPDATE run_history SET format = 7"], "has the format 7, .* reads the format 4; .*: update Loopwright,"),
        (["UPDATE run_history SET format = 0"], "has the format 0, .*: use the version of Loopwright that made it,"),
        (["DELETE FROM run_history"], "has the format none, .*: use the version of Loopwright that made it,"),
        (["INSERT INTO run_history VALUES (5)"], "has the format 4, 5, .*: update Loopwright,"),
    ],
)
def test_a_history_of_another_format_is_refused_with_what_to_do_and_not_touched(tmp_path, statements, told):
    path = tmp_path / "runs.db"
    open_runs(f"sqlite:{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=f"(?s)runs.db .*{told}") as caught:
        open_runs(f"sqlite:{path}")
    assert "it was not touched" in str(caught.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("data", ['{"type": "of_later"}', '{"type": "state"}', "{", "[]"])
def test_an_event_of_another_version_is_named(tmp_path, data):
    with closing(open_runs(f"sqlite:{tmp_path / 'runs.db'}")) as store:
        store.create(a_run("r1"), shown())
        store.write([], [NewEvents("r1", "run", [KeptEvent(1, "state", data)])])
        with pytest.raises(
            StoreError, match=r"event 1 \(state\) of run r1 is damaged, or of another version .* delete"
        ):
            checkpoints(store, "r1")
