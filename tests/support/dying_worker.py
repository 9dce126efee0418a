"""What a worker of many jobs does that dies over one of them; to be found by its name in a new interpreter."""

import os
import signal


def work(job: int) -> tuple[int, int]:
    """Die over 13; else give twice the number, and the process that did it."""
    if job == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job, os.getpid()


def make_worker():
    return work
