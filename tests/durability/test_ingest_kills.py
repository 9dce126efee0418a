"""An ingest that SIGKILL ends at any moment leaves whole batches, and the next one does only what is missing."""

from __future__ import annotations

import multiprocessing
import random
import time
from pathlib import Path
from typing import Any

import pytest
from ingesting import contents, fresh, ingest_into, jsonl, people, write

from loopwright.retrieval.stores.sqlite import SqliteStore
from loopwright.testing import run_in_process

RECORDS, BATCH = 48, 6


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("sources")
    jsonl(folder / "people.jsonl", people(RECORDS))
    write(folder, bridge__md="# Tower Bridge\n\nTower Bridge was designed by Horace Jones.\n", broken__json="{")
    return [folder]


@pytest.fixture(scope="module")
def uninterrupted(sources: list[Path]) -> dict[str, Any]:
    return fresh(sources)


@pytest.mark.parametrize("steps", [2, 20, 49])
def test_killed_after_so_many_steps(tmp_path, sources, uninterrupted, steps):
    target = str(tmp_path / "k.db")
    killed = run_in_process(ingest_into, target, sources, steps, batch=BATCH)
    assert killed.killed
    with SqliteStore(target) as store:
        stored = store.stats().documents
        assert stored % BATCH == 0
        assert all(store.passages_of(document.id) for document in store.documents())
    report = ingest_into(target, sources, batch=BATCH)
    assert report.progress.skipped == stored
    assert report.progress.stored == RECORDS + 1 - stored
    with SqliteStore(target) as store:
        assert contents(store) == uninterrupted


def test_killed_again_and_again(tmp_path, sources, uninterrupted):
    target = str(tmp_path / "k.db")
    runs = 0
    while run_in_process(ingest_into, target, sources, 13 * (1 + runs), batch=BATCH).killed:
        runs += 1
        assert runs < RECORDS
    assert runs >= 2
    with SqliteStore(target) as store:
        assert contents(store) == uninterrupted


def test_killed_while_changes_are_stored(tmp_path, sources):
    target = str(tmp_path / "k.db")
    source = jsonl(tmp_path / "people.jsonl", people(RECORDS))
    ingest_into(target, [source], batch=BATCH)
    changed = people(RECORDS - 10)
    for record in changed[::2]:
        record["text"] += " It was renamed in 1950."
    jsonl(source, changed)
    assert run_in_process(ingest_into, target, [source], 17, batch=BATCH, prune=True).killed
    report = ingest_into(target, [source], batch=BATCH, prune=True)
    assert report.progress.deleted == 10
    with SqliteStore(target) as store:
        assert contents(store) == fresh([source])


@pytest.mark.slow
def test_killed_at_random_times(tmp_path):
    source = jsonl(tmp_path / "many.jsonl", people(1_500))
    expected = fresh([source])
    target = str(tmp_path / "k.db")
    chance = random.Random(7)
    context = multiprocessing.get_context("spawn")
    stored = [0]
    for _ in range(4):
        process = context.Process(target=ingest_into, args=(target, [source]), kwargs={"batch": 10})
        process.start()
        while process.is_alive() and documents_in(target) <= stored[-1]:
            time.sleep(0.01)
        time.sleep(chance.uniform(0, 0.3))
        process.kill()
        process.join()
        stored.append(documents_in(target))
    assert stored == sorted(stored)
    assert 0 < stored[1] < 1_500
    ingest_into(target, [source], batch=10)
    with SqliteStore(target) as store:
        assert contents(store) == expected


def documents_in(target: str) -> int:
    if not Path(target).exists():
        return 0
    with SqliteStore(target, create=False) as store:
        return store.stats().documents
