"""Writing in groups: everything in its order, failures to those whom they concern."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from run_histories import a_run, kept, news, shown

from loopwright.database import opening
from loopwright.errors import StoreError
from loopwright.runs.store import RunStore, open_runs
from loopwright.runs.writer import Writer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """A locked file is waited for in each attempt; here a tenth of the usual time."""
    monkeypatch.setattr(opening, "BUSY", 0.5)


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


async def test_closing_keeps_what_waits_and_takes_no_more(store: RunStore) -> None:
    writer = Writer(store)
    futures = [put(writer, None, [news("r1", [seq])]) for seq in range(1, 31)]
    await asyncio.sleep(0)
    await writer.aclose()
    await writer.aclose()
    await asyncio.gather(*futures)
    assert store.count("r1") == 30
    with pytest.raises(StoreError, match="writer of the run history is closed"):
        await writer.write(a_run("r1"))


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
