"""Structured replies: validated, repaired a bounded number of times, never guessed; exceptions pass unchanged."""

from __future__ import annotations

import asyncio
from typing import Literal

import pytest
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from loopwright.errors import ModelError, StructuredReplyError
from loopwright.models import Usage, UsageRecorder, aask, ask
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
    error = caught.value
    assert str(error).startswith(
        "node 'grade': the model's reply is not a valid Verdict after 2 repair(s): "
        "answer: Input should be 'yes' or 'no' (got 'maybe')"
    )
    assert (error.node, error.schema, error.reply) == ("grade", "Verdict", '{"answer": "maybe"}')
    assert len(model.calls) == 3
    assert usage.entries()["grade", "small"].calls == 3
    assert usage.total().output_tokens == 6


@pytest.mark.parametrize(
    "failure", [ConnectionError("gone"), TimeoutError("late"), ValueError("odd"), ModelError("no")]
)
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
    usage = UsageRecorder()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(aask(always(GOOD, delay=5), "q", Verdict, usage=usage), 0.05)
    assert usage.total().failed_calls == 1
