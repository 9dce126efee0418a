"""Fallbacks, cut-off and streamed replies through the real client of OpenAI and a real HTTP server on loopback."""

import asyncio
import logging
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any

import provider_server
import pytest
from installed import needs
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessageChunk
from provider_server import IN, OUT, SECRET, Failed, ProviderServer, Said, providing
from pydantic import BaseModel
from shapes import graph
from typing_extensions import TypedDict

from loopwright.engine import Budget, RunResult, arun, bounded, run
from loopwright.engine.events.schema import ModelFellBack
from loopwright.engine.nodes.policy import NodePolicy, Retry, usual_retries
from loopwright.errors import ModelError, StructuredReplyError
from loopwright.models import ModelRegistry, UsageRecorder, aask, allow_model_requests, ask
from loopwright.models.conversation import awritten, cut_off
from loopwright.models.factory import NO_KEY, STRUCTURED_KEY

needs("langchain_openai")

GOOD = Said('{"answer": "yes"}')


class Verdict(BaseModel):
    """A verdict."""

    answer: str


class State(TypedDict, total=False):
    answer: str


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with allow_model_requests(), providing("openai") as played:
        yield played


both = pytest.mark.parametrize("mode", ["sync", "async"])


async def play(
    server: ProviderServer, mode: str, *rules: Retry, fallback: bool = False, usage: Any = None, budget: Any = None
) -> RunResult:
    other = {"fallback": server.spec("small")} if fallback else {}
    chat = ModelRegistry({"plan": server.spec("big", **other)}).chat("plan")

    def plan(_state: State) -> State:
        return {"answer": ask(chat, "q", Verdict, node="plan", usage=usage).answer}

    async def aplan(_state: State) -> State:
        return {"answer": (await aask(chat, "q", Verdict, node="plan", usage=usage)).answer}

    asking = {"action": plan if mode == "sync" else aplan, "policy": NodePolicy(retries=rules)}
    app = bounded(graph("START-plan", State, plan=asking), [], budget=budget)
    return run(app, {}) if mode == "sync" else await arun(app, {})


def asked(server: ProviderServer) -> list[str]:
    return [request["model"] for request in server.bodies]


@both
@pytest.mark.parametrize("status", [200, 401, 404, 429, 500])
async def test_the_fallback_answers(server: ProviderServer, mode: str, status: int, caplog: Any) -> None:
    server.replies.extend([Failed(status), Failed(status), GOOD])
    usage, rules = UsageRecorder(), usual_retries(1, initial_wait=0.01)
    retried = status in (200, 429, 500)  # 200: what comes is not of the protocol
    if not retried:
        server.replies.popleft()
    with caplog.at_level(logging.WARNING):
        result = await play(server, mode, *rules, fallback=True, usage=usage)
    assert asked(server) == ["big"] * (1 + retried) + ["small"]
    spent = {name: (each.calls, each.failed_calls) for (_, name), each in usage.entries().items()}
    assert spent == {"big": (1 + retried, 1 + retried), "small": (1, 0)}
    (event,) = [event for event in result.events if isinstance(event, ModelFellBack)]
    assert (event.from_model, event.to_model) == ("big", "small")
    assert SECRET not in caplog.text + repr(result.events)


