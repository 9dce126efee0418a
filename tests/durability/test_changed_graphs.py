"""A new process with another graph: refused, unless forced; other limits leave a scope that is under way as it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from crashing import CrashingRun

Start = Callable[..., CrashingRun]
SAVERS = ["sqlite", "json"]


@pytest.mark.parametrize("saver", SAVERS)
def test_a_resume_of_a_changed_graph_is_refused_and_goes_on_when_forced(start: Start, saver: str) -> None:
    run = start(saver=saver)
    assert not run.attempt({"what": "begin", "step": 20})
    before = run.log
    run.options = {"longer": True}
    assert run.attempt()
    assert run.result["error"] == "CheckpointError"
    assert "another structure" in run.result["message"] and "loopwright_force" in run.result["message"]
    assert [line for line in run.log[len(before) :] if line["what"] != "statement"] == []  # nothing ran, nothing saved
    run.run = {"config": {"configurable": {"loopwright_force": True}}}
    assert run.attempt()
    assert run.result["state"]["trace"][-2:] == ["answer", "thanks"]
    assert run.result["ledger"]["again"]["spent"] == 2


def test_the_unchanged_graph_goes_on_after_the_refusal(start: Start, check: Callable[..., object]) -> None:
    run = start()
    assert not run.attempt({"what": "end", "step": 9})
    run.options = {"longer": True}
    assert run.attempt()
    assert run.result["error"] == "CheckpointError"
    run.options = {}
    check(run.finish())


@pytest.mark.parametrize("outer", [3, 4])
def test_a_raised_limit_does_not_count_for_a_scope_that_is_under_way(
    start: Start, check: Callable[..., object], outer: int
) -> None:
    run = start()
    assert not run.attempt({"what": "begin", "node": "step", "step": 9})
    run.options = {"outer": outer}
    run.finish()
    assert run.result["ledger"]["outer"] == {"spent": 2, "total": 2, "limit": 2, "refused": 1, "pass_of": 0}
    assert run.result["state"]["trace"].count("plan") == 3


def test_a_limit_that_was_not_asked_for_yet_may_change(start: Start) -> None:
    run = start()
    assert not run.attempt({"what": "begin", "node": "step", "step": 9})
    run.options = {"again": 1}
    run.finish()
    assert run.result["ledger"]["again"]["spent"] == 1
