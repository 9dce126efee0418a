"""Timeouts, retries, and going on without a node."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import make_dataclass
from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt
from pydantic import create_model
from shapes import HERE, State

from loopwright.engine.nodes.policy import GiveUp, NodePolicy, Retry, is_transient
from loopwright.errors import LoopwrightError, NodeFailed, NodeTimeout


def graph(function: Callable[..., Any], **policy: Any) -> StateGraph[Any]:
    return shapes.graph("START-work work-after", work={"action": function, "policy": NodePolicy(**policy)})


def test_a_slow_sync_node_is_left_behind_and_named() -> None:
    app = graph(lambda _: time.sleep(5), timeout=0.05).compile()
    started = time.monotonic()
    with pytest.raises(
        NodeTimeout, match=r"node 'work' failed on attempt 1: no result within its timeout of 0\.05 s"
    ) as caught:
        app.invoke({"log": []})
    assert time.monotonic() - started < 4
    assert isinstance(caught.value, TimeoutError) and isinstance(caught.value, LoopwrightError)
    assert (caught.value.node, caught.value.seconds, caught.value.attempt) == ("work", 0.05, 1)


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_an_async_run_returns_promptly_and_so_does_asyncio_run(kind: str) -> None:
    """A sync node in asyncio's own pool would hold up the end of ``asyncio.run`` until it is done."""

    async def sleep(_state: State) -> None:
        await asyncio.sleep(5)

    app = graph(sleep if kind == "async" else lambda _: time.sleep(5), timeout=0.05).compile()
    started = time.monotonic()
    with pytest.raises(NodeTimeout):
        asyncio.run(app.ainvoke({"log": []}))
    assert time.monotonic() - started < 4


async def test_sync_nodes_with_a_timeout_still_see_their_run() -> None:
    """They run in another thread, and find the config, the stream writer and interrupts there."""
    from langgraph.config import get_config, get_stream_writer

    def work(_state: State) -> dict[str, Any]:
        get_stream_writer()("hello")
        return {"log": [get_config()["metadata"]["mark"]]}

    app = graph(work, timeout=5).compile()
    config: Any = {"metadata": {"mark": "seen"}}
    assert app.invoke({"log": []}, config)["log"][0] == "seen"
    assert [*app.stream({"log": []}, config, stream_mode="custom")] == ["hello"]
    assert [chunk async for chunk in app.astream({"log": []}, config, stream_mode="custom")] == ["hello"]


@pytest.mark.parametrize(
    "made", [None, make_dataclass("Leaf", ["tree"]), create_model("Page", tree=(list[Any], ...)).model_construct]
)
def test_an_error_names_the_node_and_shows_its_input_redacted_and_truncated(made: Any) -> None:
    def work(_state: State) -> dict[str, Any]:
        raise ConnectionError("no route")

    held: list[Any] = []
    held += [made(tree=held)] * 1000 if made else []  # what holds itself has no end
    with pytest.raises(NodeFailed) as caught:
        graph(work).compile().invoke({"log": held, "text": "x" * 5000, "api_key": "sk-12345"})
    message = str(caught.value)
    assert message.startswith("node 'work' failed on attempt 1: ConnectionError: no route; its input was ")
    assert "api_key='***'" in message and "sk-12345" not in message
    assert "x" * 100 in message and len(message) < 1800
    assert caught.value.snapshot in message


@pytest.mark.parametrize("timeout", [None, 5])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_interrupts_pass_through(timeout: float | None, mode: str) -> None:
    def work(_state: State) -> dict[str, Any]:
        return {"log": [interrupt("well?")]}

    async def awork(state: State) -> dict[str, Any]:
        return work(state)

    retries = [Retry(on=is_transient, retries=2, initial_wait=0.02, jitter=False)]
    made = graph(awork if mode == "async" else work, timeout=timeout, retries=retries, give_up=GiveUp(goto="after"))
    app = made.compile(checkpointer=InMemorySaver())
    asked = app.invoke({"log": []}, HERE) if mode == "sync" else await app.ainvoke({"log": []}, HERE)
    assert asked["__interrupt__"][0].value == "well?"
    answer = Command(resume="fine")
    final = app.invoke(answer, HERE) if mode == "sync" else await app.ainvoke(answer, HERE)
    assert final["log"] == ["fine", "after"]
