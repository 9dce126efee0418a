"""A knowledge store and an ingest outlive SIGKILL at any moment: whole documents, whole batches, and only what is missing after."""

import random
import signal
import sqlite3
import time
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from documents import make_jsonl
from ingesting import contents, fresh, in_new_process, ingest_into, people, write
from store_contract import contribution

from loopwright.retrieval.records import Contribution
from loopwright.retrieval.stores import open_store

DOCUMENTS = 160
BATCH = 20


def document(number: int, digest: str) -> Contribution:
    texts = [f"word{number} common text {place} {digest}" for place in range(1 + number % 4)]
    return contribution(f"d{number:04}", *texts, digest=digest, names=["Ada", f"Name {number}"], tags=["t"])


def put_all(path: Path, opened: Any = None) -> None:
    """Put what is missing, in batches; every fifth document again, with another digest: replacing is killed too."""
    with open_store(f"sqlite:{path}") as store:
        if opened:
            opened.set()
        for digest, numbers in (("1", range(DOCUMENTS)), ("2", range(0, DOCUMENTS, 5))):
            known = store.digests()
            wanted = [document(number, digest) for number in numbers]
            missing = [item for item in wanted if known.get(item.document.id, "") < digest]
            for start in range(0, len(missing), BATCH):
                batch = missing[start : start + BATCH]
                store.put(batch)
                store.put_vectors("m", [(item.passages[0], np.ones(8)) for item in batch])
        while passages := store.without_vector("m", BATCH):
            store.put_vectors("m", [(passage, np.ones(8)) for passage in passages])


def check(path: Path) -> int:
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.execute("INSERT INTO passage_words (passage_words) VALUES ('integrity-check')")
    rows = connection.execute("SELECT count(*) FROM passage_words").fetchone()[0]
    connection.close()
    with open_store(f"sqlite:{path}", create=False) as store:
        stats = store.stats()
        documents = store.digests()
        for id, digest in documents.items():
            passages = store.passages_of(id)
            assert len(passages) == 1 + int(id[1:]) % 4
            assert all(passage.text.endswith(digest) for passage in passages)
        assert rows == stats.passages == len(store.links())
        assert stats.entities == len(documents) + bool(documents)
        assert sum(len(keys) for _, _, keys in store.links()) == 2 * len(documents)
    return len(documents)


@pytest.mark.parametrize("kills", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_kills_at_random_moments_leave_whole_documents(tmp_path: Path, kills: int) -> None:
    path, chance, fork = tmp_path / "k.db", random.Random(kills), get_context("fork")
    seen: list[int] = []
    for _ in range(kills):
        opened = fork.Event()
        process = fork.Process(target=put_all, args=(path, opened))
        process.start()
        assert opened.wait(60)
        time.sleep(chance.uniform(0.0, 0.3))
        process.kill()
        process.join()
        if process.exitcode == 0:
            break  # it was faster
        assert process.exitcode == -signal.SIGKILL
        seen.append(check(path))
    assert seen
    assert seen == sorted(seen)
    put_all(path)
    assert check(path) == DOCUMENTS
    with open_store(f"sqlite:{path}") as store:
        assert [int(id[1:]) for id, digest in store.digests().items() if digest == "2"] == [*range(0, DOCUMENTS, 5)]
        assert store.stats().vectors == store.stats().passages


RECORDS, FEW = 48, 6


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sources")
    make_jsonl(folder / "people.jsonl", people(RECORDS))
    write(folder, bridge__md="# Tower Bridge\n\nTower Bridge was designed by Horace Jones.\n", broken__json="{")
    return [folder]


@pytest.fixture(scope="module")
def uninterrupted(sources: list[Path]) -> dict[str, Any]:
    return fresh(sources)


@pytest.mark.matrix
@pytest.mark.parametrize("steps", [20, 2, 49])
def test_killed_after_so_many_steps(tmp_path, sources, uninterrupted, steps):
    target = str(tmp_path / "k.db")
    with pytest.raises(BrokenProcessPool):
        in_new_process(ingest_into, target, sources, steps, how="fork", batch=FEW)
    with open_store(f"sqlite:{target}") as store:
        stored = store.stats().documents
        assert stored % FEW == 0
        assert all(store.passages_of(document.id) for document in store.documents())
    report = ingest_into(target, sources, batch=FEW)
    assert report.skipped == stored
    assert report.stored == RECORDS + 1 - stored
    with open_store(f"sqlite:{target}") as store:
        assert contents(store) == uninterrupted
