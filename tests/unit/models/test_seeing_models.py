"""Which models see images, which refusals mean that one does not, and what is sent in the place of an image."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from loopwright.errors import ModelError
from loopwright.models import consult, with_fallback
from loopwright.models.vision import IMAGE_SIDE, VISION_KEY, has_images, image_side, sees
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


def test_who_says_what_a_model_sees():
    assert not sees(ScriptedChatModel(profile=None))
    assert not sees(ScriptedChatModel(profile={"image_inputs": False}))
    assert sees(ScriptedChatModel(profile={"image_inputs": True}))
    assert sees(ScriptedChatModel(profile={"image_inputs": False}, metadata={VISION_KEY: True}))
    assert not sees(ScriptedChatModel(profile={"image_inputs": True}, metadata={VISION_KEY: False}))
    assert image_side(ScriptedChatModel()) == IMAGE_SIDE


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
        blind, unknown = ScriptedChatModel(profile={"image_inputs": False}), ScriptedChatModel(profile=None)
        seeing = ScriptedChatModel({"answer": "yes"})
        chain = with_fallback(blind, unknown, seeing)
        assert consult(chain, question(IMAGE), Verdict, needs_images=True).reply.answer == "yes"
        assert [len(model.calls) for model in (blind, unknown, seeing)] == [0, 0, 1]

    def test_if_none_sees_the_error_says_so(self):
        blind = [ScriptedChatModel(profile={"image_inputs": False}) for _ in range(2)]
        with pytest.raises(ModelError, match="sees no images"):
            consult(with_fallback(*blind), question(IMAGE), Verdict, needs_images=True)
