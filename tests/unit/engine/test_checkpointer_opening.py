"""The line in the configuration that names a saver."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from loopwright.checkpoints import JsonFileSaver, aopen_checkpointer, open_checkpointer
from loopwright.errors import CheckpointError, ConfigError


async def test_each_spec_gives_its_saver(tmp_path: Path) -> None:
    with open_checkpointer("memory") as saver:
        assert type(saver) is InMemorySaver
    with open_checkpointer(f" json:{tmp_path}/a/b ") as saver:
        assert isinstance(saver, JsonFileSaver)
        assert saver.folder == tmp_path / "a" / "b"
    with open_checkpointer(f"sqlite:{tmp_path}/c/d/runs.db") as saver:
        assert type(saver) is SqliteSaver
    assert (tmp_path / "c/d/runs.db").stat().st_size > 0
    async with aopen_checkpointer("memory") as saver:
        assert type(saver) is InMemorySaver
    async with aopen_checkpointer(f"json:{tmp_path}/a/b") as saver:
        assert isinstance(saver, JsonFileSaver)
    async with aopen_checkpointer(f"sqlite:{tmp_path}/e/runs.db") as saver:
        assert type(saver) is AsyncSqliteSaver


def test_a_relative_path_and_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with open_checkpointer("json:runs"), open_checkpointer("sqlite:runs.db"), open_checkpointer("json:~/runs"):
        pass
    assert (tmp_path / "runs").is_dir()
    assert (tmp_path / "runs.db").is_file()
    assert (tmp_path / "home" / "runs").is_dir()


@pytest.mark.parametrize("opened", [open_checkpointer, aopen_checkpointer])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sqlit:runs.db", "unknown checkpointer 'sqlit'. Did you mean 'sqlite'? Known: json, memory, postgresql,"),
        ("mysql://me:hunter2@host/db", "unknown checkpointer 'mysql'."),
        ("postgresql:runs", "does not say where: write 'postgresql://USER:PASSWORD@HOST/DATABASE'"),
        ("", "unknown checkpointer ''"),
        ("runs.db", "Write 'memory', 'json:DIR', 'sqlite:FILE' or 'postgresql://USER:PASSWORD@HOST/DATABASE'."),
        ("memory:x", "write just 'memory'"),
        ("json:", "does not say where: write 'json:DIR'"),
        ("sqlite", "does not say where: write 'sqlite:FILE'"),
        ("sqlite:///runs.db", "is not a URL"),
        ("sqlite::memory:", "write 'memory'"),
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


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
@pytest.mark.parametrize("spec", ["json:{}", "json:{}/x", "sqlite:{}/runs.db"])
def test_a_folder_without_permission(spec: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CheckpointError, match=re.escape(str(tmp_path))), open_checkpointer(spec.format(tmp_path)):
            pass
    finally:
        tmp_path.chmod(0o700)


def test_an_error_inside_the_block_stays_itself(tmp_path: Path) -> None:
    for spec in ("memory", f"json:{tmp_path}", f"sqlite:{tmp_path}/runs.db"):
        with pytest.raises(OSError, match="mine"), open_checkpointer(spec):
            raise OSError("mine")


def test_sqlite_is_imported_only_when_asked_for() -> None:
    program = (
        "import sys; from loopwright.checkpoints import open_checkpointer\n"
        "with open_checkpointer('memory'): print([n for n in sys.modules if n.startswith('langgraph.checkpoint.sqlite')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
