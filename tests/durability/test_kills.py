"""SIGKILL of a run at every superstep, at random times, in asyncio, while a node is tried again; and another graph then."""

import random

import pytest
from crashing import Kill

SAVERS = ["sqlite", "json", "postgresql"]
STEPS = range(1, 41)
MOMENTS = ["begin", "end", "saving checkpoint", "saved checkpoint"]


def test_the_three_loops_make_forty_supersteps_and_stop_at_their_bounds(uninterrupted):
    result, found = uninterrupted("three_loops")
    assert found.supersteps == len(STEPS)
    assert {node: found.runs[node] for node in ("plan", "step", "split", "shard")} == {
        "plan": 1 + 2, "step": (1 + 2) * (1 + 1), "split": 1 + 2, "shard": 3 * 3
    }  # fmt: skip
    assert result["state"]["stop_reason"]["loop"] == "again"
    assert result["state"]["rounds"] == len(result["state"]["past"]) == 2


@pytest.mark.matrix
@pytest.mark.parametrize("asynchronous", [True, False])
@pytest.mark.parametrize("saver", SAVERS)
def test_a_run_killed_eight_times_ends_as_if_nothing_had_happened(start, check, saver, asynchronous):
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
    run = start(saver=saver, options={"asynchronous": asynchronous}).finish(kills)
    assert run.killed == len(kills)
    assert check(run).again  # or nothing was killed while it ran


@pytest.mark.matrix
@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize(("slow", "quick"), [("left", "right"), ("right", "left")])
def test_a_finished_branch_does_not_run_again_when_the_other_one_dies(start, check, saver, slow, quick):
    run = start(saver=saver, options={"slow": slow})
    assert not run.attempt({"what": "saved writes", "node": quick})
    run.options = {}
    assert check(run.finish()).again == (slow,)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_run_killed_in_every_superstep_in_turn_still_ends(start, check, saver, moment):
    run = start(saver=saver).finish({"what": moment, "step": step} for step in STEPS)
    assert run.killed >= len(STEPS) - 1
    check(run)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("saver", SAVERS)
def test_a_hundred_kills_at_random_times_change_nothing(start, check, saver):
    chance, killed = random.Random(1), 0
    while killed < 100:
        run = start(saver=saver, options={"pause": 0.005})
        while not run.attempt(seconds=chance.uniform(0.001, 0.25) * (1 + run.attempts / 4)):
            pass  # the processes are given longer and longer
        killed += run.killed
        check(run)


@pytest.mark.slow
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("saver", SAVERS)
def test_a_finished_node_whose_writes_come_late_counts_once(start, check, saver, asynchronous):
    """LangGraph saves a task's writes and the next checkpoint in no fixed order (langchain-ai/langgraph issue 8039)."""
    run = start(saver=saver, late=0.1, options={"asynchronous": asynchronous})
    run.finish({"what": "saved checkpoint", "step": step} for step in (1, 5, 23, 25, 26))
    assert run.killed == 5
    before = [line for line in run.log if line["what"] in ("saved checkpoint", "saved writes")]
    assert before[0]["what"] == "saved checkpoint"  # or nothing came late
    check(run)


JSON_WRITES: list[Kill] = [{"what": what, "nth": nth} for nth in (1, 2, 5, 9, 14) for what in ("syncing", "replacing")]
SQLITE_WRITES: list[Kill] = [
    {"what": "statement", "kind": kind, "nth": nth} for nth in (1, 3, 7, 12) for kind in ("BEGIN", "INSERT", "COMMIT")
]


@pytest.mark.matrix
@pytest.mark.parametrize(("saver", "kills"), [("sqlite", SQLITE_WRITES), ("json", JSON_WRITES)])
def test_a_run_killed_in_the_middle_of_a_write_ends_as_if_nothing_had_happened(start, check, saver, kills):
    run = start(saver=saver).finish(kills)
    assert run.killed == len(kills)
    assert check(run).saves_cut > len(kills) // 2


@pytest.mark.matrix
@pytest.mark.parametrize("saver", SAVERS)
def test_a_node_killed_in_its_second_attempt_starts_its_attempts_anew_and_runs_once_more(start, check, saver):
    run = start(saver=saver, graph="flaky").finish([{"what": "begin", "node": "work", "seen": 2, "try": 2}])
    assert run.killed == 1
    begun = [line for line in run.log if line["what"] == "begin" and (line["node"], line["seen"]) == ("work", 2)]
    assert [(line["attempt"], line["try"]) for line in begun] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert check(run).again == ("work",)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("kill", [{"what": "begin", "seen": 3, "try": 3}, {"what": "giving up"}])
def test_a_run_killed_while_it_gives_a_node_up_ends_as_if_nothing_had_happened(start, uninterrupted, saver, kill):
    expected, _ = uninterrupted("flaky")
    assert expected["state"]["error"] == "work: ConnectionError: no route (attempt 3)"
    assert expected["state"]["trace"] == ["work", "check", "work", "check", "gave up", "answer"]
    run = start(saver=saver, graph="flaky").finish([kill])
    assert run.killed == 1
    assert run.result == expected


@pytest.mark.matrix
@pytest.mark.parametrize("saver", SAVERS)
def test_a_resume_of_a_changed_graph_is_refused_and_goes_on_when_forced(start, saver):
    run = start(saver=saver)
    assert not run.attempt({"what": "begin", "step": 20})
    before = run.log
    run.options = {"longer": True}
    assert run.attempt()
    assert run.result["error"] == "GraphChanged"
    assert "another structure" in run.result["message"] and "loopwright_force" in run.result["message"]
    assert [line for line in run.log[len(before) :] if line["what"] != "statement"] == []  # nothing ran, nothing saved
    run.run = {"config": {"configurable": {"loopwright_force": True}}}
    assert run.attempt()
    assert run.result["state"]["trace"][-2:] == ["answer", "thanks"]
    assert run.result["ledger"]["again"]["spent"] == 2
