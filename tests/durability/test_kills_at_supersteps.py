"""SIGKILL at every superstep: the run goes on in a new process, and nothing that was finished runs again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from crashing import Account, CrashingRun, Kill

Start = Callable[..., CrashingRun]
Check = Callable[[CrashingRun], Account]

SAVERS = ["sqlite", "json"]
STEPS = range(1, 41)
MOMENTS = ["begin", "end", "saving checkpoint", "saved checkpoint"]


def test_the_three_loops_make_forty_supersteps_and_stop_at_their_bounds(
    uninterrupted: Callable[..., tuple[dict[str, Any], Account]],
) -> None:
    result, found = uninterrupted("three_loops", {"trace": []})
    assert found.supersteps == len(STEPS)
    assert {node: found.runs[node] for node in ("plan", "step", "split", "shard")} == {
        "plan": 1 + 2, "step": (1 + 2) * (1 + 1), "split": 1 + 2, "shard": 3 * 3
    }  # fmt: skip
    assert result["state"]["stop_reason"]["loop"] == "again"
    assert result["state"]["rounds"] == len(result["state"]["past"]) == 2


@pytest.mark.parametrize("saver", SAVERS)
def test_a_run_killed_eight_times_ends_as_if_nothing_had_happened(start: Start, check: Check, saver: str) -> None:
    kills: list[Kill] = [
        {"what": "saved checkpoint", "step": -1},
        {"what": "begin", "step": 1},
        {"what": "end", "step": 3, "node": "loop.inner"},
        {"what": "saving checkpoint", "step": 7},
        {"what": "end", "step": 23, "node": "left"},
        {"what": "begin", "step": 25, "node": "shard"},
        {"what": "saved checkpoint", "step": 33},
        {"what": "end", "step": 40},
    ]
    run = start(saver=saver).finish(kills)
    assert run.killed == len(kills)
    found = check(run)
    assert found.again  # or nothing was killed while it ran


def test_a_process_killed_from_outside_goes_on(start: Start, check: Check) -> None:
    run = start()
    assert not run.kill_when_noted({"what": "begin", "step": 20})
    assert check(run.finish()).again == ("judge",)


@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize(("slow", "quick"), [("left", "right"), ("right", "left")])
def test_a_finished_branch_does_not_run_again_when_the_other_one_dies(
    start: Start, check: Check, saver: str, slow: str, quick: str
) -> None:
    run = start(saver=saver, options={"slow": slow})
    assert not run.attempt({"what": "saved writes", "node": quick})
    run.options = {}
    assert check(run.finish()).again == (slow,)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_killed_in_every_superstep_in_turn_still_ends(
    start: Start, check: Check, saver: str, moment: str
) -> None:
    run = start(saver=saver).finish({"what": moment, "step": step} for step in STEPS)
    assert run.killed >= len(STEPS) - 1
    check(run)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("moment", ["begin", "end"])
def test_a_run_killed_once_ends_the_same_whichever_superstep_it_was(
    start: Start, check: Check, saver: str, moment: str
) -> None:
    for step in STEPS:
        run = start(saver=saver).finish([{"what": moment, "step": step}])
        assert run.killed == 1, step
        check(run)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("saver", SAVERS)
def test_a_run_killed_from_outside_in_every_superstep_in_turn_still_ends(
    start: Start, check: Check, saver: str
) -> None:
    run = start(saver=saver)
    for step in STEPS:
        assert not run.kill_when_noted({"what": "begin", "step": step})
    assert len(check(run.finish()).again) >= len(STEPS)
