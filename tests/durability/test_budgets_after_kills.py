"""A killed run has what was left of its budget, and not a new one."""

from collections import Counter

import pytest
from crashing import CrashingRun, Kill, account
from crashing_graphs import CALLS

SAVERS = ["sqlite", "json"]


def calls(run: CrashingRun) -> Counter[str]:
    """How many model calls all processes together sent, by node."""
    return Counter(line["node"] for line in run.log if line["what"] == "call")


@pytest.mark.matrix
@pytest.mark.parametrize("saver", SAVERS)
@pytest.mark.parametrize("what", ["begin", "call", "end", "saved writes", "saved checkpoint"])
def test_a_run_killed_again_and_again_sends_no_more_than_its_budget(start, saver, what):
    """Each process writes at most three such lines, until eight of them were killed. A call is noted before it is sent."""
    run = start(saver=saver, graph="spender")
    kill: Kill = {"what": what, "nth": 3}
    while run.killed < 8 and not run.attempt(kill):
        pass
    if not run.result:
        run.finish()
    found, sent = account(run.log), sum(calls(run).values())
    assert run.killed >= 2
    assert found.wrong == ()
    assert sent <= CALLS
    assert run.result["spent"]["model_calls"] <= CALLS


def test_a_run_killed_while_it_saves_what_belongs_to_no_node_still_takes_its_fallback(start):
    """The input, the gates' jumps, and at the end that the budget is spent; whichever it is, the run answers."""
    kills: list[Kill] = [{"what": "saved writes", "node": None, "nth": nth} for nth in (1, 3, 6)]
    undisturbed = len(start(saver="json", graph="spender").finish().result["state"]["trace"])
    for kill in [*kills, *({"what": "saved checkpoint", "source": "update", "nth": nth} for nth in (1, 2, 4))]:
        run = start(saver="json", graph="spender").finish([kill])
        assert calls(run)["answer"] == 1, kill
        assert kill["what"] == "saved writes" or len(run.result["state"]["trace"]) == undisturbed, kill


@pytest.mark.matrix
@pytest.mark.parametrize("inside_bounded", [False, True], ids=["plain", "bounded"])
def test_calls_of_finished_nodes_inside_a_subgraph_are_not_forgotten(start, inside_bounded):
    """Every process is killed before its next call, so that none is in flight."""
    run = start(graph="spender_inside", options={"inside_bounded": inside_bounded})
    run.finish([{"what": "begin", "node": node} for node in ("three", "two")] * 6)
    assert "error" not in run.result
    assert account(run.log).calls_lost == 0
    assert sum(calls(run).values()) <= CALLS
