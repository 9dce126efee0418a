"""The formulas of an evaluation, on values that can be checked by hand."""

from __future__ import annotations

import math

import pytest

from loopwright.workflows.api import Citation, Outcome
from loopwright.workflows.assistant.workflow import AssistantWorkflow, Services
from loopwright.workflows.evaluation import Expected, gain_of, mean_figure, scores_of
from loopwright.workflows.evaluation.results import EvaluatedAnswer
from loopwright.workflows.evaluation.scores import f1_score, ndcg_at
from loopwright.workflows.iqa.score import score as iqa_score


@pytest.mark.parametrize(
    ("predicted", "accepted", "f1"),
    [
        ("Brooklyn Dodgers", ["Los Angeles Dodgers", "Robins"], 0.4),
        ("one one", ["one"], 2 / 3),
        ("the", ["a"], 0.0),  # Nothing else is left of either.
        ("yes it is", ["yes"], 0.0),
        ("no", ["no way"], 0.0),
        ("yes", ["Yes"], 1.0),
        ("", ["Dodgers"], 0.0),
        ("Dodgers", [], 0.0),
        ("", [], 1.0),
    ],
)
def test_f1_is_of_the_words_shared_with_the_nearest_accepted_answer(predicted, accepted, f1):
    assert f1_score(predicted, accepted) == pytest.approx(f1)


def test_ndcg_discounts_by_the_logarithm_of_the_place():
    # Places 2 and 3 of three, against a perfect 1 and 2.
    expected = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    assert ndcg_at(["x", "a", "b"], ["a", "b"], 10) == pytest.approx(expected)


def test_a_mean_has_an_interval_that_is_the_same_each_time_and_narrows_with_more_questions():
    few, many = mean_figure([0.0, 1.0] * 10), mean_figure([0.0, 1.0] * 200)
    assert few == mean_figure([0.0, 1.0] * 10)
    assert few.value == many.value == 0.5 and few.low < many.low < 0.5 < many.high < few.high
    # The normal approximation of the standard error of a mean of 400 values of deviation 1/2 is 0.025.
    assert many.high - many.low == pytest.approx(4 * 0.025, abs=0.01)
    assert mean_figure([None, 1.0, None]).model_dump() == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert mean_figure([None]).model_dump() == {"value": None, "low": None, "high": None, "n": 0}


def test_an_outcome_is_scored_by_what_is_expected_and_by_nothing_else():
    outcome = Outcome(answer="It was built in **1885**.", status="answered", citations=(Citation(mark="1", title="A"),))
    assert scores_of(Expected(), outcome) == {}
    found = scores_of(Expected(answers=["1885"], citations=["A", "B"], status=["answered"]), outcome)
    assert (found["em"], found["contains"], found["status"]) == (0, 1, 1)
    assert (found["citation_precision"], found["recall@10"]) == (1, 0.5)
    nothing = scores_of(Expected(answers=[], citations=[]), Outcome())
    assert (nothing["em"], nothing["contains"], nothing["recall@10"]) == (1, 1, None)
    failed = scores_of(Expected(answers=[], status=["answered"]), Outcome(status="failed"))
    assert set(failed.values()) == {0.0}, "a run that failed did not find out that there is no answer"


def test_what_is_cited_of_tables_that_nobody_judged_takes_no_place():
    score = AssistantWorkflow(Services()).score
    marks = (*(f"speakers:{number}" for number in range(10)), "sessions:1")
    outcome = Outcome(citations=tuple(Citation(mark=mark, title=mark) for mark in marks))
    assert score(Expected(citations=["sessions:1"]), outcome)["recall@10"] == 1.0
    both = Expected.model_validate({"citations": ["sessions:1"], "tables": ["sessions", "speakers"]})
    assert score(both, outcome)["recall@10"] == 0.0
    assert score(Expected(), outcome) == {}


def test_a_pictures_score_is_near_peoples_or_not():
    outcome = Outcome(details={"summarizer_result": {"final_answer": "B", "quality_score": 2.4}})
    assert iqa_score(Expected.model_validate({"score": 2.8, "answers": ["B"]}), outcome)["within_half"] == 1
    assert iqa_score(Expected.model_validate({"score": 3.0, "answers": ["A"]}), outcome)["within_half"] == 0
    assert iqa_score(Expected.model_validate({"score": 3.0}), Outcome(status="failed")) == {"within_half": 0}


def test_what_a_loop_brings_is_paired_and_counts_the_questions_that_it_did_not_go_round_for():
    def asked(id: str, em: float, passes: int, seconds: float) -> EvaluatedAnswer:
        return EvaluatedAnswer(id=id, kind="", input={}, status="answered", answer="", cited=(), scores={"em": em, "f1": None},
                     passes={"again": passes}, model_calls=passes, seconds=seconds)  # fmt: skip

    outcomes = [asked("a", 1.0, 2, 3.0), asked("b", 1.0, 0, 1.0), asked("c", 0.0, 1, 2.0), asked("d", 0.0, 0, 1.0)]
    gain = gain_of("again", outcomes, [asked("a", 0.0, 0, 1.0), asked("c", 0.0, 0, 1.0)])
    assert (gain.passes, gain.questions) == (3, 2)
    assert gain.gains["em"].value == 0.25 and gain.gains["em"].n == 4 and gain.gains["f1"].n == 0
    assert (gain.gains["seconds"].value, gain.gains["model_calls"].value) == (0.75, 0.75)
