"""Which models see images, which refusals mean that one does not, and what is sent in the place of an image."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from loopwright.errors import ModelError
from loopwright.models import consult, with_fallback
from loopwright.models.vision import (
    IMAGE_SIDE,
    VISION_KEY,
    has_images,
    image_refusal,
    image_side,
    remember_blindness,
    sees,
)
from loopwright.testing import ScriptedChatModel

IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


class Verdict(BaseModel):
    """A verdict."""

    answer: str


class Refused(Exception):
    """An HTTP error as a provider's client raises it."""

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


def question(*blocks: Any) -> list[Any]:
    return [SystemMessage("Look."), HumanMessage(content=[*blocks, {"type": "text", "text": "Well?"}])]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "Invalid content type. image_url is only supported by certain models."),
        (400, "this model does not support image input (ref: b8bd630e)"),
        (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
        (500, "image input is not supported by this server"),
        (500, 'Failed to parse messages: Unsupported content part type: "image_url"'),
        (400, "Model does not support images. Please use a model that does."),
        (400, "/models/llama is not a multimodal model"),
        (400, "At most 0 image(s) may be provided in one request."),
        (404, "No endpoints found that support image input"),
        (422, "messages[0]: unknown variant `image_url`, expected `text`"),
    ],
)
def test_a_refusal_of_all_images(status, said):
    assert image_refusal(Refused(status, said)) == "model"
    outer = RuntimeError("wrapped")
    outer.__cause__ = Refused(status, said)
    assert image_refusal(outer) == "model"


@pytest.mark.parametrize(
    "said",
    [
        "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5341234 bytes > 5242880 bytes",
        "messages.0.content.1: Could not process image",
        "Unable to process input image. Please retry",
    ],
)
def test_a_refusal_of_one_image(said):
    assert image_refusal(Refused(400, said)) == "image"


@pytest.mark.parametrize(
    "error",
    [
        Refused(401, "no access to image models"),
        Refused(429, "image tokens per minute exceeded"),
        Refused(500, "the image worker crashed"),
        Refused(400, "Invalid schema for response_format"),
        Refused(400, "prompt is too long: 213462 tokens > 200000 maximum"),
        ValueError("image"),
    ],
)
def test_other_errors_are_no_refusals(error):
    assert image_refusal(error) is None


def test_who_says_what_a_model_sees():
    model = ScriptedChatModel()
    assert sees(model) is None
    assert sees(ScriptedChatModel(profile={"image_inputs": False})) is False
    assert sees(ScriptedChatModel(profile={"image_inputs": False}, metadata={VISION_KEY: True})) is True
    remember_blindness(model)
    assert sees(model) is False
    assert image_side(model) == IMAGE_SIDE


class TestChains:
    """A model and its fallbacks."""

    def test_each_model_gets_what_it_can_see(self):
        blind = ScriptedChatModel(Refused(503, "down"), profile={"image_inputs": False})
        seeing = ScriptedChatModel({"answer": "yes"}, profile={"image_inputs": True})
        answered = consult(with_fallback(blind, seeing), question(IMAGE), Verdict)
        assert (answered.reply.answer, answered.notes) == ("yes", ())
        assert not has_images(blind.calls[0].messages)
        assert has_images(seeing.calls[0].messages)

    def test_a_question_that_needs_its_image_passes_over_the_blind(self):
        blind = ScriptedChatModel(profile={"image_inputs": False})
        refusing = ScriptedChatModel(Refused(400, "this model does not support image input"))
        seeing = ScriptedChatModel({"answer": "yes"})
        chain = with_fallback(blind, refusing, seeing)
        assert consult(chain, question(IMAGE), Verdict, needs_images=True).reply.answer == "yes"
        assert [len(model.calls) for model in (blind, refusing, seeing)] == [0, 1, 1]

    def test_if_none_sees_the_error_says_so(self):
        blind = [ScriptedChatModel(profile={"image_inputs": False}) for _ in range(2)]
        with pytest.raises(ModelError, match="sees no images"):
            consult(with_fallback(*blind), question(IMAGE), Verdict, needs_images=True)
