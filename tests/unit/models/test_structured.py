"""Replies of models: found in prose, validated, repaired, never guessed; exceptions; and what stands for an image."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from loopwright.engine.events.schema import holding
from loopwright.errors import ModelError, StructuredReplyError
from loopwright.models import Usage, UsageRecorder, aask, ask, consult, with_fallback
from loopwright.models.conversation import awritten, find_json_object
from loopwright.models.usage import usage_of_the_run
from loopwright.models.vision import IMAGE_SIDE, VISION_KEY, has_images, image_side, sees
from loopwright.testing import ScriptedChatModel, always


class Verdict(BaseModel):
    """Whether the passage answers the question."""

    answer: Literal["yes", "no"]
    score: float = Field(default=0.5, ge=0, le=1)


GOOD = {"answer": "no", "score": 0.25}
EXPECTED = Verdict(answer="no", score=0.25)


async def call_sync(*args, **kwargs):
    return ask(*args, **kwargs)


@pytest.fixture(params=[call_sync, aask], ids=["sync", "async"])
def asking(request):
    return request.param


async def test_prompt_method_puts_the_schema_into_the_system_message(asking):
    model = ScriptedChatModel('Sure!\n```json\n{"answer": "no", "score": 0.25}\n```\nAnything else?')
    asked = [SystemMessage("You are strict."), HumanMessage("Is it relevant?")]
    assert await asking(model, asked, Verdict, method="prompt") == EXPECTED
    (call,) = model.calls
    assert [type(m) for m in call.messages] == [SystemMessage, HumanMessage]
    assert call.messages[0].text.startswith("You are strict.\n\nReply with one JSON object")
    assert '"enum":["yes","no"]' in call.messages[0].text
    assert call.messages[1].text == "Is it relevant?"
    assert "response_format" not in call.kwargs
    assert asked[0].text == "You are strict."


async def test_a_model_without_structured_output_gets_the_prompt(asking):
    class Watched(FakeListChatModel):
        def _call(self, messages, *args, **kwargs):
            assert "JSON schema" in messages[0].text
            return super()._call(messages, *args, **kwargs)

    model = Watched(responses=['{"answer": "no", "score": 0.25}'])
    assert await asking(model, "q", Verdict) == EXPECTED
    with pytest.raises(ModelError, match=r"Watched cannot enforce a JSON schema\. Use structured: prompt"):
        await asking(model, "q", Verdict, method="json_schema")


@pytest.mark.parametrize("declared", ["prompt", "json_schema"])
async def test_the_models_own_declaration_counts(asking, declared):
    model = ScriptedChatModel(GOOD, metadata={"loopwright_structured": declared})
    await asking(model, "q", Verdict)
    assert ("response_format" in model.calls[0].kwargs) == (declared == "json_schema")


@pytest.mark.parametrize("method", ["json_schema", "prompt"])
async def test_a_bad_reply_is_explained_and_repaired(asking, method):
    model = ScriptedChatModel({"answer": "maybe", "score": 7}, GOOD)
    usage = UsageRecorder()
    assert await asking(model, "Is it relevant?", Verdict, method=method, node="grade", usage=usage) == EXPECTED
    first, second = model.calls
    assert second.messages[: len(first.messages)] == first.messages
    bad, complaint = second.messages[len(first.messages) :]
    assert isinstance(bad, AIMessage) and bad.text == '{"answer": "maybe", "score": 7}'
    assert "- answer: Input should be 'yes' or 'no' (got 'maybe')" in complaint.text
    assert "- score: Input should be less than or equal to 1 (got 7)" in complaint.text
    # In each form the model has the schema in front of it exactly once, at the latest now.
    assert ("JSON schema" in complaint.text) == (method == "json_schema")
    assert usage.by_node()["grade"].calls == 2


async def test_an_empty_reply_and_a_refusal_are_told_apart(asking):
    model = ScriptedChatModel("", AIMessage("", additional_kwargs={"refusal": "I must not"}), GOOD)
    await asking(model, "q", Verdict)
    assert "no JSON object" in model.calls[1].text
    assert model.calls[1].messages[1].text == "(empty reply)"
    assert "the model refused: I must not" in model.calls[2].text


async def test_the_error_names_node_schema_problem_and_reply(asking):
    usage = UsageRecorder()
    model = always({"answer": "maybe"}, model_name="small")
    with pytest.raises(StructuredReplyError) as caught:
        await asking(model, "q", Verdict, node="grade", usage=usage)
    error, wrong = caught.value, "answer: Input should be 'yes' or 'no' (got 'maybe')"
    assert str(error).startswith(f"node 'grade': the model's reply is not a valid Verdict after 2 repair(s): {wrong}")
    assert (error.node, error.schema, error.reply) == ("grade", "Verdict", '{"answer": "maybe"}')
    assert len(model.calls) == 3
    assert usage.entries()["grade", "small"].calls == 3
    assert usage.total().output_tokens == 6


@pytest.mark.parametrize("failure", [ConnectionError("gone"), TimeoutError("late"), ValueError("x"), ModelError("no")])
@pytest.mark.parametrize("method", ["json_schema", "prompt"])
async def test_an_exception_is_never_a_verdict(asking, failure, method):
    model = ScriptedChatModel(failure, GOOD)
    usage = UsageRecorder()
    with pytest.raises(type(failure)) as caught:
        await asking(model, "q", Verdict, usage=usage, method=method)
    assert caught.value is failure
    assert len(model.calls) == 1
    assert usage.total() == Usage(calls=1, failed_calls=1, unmetered_calls=1)


async def test_a_cancelled_call_counts():
    usage, of_the_run, slow = UsageRecorder(), UsageRecorder(), always(GOOD, delay=5)
    for call in (aask(slow, "q", Verdict, usage=usage), awritten(slow, "q", usage=usage, node="say", tell=print)):
        with pytest.raises(TimeoutError), holding(usage_of_the_run, of_the_run):
            await asyncio.wait_for(call, 0.05)
    assert usage.total().failed_calls == of_the_run.total().failed_calls == 2


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
        ('{"a": 1} is one, but.</think>{"a": 2}', '{"a": 2}'),
        ('Say { first.</think>{"a": "</think>", "b": {"c": 1}}', '{"a": "</think>", "b": {"c": 1}}'),
        ('{"a": "It ends with </think>."}', '{"a": "It ends with </think>."}'),
    ],
)
def test_examples(text, found):
    assert find_json_object(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('<think>Say {"a": 1}? The question is', "no JSON object"),
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
    for text in ("{" * 500_000, '{"a":' * 100_000, "{}x" * 5, '"' * 500_000, "{x}" * 100_000, '{"</think>"}' * 50_000):
        with suppress(ValueError):
            find_json_object(text)
    assert time.process_time() - started < 5


IMAGE = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}


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
    with pytest.raises(ModelError, match="sees no images"):
        consult(with_fallback(blind, unknown), question(IMAGE), Verdict, needs_images=True)
