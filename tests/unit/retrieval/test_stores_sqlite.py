"""What is particular to the store in an SQLite file: the file, its errors, and its matrix of vectors."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from store_contract import BM25_QUERIES, bm25, bm25_passages, contribution

from loopwright.errors import StoreError
from loopwright.retrieval.stores.sqlite import SqliteStore


def test_a_missing_file_is_not_made_for_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"no knowledge store at .*k\.db: ingest documents first"):
        SqliteStore(tmp_path / "k.db", create=False)
    assert [*tmp_path.iterdir()] == []


def _other_application(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mine (x)")
    connection.commit()
    connection.close()


def _other_version(path: Path) -> None:
    SqliteStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE counter SET value = 99 WHERE name = 'version'")
    connection.commit()
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda path: path.write_bytes(b"this is no database, " * 100), "no SQLite database"),
        (_other_application, "to something else"),
        (_other_version, "has the format 99"),
    ],
)
def test_another_file_is_refused_and_not_touched(tmp_path: Path, make, problem: str) -> None:
    path = tmp_path / "k.db"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=problem) as caught:
        SqliteStore(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before


def test_scores_are_bm25() -> None:
    given = bm25_passages()
    with SqliteStore(":memory:") as store:
        store.put([*given, contribution("extra", "w1 w2 w3")])
        store.delete(["extra"])
        for query in BM25_QUERIES:
            expected = bm25(given, query)[:25]
            found = store.search_text(query, 25)
            assert [hit.passage_id for hit in found] == [id for id, _ in expected]
            assert [hit.score for hit in found] == pytest.approx([score for _, score in expected], abs=1e-8)


def test_a_damaged_file_is_an_error_and_never_nothing_found(tmp_path: Path) -> None:
    path = tmp_path / "k.db"
    with SqliteStore(path) as store:
        store.put([contribution(f"d{number}", "word " * 200) for number in range(50)])
    content = bytearray(path.read_bytes())
    content[4096:] = b"\x5a" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"k\.db"), SqliteStore(path) as store:
        store.search_text("word", 3)


def test_a_store_that_another_process_writes_to_is_locked_for_writers_only(tmp_path: Path) -> None:
    path = tmp_path / "k.db"
    with SqliteStore(path, timeout=0.05) as store:
        store.put([contribution("a", "word")])
        writer = sqlite3.connect(path, isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as caught:
            store.put([contribution("b", "word")])
        assert caught.value.transient
        assert len(store.search_text("word", 3)) == 1
        with SqliteStore(path) as reader:
            assert list(reader.digests()) == ["a"]
        writer.execute("ROLLBACK")
        writer.close()
        store.put([contribution("b", "word")])
        assert list(store.digests()) == ["a", "b"]


def test_vectors_are_found_whatever_was_done_in_between(tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    with SqliteStore(tmp_path / "k.db") as store, SqliteStore(tmp_path / "k.db") as other:
        kept: dict[str, np.ndarray] = {}
        for step in range(60):
            id = f"d{chance.integers(8)}"
            match chance.integers(3):
                case 0:
                    store.put([contribution(id, f"text {step}", "more")])
                    kept = {key: vector for key, vector in kept.items() if not key.startswith(f"{id}::")}
                case 1:
                    store.delete([id])
                    kept = {key: vector for key, vector in kept.items() if not key.startswith(f"{id}::")}
                case _:
                    vector = chance.normal(size=3).astype(np.float32)
                    if id in store.digests():
                        kept[f"{id}::0"] = vector
                    store.put_vectors("m", [(passage, vector) for passage in store.passages([f"{id}::0"])])
            asked = chance.normal(size=3).astype(np.float32)
            found = other.search_vector(asked, 9, model="m")
            cosines = {
                key: float(vector @ asked / np.linalg.norm(vector) / np.linalg.norm(asked))
                for key, vector in kept.items()
            }
            assert {hit.passage_id: hit.score for hit in found} == pytest.approx(cosines, abs=2e-3)
            assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
