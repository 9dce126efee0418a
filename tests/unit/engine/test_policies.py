"""Timeouts, retries counted for each kind of failure, the waits between them, and going on without a node."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import make_dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph
from langgraph.types import Command, interrupt
from pydantic import create_model
from shapes import HERE, State

from loopwright.engine import BoundedGraph, arun, bounded, run
from loopwright.engine.events.schema import NodeRetried
from loopwright.engine.nodes.policy import GiveUp, NodePolicy, Retry, is_transient, usual_retries, will_retry
from loopwright.errors import LoopwrightError, NodeFailed, NodeTimeout

both = pytest.mark.parametrize("mode", ["sync", "async"])


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
@both
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


@pytest.mark.parametrize("timeout", [None, 5])
def test_an_interrupt_from_the_keyboard_ends_a_run_whose_node_may_be_given_up(timeout: float | None) -> None:
    app = app_of(NodePolicy(timeout=timeout, retries=2, give_up=GiveUp(goto="after")))
    with pytest.raises(KeyboardInterrupt):
        [*app.stream({"log": [], "errors": [KeyboardInterrupt()]}, stream_mode="custom")]  # in a thread


QUICK: dict[str, Any] = {"initial_wait": 0.01, "max_wait": 0.05, "jitter": False}


class Failing(State, total=False):
    errors: list[BaseException]


class HttpError(Exception):
    def __init__(self, status: int, **headers: str) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = SimpleNamespace(headers={name.replace("_", "-"): value for name, value in headers.items()})


def rate(**headers: str) -> HttpError:
    return HttpError(429, **headers)


def app_of(policy: NodePolicy, function: Callable[..., Any] | None = None) -> BoundedGraph:
    """A node that raises the input's errors in turn, and then succeeds."""

    def work(state: Failing) -> dict[str, Any]:
        if state["errors"]:
            raise state["errors"].pop(0)
        return {"log": ["work"]}

    return bounded(shapes.graph("START-work work-after", Failing, work={"action": function or work, "policy": policy}))


async def play(mode: str, policy: NodePolicy, errors: Sequence[Exception]) -> tuple[dict[str, Any], list[NodeRetried]]:
    app = app_of(policy)
    result = run(app, {"errors": [*errors]}) if mode == "sync" else await arun(app, {"errors": [*errors]})
    return result.state, [event for event in result.events if isinstance(event, NodeRetried)]


@both
async def test_each_kind_has_its_own_counter(mode: str) -> None:
    policy = NodePolicy(retries=[Retry(on="timeout", retries=3, **QUICK), Retry(on="rate_limit", retries=2, **QUICK)])
    errors = [TimeoutError("1"), rate(), ExceptionGroup("2", [TimeoutError()]), TimeoutError("3"), rate()]
    state, events = await play(mode, policy, errors)
    assert state["log"] == ["work", "after"]
    assert [(event.attempt, event.rule, event.attempts) for event in events] == [
        (1, "timeout", 6), (2, "rate_limit", 6), (3, "timeout", 6), (4, "timeout", 6), (5, "rate_limit", 6),
    ]  # fmt: skip


def test_an_error_without_a_rule_is_not_tried_again() -> None:
    policy = NodePolicy(retries=usual_retries(**QUICK))
    for error in (HttpError(401), HttpError(404), ValueError("no"), RuntimeError("no")):
        with pytest.raises(NodeFailed, match="on attempt 1"):
            app_of(policy).invoke({"errors": [error]})


def test_jitter() -> None:
    rule = {"on": "timeout", "initial_wait": 1, "factor": 3.0, "max_wait": 5}
    assert [Retry(**rule, jitter=False).wait(n, chance=1) for n in (1, 2, 3, 2000)] == [1, 3, 5, 5]
    assert [Retry(**rule, jitter="added").wait(n, chance=0.5) for n in (1, 2, 3)] == [1.5, 3.5, 5.5]
    assert [Retry(**rule, jitter="full").wait(n, chance=0.5) for n in (1, 2, 3)] == [0.5, 1.5, 2.5]
    assert [Retry(**rule, jitter="full").wait(n, asked=4, chance=0.5) for n in (1, 2, 3)] == [4.5, 5, 5]
    assert [Retry(**rule, jitter="added").wait(n, asked=4, chance=0.5) for n in (1, 2, 3)] == [4.5, 4.5, 5.5]


async def test_a_wait_can_be_cancelled() -> None:
    app = app_of(NodePolicy(retries=[Retry(on="timeout", initial_wait=30, jitter=False)]))
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(app.ainvoke({"errors": [TimeoutError()]}), 0.1)
    assert time.monotonic() - started < 10


@both
async def test_the_server_s_wait_is_respected(mode: str) -> None:
    policy = NodePolicy(retries=[Retry(on="rate_limit", **QUICK)])
    _, events = await play(mode, policy, [rate(retry_after="0.03"), rate(), rate(retry_after_ms="4")])
    assert [(event.wait, event.retry_after) for event in events] == [(0.03, 0.03), (0.02, None), (0.04, 0.004)]


@both
async def test_a_server_that_asks_for_more_than_max_wait_is_not_asked_again(mode: str) -> None:
    policy = NodePolicy(retries=[Retry(on="rate_limit", max_wait=30)])
    started = time.monotonic()
    with pytest.raises(NodeFailed) as caught:
        await play(mode, policy, [rate(retry_after="120")])
    assert time.monotonic() - started < 10
    remark = "the server asks to wait 120 s, and max_wait of retry rule 'rate_limit' is 30 s"
    assert f"on attempt 1: HttpError: status 429; {remark}" in str(caught.value)


@pytest.mark.parametrize("jitter", [False, "added", "full"])
@pytest.mark.parametrize("retry_after", [True, False])
def test_no_wait_exceeds_the_bound(jitter: Any, retry_after: bool) -> None:
    rule = Retry(on="timeout", retries=4, initial_wait=1, max_wait=5, jitter=jitter, retry_after=retry_after)
    chances, worst = random.Random(1), 0.0
    for _ in range(500):
        asked = [chances.uniform(0, 5) if retry_after else 0.0 for _ in range(4)]
        worst = max(worst, sum(rule.wait(n + 1, asked[n], chances.random()) for n in range(4)))
    assert worst <= rule.max_seconds <= 4 * (5 + (jitter == "added"))


@both
async def test_code_in_a_node_knows_whether_it_will_be_tried_again(mode: str) -> None:
    said: list[bool] = []

    def work(_state: State) -> None:
        said.append(will_retry(TimeoutError()))
        if len(said) < 4:
            raise TimeoutError

    policy = NodePolicy(timeout=5, retries=[Retry(on="timeout", retries=2, **QUICK)])
    with pytest.raises(NodeFailed, match="attempt 3"):
        app_of(policy, work).invoke({}) if mode == "sync" else await app_of(policy, work).ainvoke({})
    assert said == [True, True, False]
    assert not will_retry(TimeoutError()), "outside of a node nothing is tried again"
