"""The scripted fake behaves like a chat model, remembers its calls, and says when its script ends; and the clock."""

import json
from typing import Literal, TypedDict

import pytest
from installed import needs
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, message_chunk_to_message
from langchain_core.tools import tool
from pydantic import BaseModel

from loopwright.engine import clock
from loopwright.errors import ModelError
from loopwright.testing import ManualClock, ScriptedChatModel, always


class Verdict(BaseModel):
    answer: Literal["yes", "no"]
    score: float = 0.5


@tool
def search(query: str) -> str:
    """Look something up."""
    return f"nothing about {query}"


BROKEN = AIMessage("", invalid_tool_calls=[{"name": "search", "args": "qu", "id": "1", "error": None}])
SEARCH_CALL = AIMessage("", tool_calls=[{"name": "search", "args": {"query": "loops"}, "id": "call-1"}])


def test_each_kind_of_reply():
    model = ScriptedChatModel(
        "text",
        {"answer": "äh"},
        Verdict(answer="no"),
        SEARCH_CALL,
        [lambda messages: f"heard {len(messages)}", lambda messages: {"last": messages[-1].text}],
    )
    assert model.invoke("q").content == "text"
    assert model.invoke("q").content == '{"answer": "äh"}'
    assert json.loads(model.invoke("q").text) == {"answer": "no", "score": 0.5}
    assert model.invoke("q").tool_calls[0]["args"] == {"query": "loops"}
    assert model.invoke([SystemMessage("s"), HumanMessage("h")]).text == "heard 2"
    assert json.loads(model.invoke("echo").text) == {"last": "echo"}
    assert model.remaining == 0


@pytest.mark.parametrize("reply", [ConnectionError("gone"), ConnectionError, lambda _: ConnectionError("gone")])
def test_exceptions_are_raised_and_recorded(reply):
    model = ScriptedChatModel(reply, "better")
    with pytest.raises(ConnectionError):
        model.invoke("first")
    assert model.invoke("second").text == "better"
    assert [call.text for call in model.calls] == ["first", "second"]


def test_calls_are_copies_with_their_kwargs():
    model = always("x")
    message = HumanMessage("before")
    model.invoke([message], stop=["\n"], seed=7)
    message.content = "after"
    (call,) = model.calls
    assert call.text == "before"
    assert call.kwargs == {"stop": ["\n"], "seed": 7}
    assert call.tools == []


def test_a_typed_dict_is_a_schema_and_a_providers_own_tool_has_its_type_for_a_name():
    class Grade(TypedDict):
        verdict: str

    model = always({"verdict": "no"})
    assert model.with_structured_output(Grade).invoke("q") == {"verdict": "no"}
    model.bind_tools([{"type": "web_search"}, search]).invoke("q")
    assert model.calls[-1].tools == ["web_search", "search"]


def test_an_agent_is_answered_in_its_schema():
    needs("langchain")
    from langchain.agents import create_agent

    made = create_agent(ScriptedChatModel({"answer": "no"}), [search], response_format=Verdict)
    assert made.invoke({"messages": [("user", "q")]})["structured_response"] == Verdict(answer="no")


def test_script_that_ends_says_so():
    model = ScriptedChatModel("one", model_name="grader")
    model.invoke("a")
    told = r"'grader' has a script of 1 reply\(s\), and this is call 2: 'b'.*repeat_last"
    with pytest.raises(ModelError, match=told):
        model.invoke("b")
    with pytest.raises(ModelError, match="call 1"):
        ScriptedChatModel(repeat_last=True).invoke("a")
    assert model.remaining == 0


@pytest.mark.parametrize(
    "reply", ["two words and  two spaces \n", "", SEARCH_CALL, BROKEN, AIMessage([{"type": "text", "text": "block"}])]
)
async def test_stream_adds_up_to_the_reply(reply):
    whole = always(reply).invoke("what is it")
    chunks = list(always(reply).stream("what is it"))
    async_chunks = [chunk async for chunk in always(reply).astream("what is it")]
    for parts in (chunks, async_chunks):
        total = parts[0]
        for part in parts[1:]:
            total += part
        assert isinstance(total, AIMessageChunk)
        message = message_chunk_to_message(total)
        for name in ("text", "tool_calls", "invalid_tool_calls", "usage_metadata"):
            assert getattr(message, name) == getattr(whole, name)
    if isinstance(reply, str):
        assert [chunk.text for chunk in chunks if chunk.text] == [chunk.text for chunk in async_chunks if chunk.text]
        assert len([chunk for chunk in chunks if chunk.text]) == (6 if reply else 0)


async def test_a_sleep_moves_the_engines_clock_and_takes_no_time():
    with ManualClock(100) as manual:
        with pytest.raises(RuntimeError), ManualClock():
            raise RuntimeError
        clock.sleep(30)
        await clock.asleep(12.5)
        assert clock.now() == manual.now() == 142.5
    clock.sleep(0)
    assert manual.slept == [30, 12.5]
