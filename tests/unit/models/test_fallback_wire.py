"""Retry-After and fallbacks through the real client and a real HTTP server on loopback."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from installed import needs
from langgraph.graph import START, StateGraph
from provider_server import Failed, ProviderServer, Said, providing
from pydantic import BaseModel
from typing_extensions import TypedDict

from loopwright.engine import RunResult, arun, bounded, run
from loopwright.engine.events.schema import ModelFellBack
from loopwright.engine.nodes.policy import NodePolicy, Retry, usual_retries
from loopwright.engine.nodes.runner import add_node
from loopwright.models import ModelRegistry, UsageRecorder, aask, allow_model_requests, ask

needs("langchain_openai")

SECRET = "sk-very-secret-0123456789abcdef"
GOOD = Said('{"answer": "yes"}')


class Verdict(BaseModel):
    """A verdict."""

    answer: str


class State(TypedDict, total=False):
    answer: str


@pytest.fixture
def server(monkeypatch: Any) -> Iterator[ProviderServer]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with allow_model_requests(), providing("openai") as played:
        yield played


both = pytest.mark.parametrize("mode", ["sync", "async"])


async def play(
    server: ProviderServer, mode: str, *rules: Retry, fallback: bool = False, usage: Any = None
) -> RunResult:
    spec = {"base_url": server.base_url, "api_key": SECRET, "timeout": 5}
    other = {"fallback": {"model": "openai:small", **spec}} if fallback else {}
    chat = ModelRegistry({"plan": {"model": "openai:big", **spec, **other}}).chat("plan")
    assert chat is not None

    def plan(_state: State) -> State:
        return {"answer": ask(chat, "q", Verdict, node="plan", usage=usage).answer}

    async def aplan(_state: State) -> State:
        return {"answer": (await aask(chat, "q", Verdict, node="plan", usage=usage)).answer}

    made = StateGraph(State)
    add_node(made, "plan", plan if mode == "sync" else aplan, NodePolicy(retries=rules))
    made.add_edge(START, "plan")
    graph = bounded(made, [])
    return run(graph, {}) if mode == "sync" else await arun(graph, {})


def asked(server: ProviderServer) -> list[str]:
    return [request["model"] for request in server.bodies]


@both
@pytest.mark.parametrize("status", [401, 404, 429, 500])
async def test_the_fallback_answers(server: ProviderServer, mode: str, status: int, caplog: Any) -> None:
    server.replies.extend([Failed(status), Failed(status), GOOD])
    usage = UsageRecorder()
    rules = usual_retries(1, initial_wait=0.01)
    retried = status in (429, 500)
    if not retried:
        server.replies.popleft()
    with caplog.at_level(logging.WARNING):
        result = await play(server, mode, *rules, fallback=True, usage=usage)
    assert asked(server) == ["big"] * (1 + retried) + ["small"]
    assert {name: (each.calls, each.failed_calls) for (_, name), each in usage.entries().items()} == {
        "big": (1 + retried, 1 + retried), "small": (1, 0),
    }  # fmt: skip
    (event,) = [event for event in result.events if isinstance(event, ModelFellBack)]
    assert (event.from_model, event.to_model) == ("big", "small")
    assert SECRET not in caplog.text + repr(result.events)
