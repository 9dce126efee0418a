"""Scores of answers: each measures something of its own."""

from __future__ import annotations

import pytest
from assistant_answers import INFO, MILL, OVENS, SOURDOUGH, asked, hit

from loopwright.workflows.assistant.answer.evaluating import EvaluationReply, evaluate_answer, evaluation_of
from loopwright.workflows.assistant.answer.listing import Known, list_answer
from loopwright.workflows.assistant.schemas import Draft, Evaluation, Question

RESULTS = {"sessions": [hit(SOURDOUGH, 0.9, "sourdough"), hit(OVENS, 0.5)], "exhibitors": [hit(MILL, 0.5)]}
TOPIC = asked(topic="sourdough")


def judged(text: str, *ids: str, question: Question = TOPIC) -> Evaluation:
    return evaluate_answer(question, Draft(text=text, referenced_ids=ids), RESULTS)


def test_a_good_answer_has_full_marks() -> None:
    found = judged("**Bread without yeast** [sessions:17]: Sat 4 May, 10:00-10:45, Hall 2. Sourdough.", "sessions:17")
    assert (found.quality_score, found.faithfulness_score, found.confidence_score) == (1.0, None, 0.9)
    assert found.issues == ()


def test_what_is_missing_from_the_conference_must_be_said() -> None:
    noted = asked(topic="sourdough", notes=["There is no room Hall 9."])
    silent = judged("**Bread without yeast** [sessions:17]", "sessions:17", question=noted)
    told = judged("There is no room Hall 9. **Bread without yeast** [sessions:17]", "sessions:17", question=noted)
    assert silent.quality_score == pytest.approx(2 / 3)
    assert told.quality_score == 1.0


def test_nothing_found_scores_low() -> None:
    draft = list_answer(TOPIC, {"sessions": []}, Known(info=INFO))
    found = evaluate_answer(TOPIC, draft, {"sessions": []})
    assert (found.quality_score, found.confidence_score) == (0.0, 0.0)


OWN = Evaluation(quality_score=0.2, confidence_score=0.7)


def test_a_models_judgement_is_counted() -> None:
    reply = EvaluationReply(
        met=["on bread"],
        missing=["on Sunday", " "],
        supported=["a", "b", "c"],
        unsupported=["d"],
    )
    found = evaluation_of(reply, OWN)
    assert (found.quality_score, found.confidence_score, found.faithfulness_score) == (0.5, 0.7, 0.75)
    assert found.issues == ("does not meet: on Sunday", "unsupported: d")
