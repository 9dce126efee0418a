"""Opening a run history: addresses, missing and foreign places, and messages without passwords."""

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
from loopwright.runs.store import open_runs


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
        (
            "postgresql://ada:secret@db/x?shema=a",
            "unknown option of a PostgreSQL address 'shema'. Did you mean 'schema'",
        ),
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


def test_a_history_is_made_where_there_is_none(tmp_path: Path, postgres_url: str) -> None:  # noqa: F811
    for url in (f"sqlite:{tmp_path / 'a' / 'b' / 'runs.db'}", postgres_url):
        with closing(open_runs(url)) as store:
            store.create(a_run(), shown())
        with closing(open_runs(url)) as store:
            assert store.list(RunFilter()).total == 1


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
    with pytest.raises(StoreError, match=r"folder .*notes\.txt/deep cannot be made"):
        open_runs(f"sqlite:{text / 'deep' / 'runs.db'}")
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
