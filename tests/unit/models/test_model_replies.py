"""What models reply with, and what is sent to them in the place of an image."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import BaseModel

from loopwright.errors import ModelError
from loopwright.models import consult, with_fallback
from loopwright.models.conversation import find_json_object
from loopwright.models.vision import IMAGE_SIDE, VISION_KEY, has_images, image_side, sees
from loopwright.testing import ScriptedChatModel

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
prose = st.text(st.characters(exclude_characters="{}"))


@given(objects, prose, prose, st.booleans(), st.sampled_from([None, 2]))
def test_any_object_is_found_in_any_prose(value, before, after, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert find_json_object(before + text + after) == text


@given(st.dictionaries(st.text(), values, min_size=1, max_size=4), prose, st.data())
def test_no_object_is_read_from_a_truncated_one(value, before, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ValueError, match="does not end"):
        find_json_object(before + text[:cut])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('The set {x} is empty, so: {"a": "}"} and {"b": 2}', '{"a": "}"}'),
        (r'{"a": "\"}{"}', r'{"a": "\"}{"}'),
        ('She said "hello" and \'twas {"a": {"b": {}}}', '{"a": {"b": {}}}'),
        ('} {"a": []}', '{"a": []}'),
        ('<think>Say {"a": 1}? No.</think> {"a": 2}', '{"a": 2}'),
    ],
)
def test_examples(text, found):
    assert find_json_object(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"verdict": {"answer": "no"}, "why": "it is', "does not end"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "1e999 is too large"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
    ],
)
def test_refusals_say_why(text, problem):
    with pytest.raises(ValueError, match=problem):
        find_json_object(text)


def test_hostile_text_takes_linear_time():
    started = time.process_time()
    for text in ("{" * 500_000, '{"a":' * 100_000, "{}x" * 5, '"' * 500_000, "{x}" * 100_000):
        try:
            find_json_object(text)
        except ValueError:
            pass
    assert time.process_time() - started < 5


IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


class Verdict(BaseModel):
    """A verdict."""

    answer: str


def question(*blocks: Any) -> list[Any]:
    return [SystemMessage("Look."), HumanMessage(content=[*blocks, {"type": "text", "text": "Well?"}])]


def test_who_says_what_a_model_sees():
    assert not sees(ScriptedChatModel(profile=None))
    assert not sees(ScriptedChatModel(profile={"image_inputs": False}))
    assert sees(ScriptedChatModel(profile={"image_inputs": True}))
    assert sees(ScriptedChatModel(profile={"image_inputs": False}, metadata={VISION_KEY: True}))
    assert not sees(ScriptedChatModel(profile={"image_inputs": True}, metadata={VISION_KEY: False}))
    assert image_side(ScriptedChatModel()) == IMAGE_SIDE


def test_each_model_gets_what_it_can_see():
    blind = ScriptedChatModel(ConnectionError("down"), profile={"image_inputs": False})
    seeing = ScriptedChatModel({"answer": "yes"}, profile={"image_inputs": True})
    answered = consult(with_fallback(blind, seeing), question(IMAGE), Verdict)
    assert (answered.reply.answer, answered.notes) == ("yes", ())
    assert not has_images(blind.calls[0].messages)
    assert has_images(seeing.calls[0].messages)


def test_a_question_that_needs_its_image_passes_over_the_blind():
    blind, unknown = ScriptedChatModel(profile={"image_inputs": False}), ScriptedChatModel(profile=None)
    seeing = ScriptedChatModel({"answer": "yes"})
    chain = with_fallback(blind, unknown, seeing)
    assert consult(chain, question(IMAGE), Verdict, needs_images=True).reply.answer == "yes"
    assert [len(model.calls) for model in (blind, unknown, seeing)] == [0, 0, 1]


def test_if_none_sees_the_error_says_so():
    blind = [ScriptedChatModel(profile={"image_inputs": False}) for _ in range(2)]
    with pytest.raises(ModelError, match="sees no images"):
        consult(with_fallback(*blind), question(IMAGE), Verdict, needs_images=True)
