"""The whole way through a real client and a real HTTP server that speaks the OpenAI chat-completions format."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any, Literal

import pytest
from installed import needs
from provider_server import IN, OUT, ProviderServer, Said, providing
from pydantic import BaseModel

from loopwright.errors import StructuredReplyError
from loopwright.models import ModelRegistry, UsageRecorder, aask, allow_model_requests, ask

needs("langchain_openai")

SECRET = "sk-very-secret-0123456789abcdef"


class Verdict(BaseModel):
    """Whether the passage answers the question."""

    answer: Literal["yes", "no"]
    reason: str = ""


@pytest.fixture
def server(monkeypatch) -> Iterator[ProviderServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with allow_model_requests(), providing("openai") as played:
        yield played


def model_on(server: ProviderServer, **settings: Any):
    spec = {"model": "openai:test-model", "base_url": server.base_url, "api_key": SECRET, "timeout": 5, **settings}
    return ModelRegistry({"grade": spec}).chat("grade")


async def call_sync(*args, **kwargs):
    return ask(*args, **kwargs)


@pytest.fixture(params=[call_sync, aask], ids=["sync", "async"])
def asking(request):
    return request.param


async def test_a_reply_cut_off_by_the_token_limit_is_never_a_verdict(server, asking):
    server.replies.extend([Said('{"answer": "no"', "length")] * 3)
    usage = UsageRecorder()
    with pytest.raises((import_module("openai").LengthFinishReasonError, StructuredReplyError)):
        await asking(model_on(server), "q", Verdict, usage=usage)
    assert usage.total().calls == len(server.bodies)


async def test_a_streamed_reply_counts_its_tokens(server):
    """LangGraph streams a node's calls when somebody listens to messages; a budget of tokens must not go blind."""
    server.replies.append(Said("Read the manual."))
    pieces = [piece async for piece in model_on(server).astream("Why?")]
    (sent,) = server.bodies
    assert sent["stream"] is True
    whole = pieces[0]
    for piece in pieces[1:]:
        whole += piece
    assert whole.text == "Read the manual."
    assert whole.usage_metadata["total_tokens"] == IN + OUT
