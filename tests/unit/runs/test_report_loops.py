"""How the loops of a workflow served, by its kept runs."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_histories import BEGIN, shown
from run_records import counterfactual, loop_passes, run_record

from loopwright.runs.report import ENOUGH, loop_report, workflow_report
from loopwright.runs.store import open_runs

LOOPS = st.builds(
    loop_passes,
    st.integers(0, 6),
    refused=st.sampled_from([None, None, "exhausted", "stalled", "over_budget"]),
    limit=st.none() | st.integers(0, 6),
    seconds=st.floats(0, 50),
    tokens=st.integers(0, 500),
    cost=st.none() | st.floats(0, 2),
)
RUNS = st.lists(
    st.builds(
        lambda loop, **fields: run_record(loops=(loop,) if loop else (), **fields),
        loop=st.none() | LOOPS,
        status=st.sampled_from(["finished", "finished", "failed", "cancelled", "running"]),
        seconds=st.none() | st.floats(0, 50),
        tokens=st.integers(0, 500),
        cost=st.none() | st.floats(0, 2),
        model_calls=st.integers(0, 3),
        quality=st.none() | st.floats(0, 1),
        parent=st.none() | st.builds(counterfactual, st.integers(0, 10).map("run-{}".format)),
    ),
    max_size=25,
).map(lambda runs: [run.model_copy(update={"id": f"run-{number}"}) for number, run in enumerate(runs)])


def went_round(passes: list[int], refused: str | None = None, start: int = 0) -> list:
    return [
        run_record(f"run-{start + number}", loops=(loop_passes(each, refused=refused),))
        for number, each in enumerate(passes)
    ]


def test_counts_costs_and_shares():
    runs = [
        run_record("a", loops=(loop_passes(0),), seconds=2.0, tokens=100, cost=1.0, model_calls=1),
        run_record("b", loops=(loop_passes(2, refused="exhausted", seconds=3.0, tokens=50, cost=0.5),), seconds=8.0,
                   tokens=100, cost=1.0, model_calls=3, started_at=BEGIN + timedelta(days=1)),
        run_record("c", loops=(loop_passes(1, refused="stalled", limit=4),), seconds=None),
        run_record("d", status="failed"),
        run_record("e", status="cancelled"),
        run_record("f", workflow="other"),
    ]  # fmt: skip
    report = loop_report("writer", runs)
    assert (report.runs, report.left_out) == (4, 1)
    assert (report.since, report.until) == (BEGIN, BEGIN + timedelta(days=1))
    (row,) = report.loops
    assert (row.ended_by_itself, row.exhausted, row.stalled, row.over_budget, row.failed) == (1, 1, 1, 0, 1)
    assert (row.with_passes, row.passes, row.limits) == (2, 3, (2, 4))
    counted = [(c.passes, c.ended_by_itself, c.refused, c.failed) for c in row.histogram]
    assert counted == [(0, 1, 0, 1), (1, 0, 1, 0), (2, 0, 1, 0)]
    assert row.costs.model_dump() == {
        "seconds": 3.0,
        "seconds_share": pytest.approx(3 / 11),
        "tokens": 50,
        "tokens_share": 0.25,
        "cost": 0.5,
        "cost_share": 0.25,
    }
    assert row.gain is None


def test_a_limit_that_suffices_for_95_of_100():
    suggestion = loop_report("writer", went_round([1] * 60 + [2] * 35 + [6] * 5)).loops[0].suggestion
    assert (suggestion.limit, suggestion.runs) == (2, 100)
    assert "95 of 100 runs" in suggestion.why


@settings(deadline=None)
@given(RUNS)
def test_the_counts_add_up_and_a_gain_rests_on_compared_runs(runs):
    report = loop_report("writer", runs)
    children = [run for run in runs if run.parent and run.status in ("finished", "failed")]
    known = {run.id for run in runs}
    assert report.runs + report.left_out == len(runs)
    for row in report.loops:
        assert row.runs == report.runs
        assert row.ended_by_itself + row.exhausted + row.stalled + row.over_budget + row.failed == row.runs
        assert sum(c.ended_by_itself for c in row.histogram) == row.ended_by_itself
        assert sum(c.refused for c in row.histogram) == row.exhausted + row.stalled + row.over_budget
        assert sum(c.failed for c in row.histogram) == row.failed
        assert sum(c.passes * (c.ended_by_itself + c.refused + c.failed) for c in row.histogram) == row.passes
        assert [c.passes for c in row.histogram] == list(range(len(row.histogram)))
        assert row.with_passes == row.runs - sum(
            c.ended_by_itself + c.refused + c.failed for c in row.histogram if not c.passes
        )
        shares = (row.costs.seconds_share, row.costs.tokens_share, row.costs.cost_share)
        assert all(share is None or 0 <= share <= 1 for share in shares)
        parents = {run.parent.run_id for run in children if run.parent.run_id in known}
        assert (row.gain is None) == (not parents)
        if row.gain:
            assert row.gain.better + row.gain.same + row.gain.worse + row.gain.unknown == row.gain.compared
            assert row.gain.compared == len(parents)
            assert (row.gain.mean_quality_gain is None) == (not row.gain.quality_pairs)


@settings(deadline=None)
@given(st.lists(st.integers(0, 8), max_size=60), st.lists(st.integers(0, 8), max_size=10))
def test_a_suggestion_never_exceeds_what_was_seen(ended, refused):
    runs = [*went_round(ended), *went_round(refused, "exhausted", start=100)]
    for row in loop_report("writer", runs).loops:
        seen = [passes for passes in ended if passes]
        limit = row.suggestion.limit
        assert (limit is None) == (len(seen) < ENOUGH)
        if limit is not None:
            within = [sum(passes <= most for passes in seen) / len(seen) >= 0.95 for most in range(max(seen) + 1)]
            assert limit == within.index(True) <= max(seen)


def test_a_report_reads_the_runs_of_a_history(tmp_path):
    store = open_runs(f"sqlite:{tmp_path / 'runs.db'}")
    for run in went_round([2] * 8):
        store.create(run, shown())
    report = workflow_report(store, "writer")
    store.close()
    assert report.runs == 8
