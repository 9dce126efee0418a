"""An ingest that SIGKILL ends at any moment leaves whole batches, and the next one does only what is missing."""

from __future__ import annotations

from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest
from documents import make_jsonl
from ingesting import contents, fresh, in_new_process, ingest_into, people, write

from loopwright.retrieval.stores import open_store

RECORDS, BATCH = 48, 6


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
        in_new_process(ingest_into, target, sources, steps, batch=BATCH)
    with open_store(f"sqlite:{target}") as store:
        stored = store.stats().documents
        assert stored % BATCH == 0
        assert all(store.passages_of(document.id) for document in store.documents())
    report = ingest_into(target, sources, batch=BATCH)
    assert report.skipped == stored
    assert report.stored == RECORDS + 1 - stored
    with open_store(f"sqlite:{target}") as store:
        assert contents(store) == uninterrupted


@pytest.mark.slow
def test_killed_while_changes_are_stored(tmp_path, sources):
    target = str(tmp_path / "k.db")
    source = make_jsonl(tmp_path / "people.jsonl", people(RECORDS))
    ingest_into(target, [source], batch=BATCH)
    changed = people(RECORDS - 10)
    for record in changed[::2]:
        record["text"] += " It was renamed in 1950."
    make_jsonl(source, changed)
    with pytest.raises(BrokenProcessPool):
        in_new_process(ingest_into, target, [source], 17, batch=BATCH, prune=True)
    report = ingest_into(target, [source], batch=BATCH, prune=True)
    assert report.deleted == 10
    with open_store(f"sqlite:{target}") as store:
        assert contents(store) == fresh([source])
