"""Work over processes of which some die: killed from outside, or by the job itself, at a job, or before they begin."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from loopwright.errors import BackendError
from loopwright.workflows.iqa.batch.processes import begin_quietly, over_processes
from loopwright.workflows.iqa.evaluating.evaluation import evaluate

ONE_BY_ONE = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}


def work(job: int) -> tuple[int, int]:
    """Die over 13; else give twice the number, and the process that did it."""
    if job == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job, os.getpid()


def settings(_job: int) -> tuple[set[str | None], object]:
    return {os.environ.get(name) for name in ONE_BY_ONE}, signal.getsignal(signal.SIGINT)


def begin_badly() -> None:
    os._exit(3)


def test_only_the_job_at_fault_is_lost():
    found = dict(over_processes(work, range(30), workers=2))
    assert [job for job, result in found.items() if result is None] == [13]
    assert {job: result[0] for job, result in found.items() if result} == {n: 2 * n for n in range(30) if n != 13}
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_several_at_fault_one_after_the_other():
    jobs = [1, 13, 2, 13, 3]
    found = list(over_processes(work, jobs, workers=2))
    assert sorted(job for job, _ in found) == sorted(jobs)
    assert sorted(job for job, result in found if result is None) == [13, 13]


def test_what_is_killed_from_outside_is_done_again():
    killed: list[int] = []
    found: dict[int, tuple[int, int] | None] = {}
    for job, result in over_processes(work, range(100, 140), workers=2):
        found[job] = result
        if result and not killed:
            killed.append(result[1])
            os.kill(result[1], signal.SIGKILL)
    assert [result and result[0] for _, result in sorted(found.items())] == [2 * job for job in range(100, 140)]
    assert killed


def test_processes_that_end_before_they_begin_are_an_error():
    with pytest.raises(BackendError, match="ended before it began"):
        list(over_processes(work, [1, 2], 2, begin_badly))


def test_workers_have_one_thread_of_arithmetic_and_leave_ctrl_c_to_the_parent():
    before = {name: os.environ.get(name) for name in ONE_BY_ONE}
    for _, seen in over_processes(settings, range(4), 2, begin_quietly):
        assert seen == ({"1"}, signal.SIG_IGN)
    assert {name: os.environ.get(name) for name in ONE_BY_ONE} == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_what_is_raised_meanwhile_ends_the_processes_where_they_are():
    with pytest.raises(KeyboardInterrupt):
        for _ in over_processes(time.sleep, [0, 600, 600], workers=2):
            raise KeyboardInterrupt
    assert not multiprocessing.active_children()


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    """Eight small images with scores."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(8):
        pixels = np.clip(128 + rng.normal(0, 8 * number + 1, (96, 96, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        rows.append({"image_path": f"{number}.png", "mos": 8 - number})
    path = tmp_path / "m.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.slow
def test_a_killed_worker_changes_no_figure_of_an_evaluation(manifest: Path):
    killed: list[int] = []

    def kill_one(_: object) -> None:
        if not killed:
            victim = multiprocessing.active_children()[0].pid
            assert victim is not None
            killed.append(victim)
            os.kill(victim, signal.SIGKILL)

    found = evaluate(manifest, tools=("PIQE",), resamples=20, workers=2, on_progress=kill_one)
    assert killed and found.problems == []
    assert found.as_json() == evaluate(manifest, tools=("PIQE",), resamples=20, workers=1).as_json()


def test_a_row_that_ends_its_process_is_named_and_costs_itself_alone(manifest: Path, tmp_path: Path):
    script = tmp_path / "run.py"
    script.write_text(DYING)
    done = subprocess.run(
        [sys.executable, str(script), str(manifest)], capture_output=True, text=True, timeout=170, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failed"] == 1
    assert said["problems"] == [
        {"line": 4, "row": "3.png", "problem": "the process died over this row, perhaps because memory ran out"}
    ]
    assert said["agreement"][0]["rows"] == 7


DYING = """
import json
import os
import signal
import sys
from pathlib import Path

from PIL import PngImagePlugin

from loopwright.workflows.iqa.evaluating.evaluation import evaluate

opened = PngImagePlugin.PngImageFile._open


def deadly(self):
    if str(getattr(self.fp, "name", self.filename)).endswith("3.png"):
        os.kill(os.getpid(), signal.SIGKILL)
    opened(self)


# Workers import this file again, so that a decoder breaks in them as a faulty library would.
PngImagePlugin.PngImageFile._open = deadly

if __name__ == "__main__":
    found = evaluate(Path(sys.argv[1]), tools=("PIQE",), resamples=20, workers=2)
    print(json.dumps(found.as_json()))
"""
