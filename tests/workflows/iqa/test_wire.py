"""What reaches each provider, and what it answers when something is wrong: real LangChain classes on a local server."""

import io
import json
import logging
import traceback

import numpy as np
import pytest
from installed import needs
from PIL import Image
from provider_server import SECRET, Failed, ProviderServer, Said

from loopwright.engine.nodes.failures import failure_kind
from loopwright.errors import ModelError
from loopwright.workflows.iqa import run_pipeline
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.nodes.planner import planner_node
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.sources.images import load_image
from loopwright.workflows.iqa.vision import locate
from loopwright.workflows.iqa.workflow import sample_path

needs("langchain_openai", "langchain_anthropic", "langchain_google_genai", "langchain_ollama")

PLAN = {
    "query_type": "IQA", "answer_mode": "scoring", "query_scope": "Global", "distortion_source": "Inferred",
    "distortions": None, "reference_mode": "Full-Reference", "required_tools": ["MDSI"],
    "plan": {"distortion_detection": True, "distortion_analysis": True, "tool_selection": False, "tool_execution": True},
    "rationale": "One score is asked for.",
}  # fmt: skip
ANSWER = {"final_answer": "Poor", "quality_reasoning": "Blurred, MDSI says so.", "level_probabilities": None}
KEY_HEADERS = {
    "openai": ("authorization", f"Bearer {SECRET}"), "anthropic": ("authorization", f"Bearer {SECRET}"),
    "google_genai": ("x-goog-api-key", SECRET),
}  # fmt: skip


def services_on(server: ProviderServer, **more) -> Services:
    return Services.of(IQAConfig.model_validate({"models": {"default": server.spec(**more)}}))


def pixels(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))


@pytest.mark.matrix
def test_the_whole_pipeline_over_the_wire(server, caplog):
    image, reference = sample_path("harbour-blurred"), sample_path("harbour")
    server.replies.extend([Said(json.dumps(PLAN)), Said(json.dumps(ANSWER))])
    models = {"planner": server.spec(), "summarizer": server.spec()}
    with caplog.at_level(logging.DEBUG):
        state = run_pipeline(
            "Rate the quality.", str(image), str(reference), config=IQAConfig.model_validate({"models": models})
        )
    result = state["summarizer_result"]
    assert result.final_answer in ("Bad", "Poor", "Fair")
    assert result.quality_score == pytest.approx(state["executor_evidence"].quality_scores["MDSI"], abs=1e-4)
    assert result.used_evidence["opinion_source"] is None
    assert len(server.bodies) == 2
    for call in range(2):
        # Both files are plain PNGs: not one byte of them may change.
        kind = None if server.dialect == "ollama" else "image/png"
        assert server.images(call) == [(kind, image.read_bytes()), (kind, reference.read_bytes())]
        assert "Image 1 of 2: the image in question, 320 x 240 pixels, without loss:" in server.text(call)
        assert "Image 2 of 2: its pristine reference, 320 x 240 pixels, without loss:" in server.text(call)
    if server.dialect in KEY_HEADERS:
        name, value = KEY_HEADERS[server.dialect]
        assert {headers.get(name) for headers in server.headers_seen} == {value}
    assert SECRET not in "".join(server.paths) + json.dumps(server.bodies)
    assert SECRET not in caplog.text


@pytest.mark.matrix
def test_the_schema_reaches_the_provider_in_its_own_way(server):
    server.replies.append(Said(json.dumps({**PLAN, "required_tools": None})))
    planner_node({"query": "Rate the quality.", "image_path": str(sample_path("harbour"))}, services_on(server))
    (body,) = server.bodies
    sent = {
        "openai": lambda: body["response_format"]["json_schema"]["schema"],
        "anthropic": lambda: body["output_config"]["format"]["schema"],
        "google_genai": lambda: body["generationConfig"]["responseJsonSchema"],
        "ollama": lambda: body["format"],
    }[server.dialect]()
    assert {"query_type", "answer_mode", "plan"} <= sent["properties"].keys()
    assert '"Full-Reference"' in json.dumps(sent)
    # Anthropic's client forbids names that a schema does not list, so that a mapping could only be empty.
    named = json.dumps(sent["properties"]["distortions"])
    assert '"object"' in named and "motion blur" in named


@pytest.mark.matrix(2)
def test_located_objects_are_shown_apart_to_the_summarizer(server):
    path = sample_path("harbour")
    evidence = ExecutorOutput(regions={"boat": (100, 120, 64, 48), "Global": (0, 0, 320, 240)})
    plan = PlannerOutput(answer_mode="explanation", query_scope=["boat"])
    server.replies.append(Said(json.dumps({**ANSWER, "final_answer": "It is sharp."})))
    state = {"query": "Is the boat sharp?", "image_path": str(path), "plan": plan, "executor_evidence": evidence}
    assert summarizer_node(state, services_on(server))["summarizer_result"].final_answer == "It is sharp."
    (_, whole), (_, boat) = server.images()
    assert whole == path.read_bytes()
    assert np.array_equal(pixels(boat), load_image(path).rgb[120:168, 100:164])
    assert "Image 2 of 2: the image in question: the boat alone, 64 x 48 pixels" in server.text()


QUESTION = "What is the main distortion? A. Noise B. Blur"
GOOD = json.dumps({"final_answer": "B", "quality_reasoning": "The edges are 2.6 pixels wide."})


def summarized(services: Services):
    evidence = ExecutorOutput(distortion_set={"Global": ["gaussian blur"]})
    state = {
        "query": QUESTION, "image_path": str(sample_path("harbour-blurred")),
        "plan": PlannerOutput(answer_mode="mcq"), "executor_evidence": evidence,
    }  # fmt: skip
    return summarizer_node(state, services)["summarizer_result"]


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
    said = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert SECRET not in said + caplog.text
