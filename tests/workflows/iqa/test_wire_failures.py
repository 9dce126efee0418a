"""What providers answer when something is wrong: refused images, limits, keys, cut-off, blocked and broken replies."""

from __future__ import annotations

import json
import logging
import traceback

import pytest
from installed import needs
from provider_server import IN, OUT, SECRET, Failed, ProviderServer, Said

from loopwright.engine.nodes.failures import failure_kind
from loopwright.errors import ModelError
from loopwright.models import Usage
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
NO_VISION = {
    "openai": Failed(400, "Invalid content type. image_url is only supported by certain models."),
    "anthropic": Failed(400, "this model does not support image input"),
    "google_genai": Failed(400, "Image input modality is not enabled: this model does not support images"),
    "ollama": Failed(500, "image input is not supported - hint: you may need to provide the mmproj"),
}
"""As providers and local servers are reported to say it."""


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
def test_a_model_that_takes_no_images_is_asked_without_and_no_more_with_them(server, caplog):
    server.replies.extend([NO_VISION[server.dialect], Said(GOOD), Said(GOOD)])
    services = services_on(server)
    with caplog.at_level(logging.WARNING, "loopwright"):
        first, second = summarized(services), summarized(services)
    assert (first.final_answer, second.final_answer) == ("B", "B")
    assert [len(server.images(call)) for call in range(3)] == [1, 0, 0]
    for call in (1, 2):
        assert "(Not attached: model 'test-model' " in server.text(call)
    for result in (first, second):
        assert "The image was not sent: model 'test-model' " in result.quality_reasoning
    (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "refused the image; it is asked without images from now on" in warning.getMessage()
    assert services.usage.total() == Usage(
        calls=3,
        failed_calls=1,
        unmetered_calls=1,
        input_tokens=2 * IN,
        output_tokens=2 * OUT,
        total_tokens=2 * (IN + OUT),
    )


@pytest.mark.matrix(2)
def test_one_image_that_is_refused_does_not_make_a_model_blind(server):
    too_large = Failed(400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum")
    server.replies.extend([too_large, Said(GOOD), Said(GOOD)])
    services = services_on(server)
    first, second = summarized(services), summarized(services)
    assert "exceeds 5 MB" in first.quality_reasoning
    assert "not sent" not in second.quality_reasoning
    assert [len(server.images(call)) for call in range(3)] == [1, 0, 1]


@pytest.mark.matrix(2)
def test_a_question_about_the_image_is_not_asked_blindly(server):
    image = load_image(sample_path("harbour"))
    with pytest.raises(ModelError, match="sees no images"):
        locate(services_on(server, vision=False).chat("executor"), image, ["boat"], repairs=1)
    assert server.bodies == []
    server.replies.append(NO_VISION[server.dialect])
    chat = services_on(server).chat("executor")
    with pytest.raises(Exception, match="image"):
        locate(chat, image, ["boat"], repairs=1)
    with pytest.raises(ModelError, match="sees no images"):
        locate(chat, image, ["boat"], repairs=1)
    assert len(server.bodies) == 1


@pytest.mark.matrix(2)
def test_a_server_that_repeats_the_key_does_not_get_it_into_the_error(server, caplog):
    if server.dialect == "ollama":
        pytest.skip("has no key")
    server.replies.append(Failed(401, f"Incorrect API key provided: {SECRET}"))
    with caplog.at_level(logging.DEBUG, "loopwright"), pytest.raises(Exception, match=r"provided: \*\*\*") as caught:
        summarized(services_on(server))
    assert failure_kind(caught.value) == "auth"
    assert SECRET not in everything_said(caught.value) + caplog.text
