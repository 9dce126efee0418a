"""Two kept runs side by side, which came out better, and whether a loop helped."""

import pytest
from run_histories import BEGIN
from run_records import Call, citation, counterfactual, loop_passes, path_events, run_record

from loopwright.engine.events.schema import LoopDecided, StateSaved
from loopwright.runs.compare import compare, judged

WAY = ("search", "check", "search", "check", "write")


def pair(*, swapped=False):
    """A run that went round once, and the same run without the pass."""
    calls = {0: Call(tokens=100, cost=0.25), 2: Call(tokens=40, cost=0.5)}
    parent = run_record(
        "with", quality=0.78, tokens=140, cost=0.75, model_calls=2, seconds=5.0, answer="Deep blue.",
        loops=(loop_passes(1, tokens=40, seconds=2.0),), path=WAY,
    )  # fmt: skip
    child = run_record(
        "without", quality=0.41, tokens=0, cost=0.0, seconds=1.0, answer="Blue.", parent=counterfactual("with"),
        loops=(loop_passes(0, refused="exhausted"),), path=("write",),
    )  # fmt: skip
    sides = [(parent, path_events([*WAY], calls=calls)), (child, path_events(["write"], resumed=True, prefix="d"))]
    (a, a_events), (b, b_events) = sides[::-1] if swapped else sides
    return compare(a, a_events, b, b_events)


def figures(comparison):
    return {row.name: (row.a, row.b, row.difference) for row in comparison.figures}


def test_a_counterfactual_counts_what_it_took_over():
    comparison = pair()
    assert comparison.a_path == WAY
    assert comparison.b_path == ("search", "check", "write")
    assert comparison.shared == 2
    assert figures(comparison) == {
        "quality": (0.78, 0.41, pytest.approx(-0.37)),
        "seconds": (5.0, 3.0, -2.0),
        "tokens": (140, 100, -40),
        "cost": (0.75, 0.25, -0.5),
        "model_calls": (2, 1, -1),
        "passes": (1, 0, -1),
    }
    assert not comparison.notes


def test_a_run_cut_after_some_passes_counts_those():
    events = path_events(["write"] * 4)
    how = {"loop": "retry", "decision": "granted", "reason": "", "goto": ["write"]}
    events.insert(7, LoopDecided(at=events[6].at, spent=1, limit=3, step=1, **how))
    parent = run_record("with", quality=0.8, seconds=4.0, loops=(loop_passes(3, seconds=3.0),))
    origin = counterfactual("with", checkpoint="c2").model_copy(update={"kept": 1})
    child = run_record("without", quality=0.5, seconds=1.0, loops=(loop_passes(0, seconds=0.0),), parent=origin)
    comparison = compare(parent, events, child, path_events(["write"], resumed=True, prefix="d"))
    assert comparison.loop_effect.says.startswith("With pass 2 on of the loop retry: +2 passes, ")
    assert figures(comparison)["passes"] == (3, 1, -2)
    assert [(each.a.passes, each.b.passes) for each in comparison.loops] == [(3, 1)]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_loop_that_helped(swapped):
    effect = pair(swapped=swapped).loop_effect
    assert (effect.loop, effect.helped, effect.with_passes) == ("retry", True, "b" if swapped else "a")
    assert effect.says == "With the loop retry: +1 pass, +40 tokens, +$0.5000, +2.0 s; quality 0.41 -> 0.78. It helped."


@pytest.mark.parametrize(
    ("a", "b", "better", "by"),
    [
        ({"quality": 0.8}, {"quality": 0.4}, "a", "quality"),
        ({"quality": 0.4, "outcome_status": "answered"}, {"quality": 0.8, "outcome_status": "partial"}, "b", "quality"),
        ({"quality": 0.8}, {"quality": 0.8, "outcome_status": "partial"}, "a", "status"),
        ({"outcome_status": "nothing_found"}, {"status": "failed", "outcome_status": ""}, "a", "status"),
        ({"quality": 0.1}, {"status": "failed", "quality": 0.9, "outcome_status": ""}, "a", "status"),
        ({"quality": 0.8, "answer": "x"}, {"quality": 0.801, "answer": "y"}, "same", "quality"),
        ({"answer": "", "outcome_status": "abstained"}, {"answer": "", "outcome_status": "abstained"}, "same", "answer"),
        ({"answer": "x"}, {"answer": "y"}, "unknown", None),
        ({"quality": 0.9}, {"quality": 0.1, "input": {"question": "Which size?"}}, "unknown", None),
        ({"quality": 0.9}, {"quality": 0.1, "status": "cancelled"}, "unknown", None),
    ],
)  # fmt: skip
def test_verdicts(a, b, better, by):
    one, other = run_record("one", **a), run_record("other", **b)
    verdict = judged(one, other)
    assert (verdict.better, verdict.by) == (better, by)
    assert verdict.why.endswith(".")
    turned = {"a": "b", "b": "a"}.get(better, better)
    assert judged(other, one).better == turned


def test_citations_that_count_are_told_apart_by_what_they_quote():
    a = run_record("a", citations=(citation("1", quote="x"), citation("2", quote="y"), citation("sessions:1", "Talk")))
    b = run_record("b", citations=(citation("1", quote="y"), citation("sessions:1", "Talk, moved"), citation("s:2")))
    sides = compare(a, [], b, []).citations
    assert [each.mark for each in sides.both] == ["2", "sessions:1"]
    assert [each.mark for each in sides.only_a] == ["1"]
    assert [each.mark for each in sides.only_b] == ["s:2"]


def test_states_are_those_that_the_runs_ended_with():
    told = ({"changed": {"query": "blue", "note": "x"}}, {"changed": {"query": "deep blue"}, "removed": ["note"]})
    events = [StateSaved(at=BEGIN, step=step, checkpoint_id="c", next=[], **one) for step, one in enumerate(told)]
    comparison = compare(run_record("a"), events, run_record("b"), [])
    assert (comparison.a_state, comparison.b_state) == ({"query": "deep blue"}, {})


@pytest.mark.parametrize(
    ("answer", "better", "helped"), [("Blue.", "same", False), ("Green.", "unknown", None)], ids=["same", "other"]
)
def test_a_run_that_was_refused_its_pass_is_not_worse_for_saying_so(answer, better, helped):
    a = run_record("a", loops=(loop_passes(2),))
    b = run_record(
        "b", answer=answer, outcome_status="best_effort", parent=counterfactual("a"), loops=(loop_passes(0),)
    )
    comparison = compare(a, path_events(["x"]), b, path_events(["x"]))
    assert comparison.verdict.better == better
    assert comparison.loop_effect.helped is helped
    assert judged(a, b.model_copy(update={"parent": None})).by == "status"
