"""A run history outlives SIGKILL: what its writer acknowledged is there afterwards, whole."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing
from pathlib import Path

import pytest
from run_histories import kept

from loopwright.errors import StoreError
from loopwright.runs.store import open_runs

RUNS = 3

# Goes on where the last one was killed; says so as soon as something is kept. Each write brings three events.
WRITE = textwrap.dedent(
    f"""
    import asyncio, sys
    from run_histories import a_run, news, shown
    from loopwright.runs.store import open_runs
    from loopwright.runs.writer import Writer

    async def work(store, writer, id):
        epoch, seq = 0, store.count(id)
        if (before := store.get(id)) is None:
            store.create(a_run(id, status="running"), shown())
        else:
            epoch = before.epoch + 1
            store.begin(a_run(id, status="running", events=seq, epoch=epoch))
        while True:
            run = a_run(id, status="running", events=seq + 3, epoch=epoch)
            await writer.write(run, [news(id, range(seq + 1, seq + 4), epoch=epoch)])
            seq += 3
            print(id, seq, flush=True)

    async def main():
        store = open_runs(f"sqlite:{{sys.argv[1]}}")
        writer = Writer(store)
        await asyncio.gather(*(work(store, writer, f"r{{number}}") for number in range({RUNS})))

    asyncio.run(main())
    """
)


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_what_was_acknowledged_outlives_kills_at_random_moments(tmp_path: Path, kills: int) -> None:
    path = tmp_path / "runs.db"
    chance = random.Random(kills)
    told: dict[str, int] = {}
    support = Path(__file__).parents[1] / "support"
    for _ in range(kills):
        with subprocess.Popen(
            [sys.executable, "-c", WRITE, str(path)],
            stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(support)},
        ) as process:  # fmt: skip
            assert process.stdout is not None
            first = process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.3))
            process.kill()
            lines = [first, *process.stdout]
        assert process.returncode == -signal.SIGKILL
        assert lines[-1].endswith("\n")
        before = dict(told)
        for line in lines:
            id, seq = line.split()
            assert int(seq) > told.get(id, 0)
            told[id] = int(seq)
        assert told != before
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        store = open_runs(f"sqlite:{path}", create=False)
        for id, seq in told.items():
            count = store.count(id)
            assert count >= seq
            assert count % 3 == 0
            assert store.events(id, limit=count + 1) == kept(range(1, count + 1))
            assert store.get(id).events == count  # a run and its events are kept together
        store.close()


def test_the_claim_of_a_killed_server_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    claims = "import sys\nfrom loopwright.runs.store import open_runs\nstore = open_runs(sys.argv[1])\nstore.claim()\n"
    code = f"{claims}print('claimed', flush=True)\nsys.stdin.read()"
    store = open_runs(f"sqlite:{path}")
    with subprocess.Popen(
        [sys.executable, "-c", code, f"sqlite:{path}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"claimed\n"
        with pytest.raises(StoreError, match="in use by another server"):
            store.claim()
        process.kill()
    store.claim()
    store.close()
