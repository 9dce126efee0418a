"""A batch that SIGKILL or Ctrl-C ends at any moment keeps its finished rows, and goes on to the same table."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from batch_images import good_folder, in_this_process, journalled, rows_of
from hosts import until

from loopwright.workflows.iqa.batch import run_batch
from loopwright.workflows.iqa.batch.journal import journal_of

PROGRAM = Path(sys.executable).with_name("loopwright")
COUNT, WORKERS = 20, 2  # enough that a busy machine cannot be through before somebody looks
IN_FLIGHT = 2 * WORKERS
LONGEST_S = 300
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return good_folder(tmp_path_factory.mktemp("kills") / "photos", COUNT)


@pytest.fixture(scope="module")
def uninterrupted(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    out = tmp_path_factory.mktemp("whole") / "r.csv"
    with in_this_process():
        run_batch(photos, out)
    return rows_of(out)


def start(photos: Path, out: Path, *more: str) -> subprocess.Popen[bytes]:
    words = ["iqa", "batch", photos, "--out", out, "--workers", str(WORKERS), *more]
    return subprocess.Popen([PROGRAM, *words], stderr=subprocess.PIPE, start_new_session=True)


def members(group: int) -> list[int]:
    """The processes of a group that have not ended; `multiprocessing`'s helpers end a moment after those they served."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if entry.name.isdigit() and fields[2] == str(group) and fields[0] != "Z":
            found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_killed_with_sigkill(photos, uninterrupted, tmp_path):
    out = tmp_path / "r.csv"
    process = start(photos, out)
    until(lambda: len(journalled(journal_of(out))) >= 2 or process.poll() is not None, LONGEST_S)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = journalled(journal_of(out))
    assert 2 <= len(kept) < COUNT and not out.exists()
    # Nobody tells the workers; they notice that the parent is gone.
    until(lambda: not members(process.pid), LONGEST_S)
    assert journalled(journal_of(out)) == kept
    with in_this_process():
        run_batch(photos, out, resume=True)
    assert rows_of(out) == uninterrupted
    # No row that was kept ran again.
    after = journalled(journal_of(out))
    assert kept.items() <= after.items()
    assert sorted(after) == [row["sample_id"] for row in uninterrupted]


@pytest.mark.slow
def test_interrupted_with_ctrl_c(photos, uninterrupted, tmp_path):
    out = tmp_path / "r.csv"
    process = start(photos, out)
    until(lambda: journalled(journal_of(out)) or process.poll() is not None, LONGEST_S)
    before = len(journalled(journal_of(out)))
    # The terminal sends it to the workers, too.
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=LONGEST_S)[1].decode()
    assert process.returncode == 130
    assert "with --resume goes on" in said and "Traceback" not in said
    kept = journalled(journal_of(out))
    # What was in flight was finished; one more reply may have been on its way when the signal came.
    assert before <= len(kept) <= before + IN_FLIGHT + 2
    assert not out.exists()
    assert start(photos, out, "--resume").wait(LONGEST_S) == 0
    assert rows_of(out) == uninterrupted
    assert len(journalled(journal_of(out))) == COUNT


@pytest.mark.slow
@pytest.mark.parametrize("later_s", [0, 0.05])
def test_interrupted_while_the_workers_start(photos, tmp_path, later_s):
    out = tmp_path / "r.csv"
    process = start(photos, out)
    until(lambda: journal_of(out).exists() or process.poll() is not None, LONGEST_S)
    time.sleep(later_s)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=LONGEST_S)[1].decode()
    assert process.returncode == 130 and "Traceback" not in said
    until(lambda: not members(process.pid), LONGEST_S)
