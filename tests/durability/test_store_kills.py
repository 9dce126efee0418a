"""A knowledge store and an ingest outlive SIGKILL at any moment: whole documents, whole batches, and only what is missing after."""

import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from documents import make_jsonl
from ingesting import contents, fresh, in_new_process, ingest_into, people, write

from loopwright.retrieval.stores import open_store

SUPPORT = Path(__file__).resolve().parents[1] / "support"
DOCUMENTS = 160
BATCH = 20

# Puts what is missing, in batches; every fifth document again, with another digest, so that replacing is killed too.
WRITE = textwrap.dedent(
    f"""
    import sys
    import numpy as np
    from loopwright.retrieval.stores import open_store
    from store_contract import contribution

    def document(number, digest):
        id = f"d{{number:04}}"
        texts = [f"word{{number}} common text {{place}} {{digest}}" for place in range(1 + number % 4)]
        return contribution(id, *texts, digest=digest, names=["Ada", f"Name {{number}}"], tags=["t"])

    with open_store("sqlite:" + sys.argv[1]) as store:
        print("open", flush=True)
        for digest, numbers in (("1", range({DOCUMENTS})), ("2", range(0, {DOCUMENTS}, 5))):
            wanted = [document(number, digest) for number in numbers]
            known = store.digests()
            missing = [item for item in wanted if known.get(item.document.id, "") < digest]
            for start in range(0, len(missing), {BATCH}):
                batch = missing[start : start + {BATCH}]
                store.put(batch)
                store.put_vectors("m", [(item.passages[0], np.ones(8)) for item in batch])
        while passages := store.without_vector("m", {BATCH}):
            store.put_vectors("m", [(passage, np.ones(8)) for passage in passages])
    """
)


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
    path, program = tmp_path / "k.db", f"import sys; sys.path.insert(0, {str(SUPPORT)!r}){WRITE}"
    chance = random.Random(kills)
    seen: list[int] = []
    for _ in range(kills):
        with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.3))
            process.kill()
        if process.returncode == 0:
            break  # it was faster
        assert process.returncode == -signal.SIGKILL
        seen.append(check(path))
    assert seen
    assert seen == sorted(seen)
    with mock.patch.object(sys, "argv", ["", str(path)]):
        exec(WRITE, {})
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
