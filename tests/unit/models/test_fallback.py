"""A model that fails for good is replaced by the next one, and everybody is told."""

from typing import Any, TypedDict

import pytest
from breaking_models import BreakingModel
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from pydantic import BaseModel

from loopwright.errors import ModelError, StructuredReplyError
from loopwright.models import ModelRegistry, UsageRecorder, aask, ask, with_fallback
from loopwright.models.conversation import awritten, parsed
from loopwright.testing import ScriptedChatModel

GOOD = {"answer": "yes"}


class Verdict(BaseModel):
    """A verdict."""

    answer: str


class HttpError(Exception):
    def __init__(self, status: int, message: str = "") -> None:
        super().__init__(message or f"status {status}")
        self.status_code = status


def model(name: str, *script: Any, **settings: Any) -> ScriptedChatModel:
    return ScriptedChatModel(*script, model_name=name, **settings)


def down(name: str = "big", error: Exception | None = None) -> ScriptedChatModel:
    return model(name, error or HttpError(503), repeat_last=True)


async def by_ask(chat: Any, **options: Any) -> str:
    return ask(chat, "q", Verdict, **options).answer


async def by_aask(chat: Any, **options: Any) -> str:
    return (await aask(chat, "q", Verdict, **options)).answer


async def by_awritten(chat: Any, **options: Any) -> str:
    said = await awritten(chat, "q", **{"usage": UsageRecorder(), "node": "plan", "tell": print, **options})
    return Verdict.model_validate_json(said).answer


counted = pytest.mark.parametrize("way", [by_ask, by_aask, by_awritten])


@counted
async def test_a_question_goes_to_the_next_model_and_each_call_is_counted(way: Any) -> None:
    usage = UsageRecorder()
    big, small = down(), model("small", GOOD)
    assert await way(with_fallback(big, small), usage=usage, node="plan") == "yes"
    spent = {name: (each.calls, each.failed_calls) for (_, name), each in usage.entries().items()}
    assert spent == {"big": (1, 1), "small": (1, 0)}
    assert small.calls[0].messages == big.calls[0].messages


async def test_a_plain_question_goes_to_the_next_model() -> None:
    said = "hello you"
    chats = [with_fallback(down(), down("other"), model("small", said)) for _ in range(5)]
    assert chats[0].invoke("q").text == (await chats[1].ainvoke("q")).text == said
    assert "".join(str(chunk.text) for chunk in chats[2].stream("q")) == said
    assert "".join([str(chunk.text) async for chunk in chats[3].astream("q")]) == said
    assert chats[4].bind(stop=["x"]).invoke("q").text == said


async def test_other_bindings_go_to_the_next_model() -> None:
    @tool
    def look() -> str:
        """Look."""
        return ""

    chat = with_fallback(down(), model("small", GOOD))
    assert (await chat.with_structured_output(Verdict).ainvoke("q")).answer == "yes"
    assert parsed(model("small", GOOD), TypedDict("Plain", {"answer": str}), include_raw=False).invoke("q") == GOOD
    small = model("small", "hello")
    assert with_fallback(down(), small).bind_tools([]).bind_tools([look], tool_choice="any").invoke("q").text == "hello"
    assert (small.calls[0].tools, small.calls[0].kwargs["tool_choice"]) == (["look"], "any")


async def test_what_a_model_thinks_is_no_part_of_its_text() -> None:
    tells = "It is `<think>`, then `</think>`."
    for said, text in (
        ("<think>\nIs it 7? </think>\n\nIt is 5 m.", "It is 5 m."),
        ("<think> It is", ""),
        (tells, tells),
        (f"<think>Well.</think>{tells}", tells),
    ):
        told: list[str] = []
        assert await awritten(model("m", said), "q", usage=UsageRecorder(), node="n", tell=told.append) == text
        assert "".join(told) == text


class Breaking(ScriptedChatModel):
    """Streams its name, and breaks off."""

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield ChatGenerationChunk(message=AIMessageChunk(content=self.model_name))
        raise ConnectionResetError("gone")

    _astream = BaseChatModel._astream


async def test_a_stream_that_has_begun_is_not_replaced() -> None:
    other = model("small", "all anew")
    with pytest.raises(ConnectionResetError):
        list(with_fallback(Breaking(model_name="one"), other).stream("q"))
    with pytest.raises(ConnectionError):
        await by_awritten(with_fallback(BreakingModel(text="one two three four"), other))
    assert other.calls == []


async def test_a_stream_that_has_said_nothing_yet_is_replaced() -> None:
    chats = [with_fallback(Breaking(model_name=""), model("small", GOOD)) for _ in range(3)]
    assert "yes" in "".join(str(chunk.text) for chunk in chats[0].stream("q"))
    assert "yes" in "".join([str(chunk.text) async for chunk in chats[1].astream("q")])
    assert await by_awritten(chats[2]) == "yes"


@counted
@pytest.mark.parametrize("error", [HttpError(400), ValueError("bug"), ModelError("blocked"), KeyError("bug")])
async def test_failures_that_are_raised(way: Any, error: Exception) -> None:
    other = model("small", GOOD)
    with pytest.raises(type(error)):
        await way(with_fallback(down(error=error), other))
    assert other.calls == []


@pytest.mark.parametrize("way", [by_ask, by_aask])
async def test_a_bad_reply_goes_to_the_next_model_only_if_told(way: Any) -> None:
    script = ["nonsense", "nonsense", "nonsense"]
    with pytest.raises(StructuredReplyError):
        await way(with_fallback(model("big", *script), model("small", GOOD)), repairs=1)
    big, small = model("big", *script), model("small", "nonsense", GOOD)
    assert await way(with_fallback(big, small, on=["bad_reply"]), repairs=1) == "yes"
    assert (len(big.calls), len(small.calls)) == (2, 2), "each model has repairs of its own"
    assert "cannot be used" not in str(small.calls[0].messages), "and gets the question afresh"


@pytest.mark.parametrize(
    ("fallback", "names"),
    [
        (None, ["openai:a"]),
        ("openai:b", ["openai:a", "openai:b"]),
        ({"model": "openai:b", "temperature": None}, ["openai:a", "openai:b"]),
        (["openai:b", {"model": "ollama:c"}], ["openai:a", "openai:b", "ollama:c"]),
        ([{"model": "openai:b", "fallback": "openai:c"}, "openai:d"], ["openai:a", "openai:b", "openai:c", "openai:d"]),
        ([{"model": "openai:a", "base_url": "http://other/v1"}], ["openai:a", "openai:a"]),
    ],
)
def test_fallbacks_in_the_configuration(fallback: Any, names: list[str]) -> None:
    registry = ModelRegistry({"plan": {"model": "openai:a", "fallback": fallback}, "default": None})
    assert registry.models_of("plan") == tuple(names)
    assert registry.models_of("other") == ()
    assert registry.describe()["plan"] == ", then ".join(names)
