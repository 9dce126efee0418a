"""Opening a knowledge store by its name, and what is particular to one in an SQLite file or in PostgreSQL."""

import sqlite3
from pathlib import Path

import pytest
from postgres import beside, postgres_server, postgres_url  # noqa: F401
from store_contract import contribution

from loopwright.errors import ConfigError, StoreError
from loopwright.postgres import PostgresAddress
from loopwright.retrieval.stores import KnowledgeStore, open_store

SECRET = "hunter2"


@pytest.mark.parametrize("form", ["sqlite:{}", "{}"])
@pytest.mark.parametrize("name", ["k.db", "deeper/ไทย k.sqlite", "a?b=c%20&d#é .db"])
def test_a_file_is_made_with_its_folder(tmp_path: Path, form: str, name: str) -> None:
    path = tmp_path / name
    with open_store(form.format(path)) as store:
        assert isinstance(store, KnowledgeStore)
        store.put([contribution("a", "word")])
    with open_store(str(path)) as store:
        assert store.digests() == {"a": repr(("word",))}


@pytest.mark.parametrize(
    "spec", ["", "sqlite:", "sqlite: ", "notes", "mysql://u:hunter2@h/db", "postgres:db", "mem", "https://x/y.db"]
)
def test_other_names_are_refused_with_the_known_ones(spec: str) -> None:
    with pytest.raises(ConfigError, match=r"'memory'.*sqlite:FILE.*postgresql://") as caught:
        open_store(spec)
    assert SECRET not in str(caught.value)


def test_a_damaged_file_is_an_error_and_never_nothing_found(tmp_path: Path) -> None:
    path = tmp_path / "k.db"
    with open_store(f"sqlite:{path}") as store:
        store.put([contribution(f"d{number}", "word " * 200) for number in range(50)])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"k\.db"), open_store(f"sqlite:{path}") as store:
        store.search_text("word", 3)


def test_a_store_that_another_process_writes_to_is_locked_for_writers_only(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("loopwright.database.database.BUSY", 0.05)
    path = tmp_path / "k.db"
    with open_store(f"sqlite:{path}") as store:
        store.put([contribution("a", "word")])
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as caught:
            store.put([contribution("b", "word")])
        assert caught.value.transient and len(store.search_text("word", 3)) == 1
        with open_store(f"sqlite:{path}") as reader:
            assert list(reader.digests()) == ["a"]
        writer.execute("ROLLBACK")
        writer.close()
        store.put([contribution("b", "word")])
        assert list(store.digests()) == ["a", "b"]


def parsed(url: str) -> PostgresAddress:
    return PostgresAddress.parse(url, schema="loopwright", holds="a knowledge store")


def test_an_address_says_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    address = parsed("postgres://me%40x:p%2Fw@db.eu:6543,other/my%20base?schema=notes&sslmode=require&sslkey=a%20b")
    names = ("user", "password", "host", "port", "dbname", "sslmode", "sslkey")
    found = [address.libpq()[name] for name in names]
    assert found == ["me@x", "p/w", "db.eu,other", "6543,", "my base", "require", "a b"]
    assert str(address) == "the knowledge store in schema notes of my base at db.eu:6543,other:5432"
    service = parsed("postgresql://?service=ours&sslmode=verify-full")
    assert str(service) == "the knowledge store in schema loopwright of the service ours"
    assert not {"user", "host", "port", "sslrootcert"} & {*service.libpq()}
    checked = "postgresql://db/base?sslmode=verify-full"
    assert parsed(checked).libpq()["sslrootcert"] == "system"
    assert parsed(f"{checked}&sslrootcert=/ours").libpq()["sslrootcert"] == "/ours"
    monkeypatch.setenv("PGSSLROOTCERT", "/ours")
    assert "sslrootcert" not in parsed(checked).libpq()
    assert parsed("postgresql:///base").schema == "loopwright"


def test_a_user_without_rights_is_told(postgres_url: str) -> None:  # noqa: F811
    schema = parsed(postgres_url).schema
    with beside(postgres_url) as other:
        other.execute(f"CREATE ROLE guest_{schema} LOGIN")
    for rights in ("make and use", "use"):
        with pytest.raises(StoreError, match=f"give this user the rights to {rights} the schema") as caught:
            open_store(postgres_url.replace("//postgres:@", f"//guest_{schema}:@"))
        assert not caught.value.transient
        open_store(postgres_url).close()


def test_a_database_that_is_not_there(postgres_url: str) -> None:  # noqa: F811
    with pytest.raises(StoreError, match="createdb"):
        open_store(postgres_url.replace("/postgres?", "/nowhere?"))


def test_endless_words_are_stored(postgres_url: str) -> None:  # noqa: F811
    endless = "ab1" * 3000
    with open_store(postgres_url) as store:
        store.put([contribution("a", f"words {endless} end")])
        assert [hit.passage_id for hit in store.search_text(endless, 3)] == ["a::0"]
