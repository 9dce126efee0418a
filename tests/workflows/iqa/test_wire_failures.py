"""What providers answer when something is wrong: refused images, limits, keys, cut-off, blocked and broken replies."""

from __future__ import annotations

import json
import logging
import traceback

import pytest
from installed import needs
from provider_server import SECRET, Failed, ProviderServer, Said

from loopwright.engine.nodes.failures import failure_kind
from loopwright.errors import ModelError
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.sources.sample import sample_path
from loopwright.workflows.iqa.vision.locating import locate

needs("langchain_openai", "langchain_anthropic", "langchain_google_genai", "langchain_ollama")

QUESTION = "What is the main distortion? A. Noise B. Blur"
GOOD = json.dumps({"final_answer": "B", "quality_reasoning": "The edges are 2.6 pixels wide."})


def services_on(server: ProviderServer, **more) -> Services:
    models = {"default": server.spec(**more)}
    return Services.of(IQAConfig.model_validate({"models": models, "iqa": {"repairs": 1}}))


def summarized(services: Services):
    evidence = ExecutorOutput(distortion_set={"Global": ["gaussian blur"]})
    state = {
        "query": QUESTION, "image_path": str(sample_path("harbour-blurred")),
        "plan": PlannerOutput(answer_mode="mcq"), "executor_evidence": evidence,
    }  # fmt: skip
    return summarizer_node(state, services)["summarizer_result"]


def everything_said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error)) + repr(error)


@pytest.mark.matrix(2)
def test_a_model_that_is_not_known_to_see_is_asked_without_the_image(server):
    server.replies.append(Said(GOOD))
    result = summarized(services_on(server, vision=None))
    assert result.final_answer == "B"
    assert server.images(0) == []
    assert "(Not attached: model 'test-model' sees no images.)" in server.text(0)
    assert "The image was not sent: model 'test-model' sees no images as far as is known" in result.quality_reasoning


@pytest.mark.matrix(2)
def test_a_question_about_the_image_is_not_asked_blindly(server):
    image = load_image(sample_path("harbour"))
    with pytest.raises(ModelError, match="sees no images"):
        locate(services_on(server, vision=False).chat("executor"), image, ["boat"], repairs=1)
    assert server.bodies == []


@pytest.mark.matrix(2)
def test_a_server_that_repeats_the_key_does_not_get_it_into_the_error(server, caplog):
    if server.dialect == "ollama":
        pytest.skip("has no key")
    server.replies.append(Failed(401, f"Incorrect API key provided: {SECRET}"))
    with caplog.at_level(logging.DEBUG, "loopwright"), pytest.raises(Exception, match=r"provided: \*\*\*") as caught:
        summarized(services_on(server))
    assert failure_kind(caught.value) == "auth"
    assert SECRET not in everything_said(caught.value) + caplog.text
