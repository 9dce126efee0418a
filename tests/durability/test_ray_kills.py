"""A batch on Ray: the rows of the local engine, each once, whatever is killed with SIGKILL; needs scripts/setup_ray.sh."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from batch_images import bad_files, good_folder, journalled, rows_of

from loopwright.workflows.iqa.batch import run_batch
from loopwright.workflows.iqa.batch.journal import journal_of

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
PYTHON = CACHE / "loopwright" / "ray" / "bin" / "python"
GOOD, BAD = 240, 5
LONGEST_S = 400
TOKEN = uuid.uuid4().hex
MARK = "LOOPWRIGHT_TEST_NODE"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(not PYTHON.exists(), reason="no environment with Ray; scripts/setup_ray.sh makes one"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc"),
]
Driver = subprocess.Popen[str]


class Node:
    """A machine of a cluster: what `ray start` starts, told from all else by a variable in its environment."""

    def __init__(self, *words: str) -> None:
        self.mark = uuid.uuid4().hex
        command = [PYTHON, "-m", "ray.scripts.scripts", "start", "--num-cpus=1", *words]
        done = subprocess.run(command, env=environment() | {MARK: self.mark}, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self.said = done.stdout

    def processes(self, name: bytes = b"") -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    found += [int(entry.name)] if name in (entry / "cmdline").read_bytes() else []
            except OSError:
                continue
        return found

    def kill(self, name: bytes = b"") -> int:
        """Kill its processes, or the first of this name; how many there were."""
        found = self.processes(name)[: 1 if name else None]
        for process in found:
            os.kill(process, signal.SIGKILL)
        return len(found)


def environment() -> dict[str, str]:
    support = Path(__file__).parents[1] / "support"
    paths = [str(Path(sys.modules["loopwright"].__file__ or "").parents[1]), str(support)]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}
    return os.environ | token | {"PYTHONPATH": os.pathsep.join(paths), "RAY_USAGE_STATS_ENABLED": "0"}


def start(photos: Path, out: Path, *more: str) -> Driver:
    words = ["-m", "loopwright", "iqa", "batch", photos, "--out", out, "--engine", "ray", "--resume", *more]
    return subprocess.Popen([PYTHON, *words], stderr=subprocess.PIPE, env=environment(), text=True)


def until(held: Callable[[], object], driver: Driver) -> None:
    limit = time.monotonic() + LONGEST_S
    while not held():
        assert driver.poll() is None, driver.communicate()[1]
        assert time.monotonic() < limit
        time.sleep(0.05)


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = good_folder(tmp_path_factory.mktemp("ray") / "photos", GOOD)
    bad_files(folder)
    return folder


@pytest.fixture(scope="module")
def expected(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    out = tmp_path_factory.mktemp("whole") / "r.csv"
    run_batch(photos, out, workers=2)
    return rows_of(out)


@pytest.fixture
def nodes() -> Iterator[list[Node]]:
    started = [Node("--head", "--port=0", "--include-dashboard=false")]
    yield started
    for node in started:
        node.kill()


def test_driver_actor_and_node_killed_twice_each(photos, expected, nodes, tmp_path):
    out = tmp_path / "r.csv"
    head = nodes[0]
    address = next(word.strip("'") for word in head.said.split() if word.startswith("--address=")).partition("=")[2]
    address = address.strip("'")
    nodes.append(Node(f"--address={address}"))
    more = ("--address", address, "--workers", "2")
    driver = start(photos, out, *more)

    def after(rows: int) -> None:
        """Wait until so many more rows are kept."""
        now = len(journalled(journal_of(out)))
        until(lambda: len(journalled(journal_of(out))) >= now + rows, driver)

    for _ in range(2):
        after(16)
        assert head.kill(b"ray::MapWorker") or nodes[-1].kill(b"ray::MapWorker")
        after(16)
        assert nodes[-1].kill()
        after(16)
        driver.kill()
        driver.communicate()
        kept = journalled(journal_of(out))
        nodes.append(Node(f"--address={address}"))
        driver = start(photos, out, *more)
        after(1)
        # No good row that was kept ran again.
        now = journalled(journal_of(out))
        assert sum(now[sample] != number for sample, number in kept.items()) <= BAD
    assert driver.wait(LONGEST_S) == 1  # for the bad files
    assert rows_of(out) == expected and len(expected) == GOOD + BAD


def test_begun_on_a_cluster_of_its_own_and_ended_without(photos, expected, tmp_path):
    out = tmp_path / "r.csv"
    driver = start(photos, out, "--workers", "2")
    until(lambda: journalled(journal_of(out)), driver)
    driver.send_signal(signal.SIGINT)
    said = driver.communicate(timeout=LONGEST_S)[1]
    assert driver.returncode == 130 and "with --resume goes on" in said and "Traceback" not in said
    kept = journalled(journal_of(out))
    assert 0 < len(kept) < len(expected)
    done = run_batch(photos, out, workers=2, resume=True)
    assert done.unchanged >= len(kept) - BAD
    assert rows_of(out) == expected


def test_what_ends_its_process_is_one_bad_row():
    script = """
from dying_worker import make_worker
from loopwright.workflows.iqa.batch.ray_engine import over_ray
found = dict(over_ray(make_worker, (), range(60), 2, None, lambda: False))
assert len(found) == 60 and "was ended by SIGKILL" in found.pop(13).said
assert all(result[0] == 2 * job for job, result in found.items())
"""
    done = subprocess.run([PYTHON, "-c", script], env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cluster_that_is_not_there_is_one_line(photos, tmp_path):
    driver = start(photos, tmp_path / "r.csv", "--address", "127.0.0.1:1")
    said = driver.communicate(timeout=LONGEST_S)[1]
    assert driver.returncode not in (0, 1) and "'127.0.0.1:1'" in said and "Traceback" not in said
