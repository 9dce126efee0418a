"""Scores of answers: each measures something of its own, and feedback asks only for what can be mended."""

from __future__ import annotations

import pytest
from assistant_answers import ANA, INFO, MILL, OVENS, SOURDOUGH, SUNDAY, asked, hit

from loopwright.workflows.assistant.answer import EvaluationReply, Known, evaluate_answer, evaluation_of, list_answer
from loopwright.workflows.assistant.schemas import Draft, Evaluation, Found, Question, Table

RESULTS = {"sessions": [hit(SOURDOUGH, 0.9, "sourdough"), hit(OVENS, 0.5)], "exhibitors": [hit(MILL, 0.5)]}
TOPIC = asked(topic="sourdough")


def judged(text: str, *ids: str, question: Question = TOPIC, results: dict[str, list[Found]] = RESULTS) -> Evaluation:
    return evaluate_answer(question, Draft(text=text, referenced_ids=ids), results)


def test_a_good_answer_has_full_marks_and_no_feedback() -> None:
    found = judged("**Bread without yeast** [sessions:17]: Sat 4 May, 10:00-10:45, Hall 2. Sourdough.", "sessions:17")
    assert (found.quality_score, found.faithfulness_score, found.confidence_score) == (1.0, 1.0, 0.9)
    assert found.feedback == ""
    assert found.issues == ()


@pytest.mark.parametrize(
    "text",
    [
        "**Bread without yeast** [sessions:17] is at 14:00.",
        "**Bread without yeast** [sessions:17] won the golden medal of Lisbon twice.",
        "There is also something at 15:30 in the garden.",
        "- **Bread without yeast** [sessions:17]: Sat 4 May, 9:00-10:45.",
    ],
)
def test_what_the_records_do_not_say_is_unfaithful(text: str) -> None:
    found = judged(text, "sessions:17")
    assert found.faithfulness_score == 0.0
    assert "not borne out" in found.feedback


def test_a_statement_is_held_against_the_record_that_it_cites_and_no_other() -> None:
    wrong_pair = judged("**Bread without yeast** [sessions:23]: Sat 4 May, 10:00-10:45, Hall 2.", "sessions:23")
    assert wrong_pair.faithfulness_score == 0.0


def test_a_persons_session_has_its_own_time() -> None:
    text = "- **Ana Reis** [speakers:7]: Ana Reis, 10:30-11:00."
    alone = {"speakers": [hit(ANA, 0.9)]}
    assert judged(text, "speakers:7", results=alone).faithfulness_score == 1.0
    both = {"speakers": [hit(ANA, 0.9)], "sessions": [hit(SOURDOUGH, 0.5), hit(OVENS, 0.5)]}
    assert judged(text, "speakers:7", results=both).faithfulness_score == 1.0
    assert judged(text.replace("10:30", "18:30"), "speakers:7", results=both).faithfulness_score == 0.0


def test_what_is_missing_from_the_conference_must_be_said() -> None:
    noted = asked(topic="sourdough", notes=["There is no room Hall 9."])
    silent = judged("**Bread without yeast** [sessions:17]", "sessions:17", question=noted)
    told = judged("There is no room Hall 9. **Bread without yeast** [sessions:17]", "sessions:17", question=noted)
    assert silent.quality_score == pytest.approx(2 / 3)
    assert told.quality_score == 1.0


def test_nothing_found_scores_low_and_asks_for_no_other_attempt() -> None:
    draft = list_answer(TOPIC, {"sessions": []}, Known(info=INFO))
    found = evaluate_answer(TOPIC, draft, {"sessions": []})
    assert (found.quality_score, found.confidence_score, found.faithfulness_score) == (0.0, 0.0, 1.0)
    assert found.feedback == ""


@pytest.mark.parametrize(
    "question",
    [
        asked(topic="sourdough"),
        asked(Table.SPEAKERS, Table.SESSIONS, person="Ana Reis"),
        asked(day="2024-05-04", room="Hall 2"),
        asked(Table.SESSIONS, Table.EXHIBITORS, topic="ovens", notes=["There is no track Cakes."]),
    ],
)
def test_answers_by_rules_are_faithful(question: Question) -> None:
    results = {
        "sessions": [hit(SOURDOUGH, 0.9, "sourdough"), hit(OVENS, 0.5), hit(SUNDAY, 0.2)],
        "speakers": [hit(ANA, 0.9)],
        "exhibitors": [hit(MILL, 0.4, "flour")],
    }
    draft = list_answer(question, results, Known(info=INFO))
    found = evaluate_answer(question, draft, results)
    assert found.faithfulness_score == 1.0
    assert found.feedback == ""


OWN = Evaluation(quality_score=0.2, confidence_score=0.7, faithfulness_score=0.3)


def test_a_models_judgement_is_counted() -> None:
    reply = EvaluationReply(
        met=["on bread"],
        missing=["on Sunday", " "],
        supported=["a", "b", "c"],
        unsupported=["d"],
        advice=" Add  Sunday. ",
    )
    found = evaluation_of(reply, OWN)
    assert (found.quality_score, found.confidence_score, found.faithfulness_score) == (0.5, 0.7, 0.75)
    assert found.feedback == "Add Sunday."
    assert found.issues == ("does not meet: on Sunday", "unsupported: d")
