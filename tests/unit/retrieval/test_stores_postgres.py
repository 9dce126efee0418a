"""What is particular to the store in PostgreSQL: connections, schemas, and text that PostgreSQL does not take."""

from __future__ import annotations

import psycopg
import pytest
from postgres import postgres_server, postgres_url  # noqa: F401
from store_contract import contribution

from loopwright.errors import StoreError
from loopwright.postgres import PostgresAddress
from loopwright.retrieval.stores import open_store


def parsed(url: str) -> PostgresAddress:
    return PostgresAddress.parse(url, schema="loopwright", holds="a knowledge store")


def run(url: str, sql: str) -> None:
    address = parsed(url)
    options = address.libpq("public") | {"application_name": "beside", "autocommit": True}
    connection = psycopg.connect(**options)
    connection.execute(sql.encode())
    connection.close()


def test_an_address_says_it_all() -> None:
    address = parsed("postgres://me%40x:p%2Fw@db.example:6543/my%20base?schema=notes&sslmode=require")
    assert (address.user, address.password, address.host) == ("me@x", "p/w", "db.example")
    assert (address.port, address.database, address.schema) == (6543, "my base", "notes")
    assert str(address) == "the knowledge store in schema notes of my base at db.example:6543"
    assert parsed("postgresql:///base").schema == "loopwright"


def test_schemas_are_apart(postgres_url: str) -> None:  # noqa: F811
    with open_store(postgres_url) as one, open_store(f"{postgres_url}_other") as other:
        one.put([contribution("a", "word")])
        assert (other.digests(), other.search_text("word", 3)) == ({}, [])


def test_a_schema_of_something_else_is_not_touched(postgres_url: str) -> None:  # noqa: F811
    schema = parsed(postgres_url).schema
    run(postgres_url, f"CREATE SCHEMA {schema} CREATE TABLE mine (x int)")
    with pytest.raises(StoreError, match="to something else"):
        open_store(postgres_url)


def test_a_user_without_rights_is_told(postgres_url: str) -> None:  # noqa: F811
    schema = parsed(postgres_url).schema
    run(postgres_url, f"CREATE ROLE guest_{schema} LOGIN")
    with pytest.raises(StoreError, match="give this user the rights") as caught:
        open_store(postgres_url.replace("//postgres:@", f"//guest_{schema}:@"))
    assert not caught.value.transient


def test_a_database_that_is_not_there(postgres_url: str) -> None:  # noqa: F811
    with pytest.raises(StoreError, match="createdb"):
        open_store(postgres_url.replace("/postgres?", "/nowhere?"))


def test_nul_and_endless_words_are_stored(postgres_url: str) -> None:  # noqa: F811
    endless = "ab1" * 3000
    with open_store(postgres_url) as store:
        store.put([contribution("a", f"word\x00s {endless} end")])
        (passage,) = store.passages_of("a")
        assert passage.text == f"word\ufffds {endless} end"
        assert [hit.passage_id for hit in store.search_text(endless, 3)] == ["a::0"]
