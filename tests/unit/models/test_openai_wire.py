"""The whole way through a real client and a real HTTP server that speaks the OpenAI chat-completions format."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

import pytest
from chat_server import ChatServer, serving
from installed import needs
from pydantic import BaseModel

from loopwright.errors import StructuredReplyError
from loopwright.models import ModelRegistry, Usage, UsageRecorder, aask, allow_model_requests, ask

needs("langchain_openai")

SECRET = "sk-very-secret-0123456789abcdef"


class Verdict(BaseModel):
    """Whether the passage answers the question."""

    answer: Literal["yes", "no"]
    reason: str = ""


@pytest.fixture
def server(monkeypatch) -> Iterator[ChatServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with allow_model_requests(), serving() as played:
        yield played


def model_on(server: ChatServer, **settings: Any):
    spec = {"model": "openai:test-model", "base_url": server.url, "api_key": SECRET, "timeout": 5, **settings}
    return ModelRegistry({"grade": spec}).chat("grade")


async def call_sync(*args, **kwargs):
    return ask(*args, **kwargs)


@pytest.fixture(params=[call_sync, aask], ids=["sync", "async"])
def asking(request):
    return request.param


async def test_structured_reply_over_the_wire(server, asking):
    server.replies.append('{"answer": "no", "reason": "off topic"}')
    usage = UsageRecorder()
    verdict = await asking(model_on(server), "Is it relevant?", Verdict, node="grade", usage=usage)
    assert verdict == Verdict(answer="no", reason="off topic")
    (sent,) = server.requests
    assert (sent["model"], sent["temperature"]) == ("test-model", 0)
    assert sent["messages"] == [{"role": "user", "content": "Is it relevant?"}]
    assert sent["response_format"]["type"] == "json_schema"
    schema = sent["response_format"]["json_schema"]
    assert schema["name"] == "Verdict"
    assert schema["schema"]["properties"]["answer"]["enum"] == ["yes", "no"]
    assert server.keys == [f"Bearer {SECRET}"]
    assert usage.entries() == {
        ("grade", "test-model"): Usage(calls=1, input_tokens=11, output_tokens=7, total_tokens=18)
    }


async def test_repair_over_the_wire(server, asking):
    server.replies.extend(['{"answer": "maybe"}', '{"answer": "no"', '{"answer": "yes"}'])
    usage = UsageRecorder()
    assert (await asking(model_on(server), "q", Verdict, usage=usage)).answer == "yes"
    assert [[m["role"] for m in sent["messages"]] for sent in server.requests] == [
        ["user"],
        ["user", "assistant", "user"],
        ["user", "assistant", "user"],
    ]
    assert "answer: Input should be 'yes' or 'no' (got 'maybe')" in server.requests[1]["messages"][2]["content"]
    assert "does not end" in server.requests[2]["messages"][2]["content"]
    assert usage.total() == Usage(calls=3, input_tokens=33, output_tokens=21, total_tokens=54)


async def test_a_long_reply_without_json_is_read_quickly(server, asking):
    server.replies.extend(["prose " * 30_000, '{"answer": "no"}'])
    started = time.process_time()
    assert (await asking(model_on(server), "q", Verdict)).answer == "no"
    assert time.process_time() - started < 3


@pytest.mark.parametrize(
    ("status", "kind"),
    [(500, "InternalServerError"), (429, "RateLimitError"), (401, "AuthenticationError")],
)
async def test_an_http_error_is_an_exception_after_one_request(server, asking, status, kind):
    server.replies.extend([status, '{"answer": "no"}'])
    usage = UsageRecorder()
    with pytest.raises(getattr(import_module("openai"), kind)) as caught:
        await asking(model_on(server), "q", Verdict, usage=usage)
    assert len(server.requests) == 1
    assert usage.total() == Usage(calls=1, failed_calls=1, unmetered_calls=1)
    assert SECRET not in "".join(traceback.format_exception(caught.value)) + repr(caught.value)


async def test_a_reply_cut_off_by_the_token_limit_is_never_a_verdict(server, asking):
    server.replies.extend([('{"answer": "no"', "length")] * 3)
    usage = UsageRecorder()
    with pytest.raises((import_module("openai").LengthFinishReasonError, StructuredReplyError)):
        await asking(model_on(server), "q", Verdict, usage=usage)
    assert usage.total().calls == len(server.requests)


async def test_a_streamed_reply_counts_its_tokens(server):
    """LangGraph streams a node's calls when somebody listens to messages; a budget of tokens must not go blind."""
    server.replies.append("Read the manual.")
    pieces = [piece async for piece in model_on(server).astream("Why?")]
    (sent,) = server.requests
    assert sent["stream"] is True
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    assert whole.text == "Read the manual."
    assert whole.usage_metadata["total_tokens"] == 18
