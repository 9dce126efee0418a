"""A chat model fills the same `Question` as the rules, in the planner's one call; the rules keep what is closed."""

import cv2
import pytest
import skimage
from weights import MODELS

from loopwright.models import ModelRegistry, allow_model_requests
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.iqa import IQAConfig, run_pipeline
from loopwright.workflows.iqa.question.asked import MeantQuestion, Operation, Question, agreed
from loopwright.workflows.iqa.question.question import read_questions
from loopwright.workflows.iqa.services import Services

LOCAL = "qwen2.5-coder-0.5b-instruct"
STRANGE = "Would Grandma need her glasses for this one?"
"""A question of which the rules understand no word."""


def plan(*questions):
    return {
        "query_type": "IQA", "answer_mode": "explanation", "query_scope": "Global", "rationale": "As asked.",
        "questions": questions,
    }  # fmt: skip


def ask(query, reply, *, image):
    model = ScriptedChatModel(reply)
    return run_pipeline(query, image, services=Services(IQAConfig(), ModelRegistry({"planner": model}))), model


@pytest.fixture(scope="module")
def coffee(tmp_path_factory):
    """A photograph as it is, and blurred."""
    folder = tmp_path_factory.mktemp("coffee")
    photo = cv2.imread(f"{skimage.__path__[0]}/data/coffee.png")
    cv2.imwrite(str(folder / "sharp.png"), photo)
    cv2.imwrite(str(folder / "blurred.png"), cv2.GaussianBlur(photo, (0, 0), 4))
    return folder


def test_what_only_the_model_understands_is_answered_from_the_measurements(coffee):
    meant = {"operation": "yes or no", "yes_no": True, "distortions": ["blurs"]}
    state, model = ask(STRANGE, plan(meant), image=coffee / "blurred.png")
    assert len(model.calls) == 1
    (question,) = state["questions"]
    assert (question.operation, question.names, question.yes_no) == (Operation.DECIDE, ("blurs",), True)
    assert state["summarizer_result"].final_answer.startswith("Yes: ")
    assert ask(STRANGE, plan(meant), image=coffee / "sharp.png")[0]["summarizer_result"].final_answer.startswith("No: ")


def test_the_model_cannot_bring_back_what_the_query_sets_aside(coffee):
    meant = {"operation": "find what is wrong", "distortions": ["blurs"]}
    state, _ = ask("What is wrong with it, apart from blur?", plan(meant), image=coffee / "blurred.png")
    (question,) = state["questions"]
    assert question.terms == () and "blurs" in question.excluded
    assert "blur" not in state["summarizer_result"].final_answer


@pytest.mark.parametrize(
    "query",
    [
        "Rate its sharpness from 1 to 10", "Is its PSNR above 30?", "How many pixels wide is it?", "Keep or drop?",
        "Which half is noisier, left or right?", "Which metric is best for this image?",
    ],
)  # fmt: skip
@pytest.mark.parametrize("operation", Operation)
def test_what_the_rules_read_by_closed_names_stays(query, operation):
    (read,) = read_questions(query)
    assert agreed([MeantQuestion(operation=operation, distortions=["noise"])], [read]) == [read]


@pytest.mark.parametrize("operation", Operation)
def test_what_is_agreed_is_always_a_question_that_the_rules_could_read(operation):
    for query in (STRANGE, "Is it sharp?", "What is wrong, apart from noise?", "Blur or noise?"):
        (question,) = agreed([MeantQuestion(operation=operation, distortions=["noise", "blur"])], read_questions(query))
        assert Question.model_validate(question.model_dump()) == question
        assert not set(question.names) & set(question.excluded)
        assert (question.scale, question.places, question.tools) == (None, (), ())


def test_a_model_that_answers_against_the_measurements_is_told_on_its_own_question(coffee):
    meant = {"operation": "yes or no", "yes_no": True, "distortions": ["blurs"]}
    says = {"final_answer": "No, she would not.", "quality_reasoning": "It looks fine."}
    model = ScriptedChatModel(plan(meant), says)
    services = Services(IQAConfig(), ModelRegistry({"planner": model, "summarizer": model}))
    result = run_pipeline(STRANGE, coffee / "blurred.png", services=services)["summarizer_result"]
    assert "The measurements say: " in result.quality_reasoning and "blur" in result.quality_reasoning


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_local_model_fills_it_too(coffee):
    (weights,) = [*(MODELS / LOCAL).glob("*.gguf")] or [None]
    if weights is None:
        pytest.skip(f"{LOCAL} is not in .models/: run scripts/fetch_test_models")
    config = IQAConfig.model_validate(
        {"models": {"planner": f"local:{weights}"}, "pipeline": {"timeout": {"planner": 800}}}
    )
    query = "Is this photo blurry, apart from the noise?"
    with allow_model_requests(), Services.of(config) as services:
        state = run_pipeline(query, coffee / "blurred.png", services=services, max_replan_iterations=0)
    assert state["questions"] and all(isinstance(question, Question) for question in state["questions"])
    assert not {"noise"} & {name for question in state["questions"] for name in question.names}
    assert "noise" not in state["summarizer_result"].final_answer
