"""The formulas of an evaluation, on values that can be checked by hand."""

from __future__ import annotations

import pytest

from loopwright.workflows.figures import mean_figure
from loopwright.workflows.rag.evaluation.observing import faithfulness
from loopwright.workflows.rag.evaluation.schemas import QuestionOutcome
from loopwright.workflows.rag.evaluation.scoring import exact_match, f1_score, normalised_answer
from loopwright.workflows.rag.evaluation.summary import abstention_of, figures_of, gain_of, grouped
from loopwright.workflows.rag.schemas import Answer, Citation, Evidence, Sentence


def test_answers_are_compared_without_case_punctuation_articles_and_white_space():
    assert normalised_answer("  The  Beatles' (an  album).") == "beatles album"
    assert normalised_answer("another theme") == "another theme"
    assert exact_match("the U.S.", ["US", "America"]) == 1
    assert exact_match("USA", ["US"]) == 0
    assert exact_match("", ["The The"]) == 0
    assert exact_match("the the", ["The The"]) == 1


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


def test_a_mean_has_an_interval_that_is_the_same_each_time_and_narrows_with_more_questions():
    few, many = mean_figure([0.0, 1.0] * 10), mean_figure([0.0, 1.0] * 200)
    assert few == mean_figure([0.0, 1.0] * 10)
    assert few.value == many.value == 0.5 and few.low < many.low < 0.5 < many.high < few.high
    # The normal approximation of the standard error of a mean of 400 values of deviation 1/2 is 0.025.
    assert many.high - many.low == pytest.approx(4 * 0.025, abs=0.01)


def test_what_has_no_value_does_not_count():
    assert mean_figure([None, 1.0, None]).model_dump() == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 1}
    assert mean_figure([None]).model_dump() == {"value": None, "low": None, "high": None, "n": 0}


TEXT = "Gottlieb Daimler built the engine in 1885. It ran on petrol."
EVIDENCE = {"p": Evidence(id="p", text=TEXT, title="Daimler Reitwagen")}


def answer(text: str, quote: str, evidence_id: str = "p", cited: tuple[int, ...] = (1,)) -> Answer:
    citation = Citation(number=1, evidence_id=evidence_id, quote=quote, start=0, end=len(quote), title="t")
    return Answer(text=text, sentences=(Sentence(text=text, citations=cited),), citations=(citation,))


@pytest.mark.parametrize(
    ("given", "share"),
    [
        (answer("Daimler built it in 1885.", "Gottlieb Daimler built the engine in 1885."), 1.0),
        (answer("The Reitwagen ran on petrol.", "It ran on petrol."), 1.0),  # The title names it.
        (answer("Daimler built it in 1886.", "Gottlieb Daimler built the engine in 1885."), 0.0),
        (answer("It ran on petrol.", "It ran on diesel."), 0.0),
        (answer("It ran on petrol.", "It ran on petrol.", evidence_id="q"), 0.0),
        (answer("It ran on petrol.", "It ran on petrol.", cited=()), 0.0),
        (answer("It ran on petrol.", "It ran on petrol.", cited=(1, 2)), 0.0),
        (Answer(text=""), None),
    ],
)
def test_a_sentence_is_faithful_if_its_quotes_stand_in_their_sources_and_hold_its_words(given, share):
    assert faithfulness(given, EVIDENCE) == share


def outcome(id: str, **values) -> QuestionOutcome:
    predicted = values.get("predicted", "x")
    fields = {
        "type": "bridge", "hops": 2, "status": "answered" if predicted else "abstained", "predicted": "x",
        "recall": {2: 0.5, 5: 1.0, 10: 1.0}, "em": 0.0, "f1": 0.0, "citation_precision": None, "citation_recall": None,
        "faithfulness": None, "gathered": 1.0, "confidence": 0.5, "retries": {}, "passes": {}, "loop_seconds": {}, "model_calls": 0,
        "seconds": 1.0, "error": None,
    }  # fmt: skip
    return QuestionOutcome(id=id, **{**fields, **values})


def test_figures_count_each_question_once_and_leave_out_those_without_gold():
    figures = figures_of([outcome("a"), outcome("b", recall={2: 0.0, 5: 0.5, 10: 1.0}), outcome("c", recall={})])
    assert figures["recall@2"].value == 0.25 and figures["recall@2"].n == 2
    assert figures["all_gold@5"].value == 0.5 and figures["recall@10"].value == 1
    assert figures["em"].n == 3


def test_groups_are_by_name_and_questions_without_one_are_in_none():
    groups = grouped([outcome("a", hops=10), outcome("b", hops=2), outcome("c", hops=None)], lambda each: each.hops)
    assert list(groups) == ["2", "10"] and groups["2"]["em"].n == 1
    assert list(grouped([outcome("a", type="")], lambda each: each.type)) == []


def test_an_abstention_is_right_where_there_is_no_answer_or_not_all_its_evidence_was_found():
    none = {"predicted": "", "confidence": 0.0}
    found = abstention_of(
        [
            outcome("right", em=1.0, f1=1.0, confidence=0.9),
            outcome("wrong", confidence=0.2),
            outcome("no answer", gathered=None, em=1.0, f1=1.0, **none),
            outcome("no evidence", gathered=0.5, **none),
            outcome("too shy", **none),
        ],
        frozenset({"no answer"}),
    )
    assert found.coverage.value == pytest.approx(2 / 5)
    assert found.precision.value == pytest.approx(2 / 3) and found.precision.n == 3
    assert found.risk.value == 0.5
    # The losses in order are 0, 1, 0, 1, 1; the means over the first 1, 2, ... are:
    assert found.risk_coverage_area == pytest.approx((0 + 1 / 2 + 1 / 3 + 2 / 4 + 3 / 5) / 5)


def test_there_is_no_area_where_all_answers_are_equally_sure():
    assert abstention_of([outcome("a"), outcome("b")], frozenset()).risk_coverage_area is None


def test_a_loops_gain_is_over_all_questions_and_its_cost_over_those_that_it_went_round_for():
    outcomes = [
        outcome("a", f1=1.0, em=1.0, passes={"hops": 2}, loop_seconds={"hops": 2.0}, model_calls=5),
        outcome("b", f1=0.5, gathered=None),
        outcome("c", f1=0.0),
        outcome("d", f1=0.0),
    ]
    without = {"a": outcome("a", f1=0.2, gathered=0.5, model_calls=1)}
    gain = gain_of("hops", outcomes, without)
    assert (gain.passes, gain.questions, gain.seconds, gain.model_calls) == (2, 1, 2.0, 4)
    assert gain.f1.value == pytest.approx(0.2) and gain.em.value == 0.25
    assert gain.recall.value == pytest.approx(0.5 / 3) and gain.recall.n == 3
