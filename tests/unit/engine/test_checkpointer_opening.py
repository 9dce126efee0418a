"""The line in the configuration that names a saver."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from loopwright.checkpoints import JsonFileSaver, aopen_checkpointer, open_checkpointer
from loopwright.errors import CheckpointError, ConfigError


async def test_each_spec_gives_its_saver(tmp_path: Path) -> None:
    with open_checkpointer("memory") as saver:
        assert type(saver) is InMemorySaver
    with open_checkpointer(f" json:{tmp_path}/a/b ") as saver:
        assert isinstance(saver, JsonFileSaver)
        assert saver.folder == tmp_path / "a" / "b"
    with open_checkpointer(f"sqlite:{tmp_path}/c/d/runs.db") as saver:
        assert isinstance(saver, SqliteSaver)
    assert (tmp_path / "c/d/runs.db").stat().st_size > 0
    async with aopen_checkpointer("memory") as saver:
        assert type(saver) is InMemorySaver
    async with aopen_checkpointer(f"json:{tmp_path}/a/b") as saver:
        assert isinstance(saver, JsonFileSaver)
    async with aopen_checkpointer(f"sqlite:{tmp_path}/e/runs.db") as saver:
        assert isinstance(saver, SqliteSaver)


@pytest.mark.parametrize("opened", [open_checkpointer, aopen_checkpointer])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sqlit:runs.db", "unknown checkpointer 'sqlit'. Did you mean 'sqlite'? Known: json, memory, postgresql,"),
        ("mysql://me:hunter2@host/db", "unknown checkpointer 'mysql'."),
        ("postgresql:runs", "'postgresql:runs' cannot be opened. Write 'memory', 'json:DIR', 'sqlite:FILE'"),
        ("", "unknown checkpointer ''"),
        (
            "runs.db",
            "Write 'memory', 'json:DIR', 'sqlite:FILE' or 'postgresql://USER:PASSWORD@HOST/DATABASE', with a path as it is.",
        ),
        ("memory:x", "Write 'memory'"),
        ("json:", "'json:' cannot be opened."),
        ("sqlite", "'sqlite' cannot be opened."),
        ("sqlite:///runs.db", "with a path as it is"),
        ("sqlite::memory:", "Write 'memory'"),
    ],
)
def test_a_wrong_spec_is_refused_at_once(opened: object, spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        opened(spec)  # type: ignore[operator]


async def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database, but long enough to be looked at " * 10)
    before = (tmp_path / "file").read_bytes()
    for spec in (
        f"json:{tmp_path}/file/x",
        f"sqlite:{tmp_path}/file/x",
        f"sqlite:{tmp_path}",
        f"sqlite:{tmp_path}/file",
    ):
        place = re.escape(spec.partition(":")[2])
        with pytest.raises(CheckpointError, match=place), open_checkpointer(spec):
            pass
        with pytest.raises(CheckpointError, match=place):
            async with aopen_checkpointer(spec):
                pass
    assert (tmp_path / "file").read_bytes() == before


def test_sqlite_is_not_closed_under_a_thread_that_saves(tmp_path: Path) -> None:
    def save(saver: SqliteSaver) -> list[tuple[int]]:
        with saver.lock:
            saving.set()
            time.sleep(0.3)  # nobody leaves while this goes on
            return saver.conn.execute("SELECT 1").fetchall()

    saving = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        with open_checkpointer(f"sqlite:{tmp_path / 'runs.db'}") as saver:
            saved = threads.submit(save, saver)
            assert saving.wait(10)
        assert saved.result() == [(1,)]
