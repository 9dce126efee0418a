"""SIGKILL of asynchronous runs, with the asynchronous SQLite saver and the JSON one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from crashing import Account, CrashingRun

Start = Callable[..., CrashingRun]
Check = Callable[[CrashingRun], Account]


@pytest.mark.parametrize("saver", ["sqlite", "json"])
def test_an_asynchronous_run_killed_six_times_ends_as_if_nothing_had_happened(
    start: Start, check: Check, saver: str
) -> None:
    run = start(saver=saver, options={"asynchronous": True})
    run.finish(
        [
            {"what": "begin", "step": 1},
            {"what": "saving checkpoint", "step": 4},
            {"what": "end", "step": 9, "node": "step"},
            {"what": "end", "step": 23, "node": "right"},
            {"what": "begin", "step": 25, "node": "shard"},
            {"what": "saved checkpoint", "step": 39},
        ]
    )
    assert run.killed == 6
    assert check(run).again


def test_an_asynchronous_run_goes_on_where_a_synchronous_one_was_killed(start: Start, check: Check) -> None:
    run = start(options={"asynchronous": True})
    assert not run.attempt({"what": "begin", "step": 12})
    run.options = {"asynchronous": False}
    assert not run.attempt({"what": "begin", "step": 24})
    run.options = {"asynchronous": True}
    check(run.finish())
