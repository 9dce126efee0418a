"""Work over processes of which some die: killed from outside, or by the job itself, at a job, or before they begin."""

import multiprocessing
import os
import signal
import time

import pytest
from dying_worker import make_worker

from loopwright.errors import BackendError
from loopwright.workflows.iqa.batch.processes import Died, over_processes

ONE_BY_ONE = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}


def settings(_job: int) -> tuple[set[str | None], object]:
    return {os.environ.get(name) for name in ONE_BY_ONE}, signal.getsignal(signal.SIGINT)


def make_settings():
    return settings


def make_sleeper():
    return time.sleep


def begin_badly():
    os._exit(3)


def test_only_the_job_at_fault_is_lost():
    found = dict(over_processes(make_worker, (), range(30), workers=2))
    died = found.pop(13)
    assert isinstance(died, Died) and "ended by SIGKILL" in died.said
    assert {job: result[0] for job, result in found.items()} == {n: 2 * n for n in range(30) if n != 13}
    assert not multiprocessing.active_children()


def test_processes_that_end_before_they_begin_are_an_error():
    with pytest.raises(BackendError, match="ended with exit code 3 before it began"):
        list(over_processes(begin_badly, (), [1], 1))


def test_workers_have_one_thread_of_arithmetic_and_leave_ctrl_c_to_the_parent():
    before = {name: os.environ.get(name) for name in ONE_BY_ONE}
    for _, seen in over_processes(make_settings, (), range(2), 1):
        assert seen == ({"1"}, signal.SIG_IGN)
    assert {name: os.environ.get(name) for name in ONE_BY_ONE} == before
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_what_is_raised_meanwhile_ends_the_processes_where_they_are():
    with pytest.raises(KeyboardInterrupt):
        for _ in over_processes(make_sleeper, (), [0, 600, 600], workers=2):
            raise KeyboardInterrupt
    assert not multiprocessing.active_children()