@both
@pytest.mark.parametrize(
    ("reply", "kind"),
    [({"choices": []}, "server_error"), ({"error": {"message": "busy", "code": 429}}, "rate_limit"),
     ({"error": {"message": "too long", "code": "context_length_exceeded"}}, "context_length"),
     ({"choices": [{"message": {"role": "assistant", "content": 5}}]}, "server_error"), ("<html>", "server_error")],
)  # fmt: skip
async def test_the_fallback_answers_a_plain_call_where_a_reply_is_none(
    server: ProviderServer, mode: str, reply: Any, kind: str, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    kept, usual = provider_server._WRITERS, provider_server._openai
    monkeypatch.setitem(kept, "openai", lambda said, to: [reply] if to["model"] == "big" else usual(said, to))
    server.replies.extend([GOOD, GOOD])
    chat = ModelRegistry({"plan": server.spec("big", fallback=server.spec("small"))}).chat("plan")
    said = chat.invoke("q") if mode == "sync" else await chat.ainvoke("q")
    assert (said.text, asked(server)) == (GOOD.text, ["big", "small"])
    assert f"(model 'openai:big' at {server.base_url})" in caplog.text and f"failed ({kind})" in caplog.text


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter", "error"])
async def test_a_text_that_was_cut_off_says_so(server: ProviderServer, finish: str, caplog: Any) -> None:
    more = "" if finish == "stop" else " …"
    server.replies.extend([Said("The answer is", finish)] * 2)
    chat, told = ModelRegistry({"plan": server.spec()}).chat("plan"), list[str]()
    assert await awritten(chat, "q", node="plan", tell=told.append) == "".join(told) == f"The answer is{more}"
    assert ("node 'plan', model 'test-model': the " in caplog.text) is bool(more)
    assert await awritten(chat, "q", node="plan", tell=None, max_tokens=3) == "The answer is", "as it was asked for"
    for made, used in (("openai", None), ("google_genai", {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2})):
        assert cut_off(AIMessageChunk("x", response_metadata={"model_provider": made}, usage_metadata=used))
    broken = GenericFakeChatModel(messages=iter(["The answer is"]), metadata={STRUCTURED_KEY: "auto"})
    assert await awritten(broken, "q", node="plan", tell=None) == "The answer is …", "no reason came"


@both
@pytest.mark.parametrize("dialect", ["openai", "ollama"])
async def test_a_stream_that_ends_half_way_is_no_whole_one(dialect: str, mode: str, monkeypatch: Any) -> None:
    needs(f"langchain_{dialect}")
    streamed, ollama = provider_server._streamed, provider_server._ollama
    half = lambda whole, to: b"\n\n".join(streamed(whole, to).split(b"\n\n")[:2]) + b"\n\n"  # noqa: E731
    monkeypatch.setattr(provider_server, "_streamed", half)
    monkeypatch.setitem(provider_server._WRITERS, "ollama", lambda said, to: ollama(said, to)[:-1])
    with allow_model_requests(), providing(dialect) as server:
        server.replies.extend([Said("Read the manual.")] * 2)
        chat, came = ModelRegistry({"plan": server.spec()}).chat("plan"), list[str]()
        with pytest.raises(ConnectionError, match=rf"the stream broke off: .* \(model '{dialect}:test-model' at http"):
            if mode == "sync":
                came += (piece.text for piece in chat.stream("q"))
            else:
                async for piece in chat.astream("q"):
                    came.append(piece.text)
        assert mode == "sync" or "".join(came) == "Read the manual."
        assert await awritten(chat, "q", node="plan", tell=None) == "Read the manual. …"
        server.replies.extend([Said("Read the manual.")] * 4)
        if dialect == "openai":
            ended = lambda whole, to: half(whole, to) + b"data: [DONE]\n\n"  # noqa: E731
            monkeypatch.setattr(provider_server, "_streamed", ended)
            came = chat.stream("q") if mode == "sync" else [piece async for piece in chat.astream("q")]
            assert "".join(piece.text for piece in came) == "Read the manual.", "a server that tells no reasons"
            assert await awritten(chat, "q", node="plan", tell=None) == "Read the manual."
        monkeypatch.setattr(provider_server, "_streamed", lambda whole, to: b"<html>")
        monkeypatch.setitem(provider_server._WRITERS, "ollama", lambda said, to: [])
        with pytest.raises(ValueError, match="is base_url right"):
            await awritten(chat, "q", node="plan", tell=None)
        if dialect == "openai":
            monkeypatch.delattr("openai._base_client.BaseClient._make_sse_decoder")  # private: it may go
            assert ModelRegistry({"plan": server.spec()}).chat("plan")


@both
async def test_a_reply_cut_off_by_the_token_limit_is_never_a_verdict(server: ProviderServer, mode: str) -> None:
    server.replies.extend([Said('{"answer": "no"', "length")] * 3)
    usage, chat = UsageRecorder(), ModelRegistry({"grade": server.spec()}).chat("grade")
    with pytest.raises((import_module("openai").LengthFinishReasonError, StructuredReplyError)):
        ask(chat, "q", Verdict, usage=usage) if mode == "sync" else await aask(chat, "q", Verdict, usage=usage)
    assert usage.total().calls == len(server.bodies)
    assert usage.total().total_tokens == (IN + OUT) * len(server.bodies), "it was billed"


@both
async def test_a_budget_counts_what_replies_took_that_were_cut_off(server: ProviderServer, mode: str) -> None:
    server.replies.extend([Said('{"answer": "no"', "length")] * 4)
    await play(server, mode, Retry(on=Exception, retries=3, initial_wait=0.01), budget=Budget(tokens=2 * (IN + OUT)))
    assert len(server.bodies) == 2


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({}, f"Bearer {NO_KEY}"),
        ({"api_key": SECRET}, f"Bearer {SECRET}"),
        ({"options": {"client_kwargs": {"headers": {"Authorization": "Bearer mine"}}}}, "Bearer mine"),
        ({"options": {"sync_client_kwargs": {"headers": {"authorization": f"Bearer {NO_KEY}"}}}}, f"Bearer {NO_KEY}"),
        ({"options": {"client_kwargs": {"auth": ("u", "p")}}}, "Basic dTpw"),
    ],
)
async def test_the_key_of_ollamas_cloud_goes_nowhere_else(
    given: Any, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs("langchain_ollama")
    monkeypatch.setenv("OLLAMA_API_KEY", "of-the-cloud")
    with allow_model_requests(), providing("ollama") as server:
        chat = ModelRegistry({"plan": server.spec(**given)}).chat("plan")
        named = r"no more replies \(model 'ollama:test-model' at http"
        with pytest.raises(import_module("ollama").ResponseError, match=named):
            chat.invoke("q")
        with pytest.raises(import_module("ollama").ResponseError, match=named):
            await chat.ainvoke("q")
        assert [each["authorization"] for each in server.headers_seen] == [sent] * 2
        assert SECRET not in repr(chat)
        with pytest.raises(ModelError, match="give one of them"):
            ModelRegistry({"plan": server.spec(api_key="k", options={"client_kwargs": {"auth": "b"}})}).chat("plan")


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "ollama"])
def test_a_model_is_asked_in_one_event_loop_after_another(dialect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider_server._Handler, "protocol_version", "HTTP/1.1")  # which keeps connections
    needs(f"langchain_{dialect}")
    with allow_model_requests(), providing(dialect) as server:
        server.replies.extend([Said("yes")] * 3)
        chat = ModelRegistry({"plan": server.spec()}).chat("plan")
        assert [asyncio.run(chat.ainvoke("q")).text for _ in range(3)] == ["yes"] * 3


async def test_a_streamed_reply_counts_its_tokens(server: ProviderServer) -> None:
    """LangGraph streams a node's calls when somebody listens to messages; a budget of tokens must not go blind."""
    server.replies.append(Said("Read the manual."))
    pieces = [piece async for piece in ModelRegistry({"grade": server.spec()}).chat("grade").astream("Why?")]
    (sent,) = server.bodies
    assert sent["stream"] is True
    whole = reduce(add, pieces)
    assert whole.text == "Read the manual."
    assert whole.usage_metadata["total_tokens"] == IN + OUT
