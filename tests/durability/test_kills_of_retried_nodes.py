"""SIGKILL while a node is tried again, and while a run gives it up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from crashing import Account, CrashingRun, Kill

Start = Callable[..., CrashingRun]


def tries(run: CrashingRun, visit: int) -> list[tuple[int, int]]:
    """The attempts of a visit: process and attempt within it."""
    return [(line["attempt"], line["try"]) for line in run.log if line["what"] == "begin" and _is(line, visit)]


def _is(line: dict[str, object], visit: int) -> bool:
    return line["node"] == "work" and line["seen"] == visit


@pytest.mark.parametrize("saver", ["sqlite", "json"])
def test_a_node_killed_in_its_second_attempt_starts_its_attempts_anew_and_runs_once_more(
    start: Start, check: Callable[[CrashingRun], Account], saver: str
) -> None:
    run = start(saver=saver, graph="flaky").finish([{"what": "begin", "node": "work", "seen": 2, "try": 2}])
    assert run.killed == 1
    assert tries(run, 2) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert check(run).again == ("work",)


@pytest.mark.parametrize("saver", ["sqlite", "json"])
@pytest.mark.parametrize("kill", [{"what": "begin", "seen": 3, "try": 3}, {"what": "giving up"}])
def test_a_run_killed_while_it_gives_a_node_up_ends_as_if_nothing_had_happened(
    start: Start, uninterrupted: Callable, saver: str, kill: Kill
) -> None:
    expected, _ = uninterrupted("flaky", {"trace": []})
    assert expected["state"]["error"] == "work: ConnectionError: no route (attempt 3)"
    assert expected["state"]["trace"] == ["work", "check", "work", "check", "gave up", "answer"]
    run = start(saver=saver, graph="flaky").finish([kill])
    assert run.killed == 1
    assert run.result == expected
