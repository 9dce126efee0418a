"""Timeouts, retries, and going on without a node."""

from __future__ import annotations

import asyncio
import itertools
import logging
import operator
import time
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.events.schema import NodeGaveUp, NodeRetried, run_event
from loopwright.engine.loop import Loop
from loopwright.engine.nodes.policy import GiveUp, NodePolicy
from loopwright.engine.nodes.runner import add_node, error_text
from loopwright.engine.proof.verify import verify
from loopwright.errors import ConfigError, GraphError, InputError, LoopwrightError, NodeFailed, NodeTimeout

QUICK = {"initial_wait": 0.02, "factor": 2.0, "jitter": False}


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    text: str
    api_key: str
    error: str


def graph(function: Callable[..., Any], **policy: Any) -> StateGraph[Any]:
    made = StateGraph(State)
    add_node(made, "work", function, NodePolicy(**policy))
    made.add_node("after", lambda _: {"log": ["after"]})
    made.add_edge(START, "work")
    made.add_edge("work", "after")
    return made


def failing(times: int, error: Callable[[], Exception] = lambda: ConnectionError("no route")) -> Callable[[State], Any]:
    """A node that fails so many times; it keeps the moments of its attempts in ``moments``."""

    def work(_state: State) -> dict[str, Any]:
        work.moments.append(time.monotonic())  # type: ignore[attr-defined]
        if len(work.moments) <= times:  # type: ignore[attr-defined]
            raise error()
        return {"log": ["work"]}

    work.moments = []  # type: ignore[attr-defined]
    return work


def as_async(function: Callable[[State], Any]) -> Callable[[State], Any]:
    async def work(state: State) -> Any:
        return function(state)

    return work


# Timeouts


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


async def test_a_node_within_its_timeout_is_not_disturbed() -> None:
    def work(state: State) -> dict[str, Any]:
        return {"log": [state["text"]]}

    for function in (work, as_async(work)):
        app = graph(function, timeout=5).compile()
        assert (await app.ainvoke({"log": [], "text": "hello"}))["log"] == ["hello", "after"]
    assert graph(work, timeout=5).compile().invoke({"log": [], "text": "hello"})["log"] == ["hello", "after"]


async def test_a_node_s_own_timeout_error_is_not_taken_for_ours() -> None:
    async def work(_state: State) -> None:
        raise TimeoutError("the server")

    with pytest.raises(NodeFailed, match="TimeoutError: the server") as caught:
        await graph(work, timeout=5).compile().ainvoke({"log": []})
    assert not isinstance(caught.value, NodeTimeout)


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


# Retries


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("timeout", [None, 5])
async def test_a_transient_error_is_tried_again_after_growing_waits(mode: str, timeout: float | None) -> None:
    work: Any = failing(3)
    app = graph(as_async(work) if mode == "async" else work, retries=3, timeout=timeout, **QUICK).compile()
    final = await app.ainvoke({"log": []}) if mode == "async" else app.invoke({"log": []})
    assert final["log"] == ["work", "after"]
    waits = [later - sooner for sooner, later in itertools.pairwise(work.moments)]
    assert len(waits) == 3
    for measured, planned in zip(waits, (0.02, 0.04, 0.08), strict=True):
        assert planned <= measured < planned + 0.2


def test_each_attempt_is_logged_and_an_event(caplog: pytest.LogCaptureFixture) -> None:
    app = graph(failing(2), retries=2, **QUICK).compile()
    with caplog.at_level(logging.WARNING, "loopwright.nodes"):
        raw = [*app.stream({"log": []}, stream_mode="custom")]
    events = [run_event.validate_python(chunk) for chunk in raw]
    assert [
        (type(event), event.node, event.attempt, event.attempts, event.kind, event.message, event.rule, event.wait)
        for event in events
    ] == [  # type: ignore[union-attr]
        (NodeRetried, "work", 1, 3, "ConnectionError", "no route", "transient", 0.02),
        (NodeRetried, "work", 2, 3, "ConnectionError", "no route", "transient", 0.04),
    ]
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in lines] == [f"node 'work' failed on attempt {n} of 3" for n in (1, 2)]
    assert "ConnectionError: no route; next attempt in 0.02 s (transient)" in lines[0]


def test_the_last_failure_is_raised_with_its_attempt() -> None:
    with pytest.raises(NodeFailed, match="node 'work' failed on attempt 3: ConnectionError: no route") as caught:
        graph(failing(99), retries=2, **QUICK).compile().invoke({"log": []})
    assert caught.value.attempt == 3
    assert isinstance(caught.value.__cause__, ConnectionError)


HOPELESS = [
    ValueError,
    TypeError,
    KeyError,
    ZeroDivisionError,
    NotImplementedError,
    InputError,
    ConfigError,
    GraphError,
]


@pytest.mark.parametrize("kind", HOPELESS)
def test_hopeless_errors_are_not_tried_again(kind: type[Exception]) -> None:
    work: Any = failing(99, lambda: kind("wrong"))
    with pytest.raises(NodeFailed, match="on attempt 1"):
        graph(work, retries=3, **QUICK).compile().invoke({"log": []})
    assert len(work.moments) == 1


def test_a_timeout_is_not_tried_again_as_the_first_attempt_may_still_run() -> None:
    started = time.monotonic()
    with pytest.raises(NodeTimeout, match="on attempt 1"):
        graph(lambda _: time.sleep(5), timeout=0.03, retries=3, **QUICK).compile().invoke({"log": []})
    assert time.monotonic() - started < 4


def test_retry_on_can_be_chosen() -> None:
    work: Any = failing(1, lambda: ValueError("busy"))
    app = graph(work, retries=1, retry_on=lambda error: "busy" in str(error), **QUICK).compile()
    assert app.invoke({"log": []})["log"] == ["work", "after"]


# Errors


def test_an_error_names_the_node_and_shows_its_input_redacted_and_truncated() -> None:
    with pytest.raises(NodeFailed) as caught:
        graph(failing(9)).compile().invoke({"log": [], "text": "x" * 5000, "api_key": "sk-12345"})
    message = str(caught.value)
    assert message.startswith("node 'work' failed on attempt 1: ConnectionError: no route; its input was ")
    assert "api_key='***'" in message and "sk-12345" not in message
    assert "x" * 100 in message and len(message) < 1800
    assert caught.value.snapshot in message


def going_on(goto: str = "after", **options: Any) -> GiveUp:
    return GiveUp(goto=goto, **options)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_graceful_mode_writes_the_error_and_goes_on(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    app = graph(failing(9), retries=1, give_up=going_on(), **QUICK).compile()
    with caplog.at_level(logging.ERROR, "loopwright.nodes"):
        final = app.invoke({"log": []}) if mode == "sync" else await app.ainvoke({"log": []})
    assert final["log"] == ["after"]
    assert final["error"] == "work: ConnectionError: no route (attempt 2)"
    (record,) = caplog.records
    assert "going on to after without node 'work'" in record.getMessage()
    assert record.exc_info is not None and "in work" in (logging.Formatter().formatException(record.exc_info))


def test_giving_up_is_an_event() -> None:
    app = graph(failing(9), give_up=going_on()).compile()
    (event,) = [run_event.validate_python(chunk) for chunk in app.stream({"log": []}, stream_mode="custom")]
    assert isinstance(event, NodeGaveUp)
    assert (event.node, event.kind, event.message, event.goto) == ("work", "ConnectionError", "no route", "after")


def test_an_update_and_a_condition_can_be_chosen() -> None:
    give_up = going_on(when=lambda state: state["text"] == "go", update=lambda state, message: {"log": [message[:4]]})
    app = graph(failing(99), give_up=give_up).compile()
    assert app.invoke({"log": [], "text": "go"})["log"] == ["work", "after"]
    with pytest.raises(NodeFailed, match="no route"):
        app.invoke({"log": [], "text": "stop"})


def test_the_error_in_words_names_node_kind_message_and_attempt() -> None:
    failed = NodeFailed("plan", "ignored", attempt=2)
    failed.__cause__ = OSError("disk full")
    assert error_text(failed) == "plan: OSError: disk full (attempt 2)"
    assert error_text(NodeTimeout("plan", 3, attempt=1)) == "plan: NodeTimeout: no result within 3 s (attempt 1)"


# Control flow


@pytest.mark.parametrize("timeout", [None, 5])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_interrupts_pass_through(timeout: float | None, mode: str) -> None:
    def work(_state: State) -> dict[str, Any]:
        return {"log": [interrupt("well?")]}

    function = as_async(work) if mode == "async" else work
    made = graph(function, timeout=timeout, retries=2, give_up=going_on(), **QUICK)
    app = made.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    asked = app.invoke({"log": []}, config) if mode == "sync" else await app.ainvoke({"log": []}, config)
    assert asked["__interrupt__"][0].value == "well?"
    answer = Command(resume="fine")
    final = app.invoke(answer, config) if mode == "sync" else await app.ainvoke(answer, config)
    assert final["log"] == ["fine", "after"]


def test_a_guarded_command_node_can_be_bound() -> None:
    made = StateGraph(State)
    add_node(
        made, "work", lambda _: Command(goto="work", update={"log": ["work"]}), NodePolicy(timeout=5, max_model_calls=2),
        destinations=("work", END),
    )  # fmt: skip
    made.add_edge(START, "work")
    app = bounded(made, [Loop(name="again", target="work", sources=("work",), limit=2)])
    assert app.invoke({"log": []})["log"] == ["work"] * 3
    assert app.certificate.max_runs_by_node["work"] == 3
    assert (app.certificate.max_model_calls, app.certificate.max_seconds) == (6, 15)


def test_a_guarded_node_that_jumps_without_declaring_it_is_still_seen() -> None:
    made = StateGraph(State)
    add_node(made, "work", lambda _: Command(goto="work"), NodePolicy())
    made.add_edge(START, "work")
    assert not verify(made).bounded


# The certificate


def test_timeouts_retries_and_model_calls_go_into_the_certificate() -> None:
    policy = NodePolicy(timeout=2, retries=2, initial_wait=1, factor=3, max_wait=2, max_model_calls=4)
    # A server may ask for max_wait before every attempt, and up to a second is added.
    assert policy.max_seconds == 3 * 2 + 2 * (2 + 1)
    assert NodePolicy(timeout=2).max_seconds == 2
    assert NodePolicy(retries=2).max_seconds is None
    made = StateGraph(State)
    add_node(made, "work", lambda _: None, policy, metadata={"mine": 1})
    made.add_edge(START, "work")
    certificate = verify(made)
    assert (certificate.max_seconds, certificate.max_model_calls) == (12, 12)
    assert made.nodes["work"].metadata is not None and made.nodes["work"].metadata["mine"] == 1


# The debug log


async def test_debug_mode_logs_every_visit_s_input_duration_and_update(caplog: pytest.LogCaptureFixture) -> None:
    def work(_state: State) -> dict[str, Any]:
        return {"log": ["done"], "api_key": "sk-2"}

    app = graph(work, debug=True).compile()
    with caplog.at_level(logging.DEBUG, "loopwright.debug"):
        app.invoke({"log": [], "text": "hello", "api_key": "sk-1"})
        await app.ainvoke({"log": []})
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 4
    assert "node work: input" in lines[0] and "text='hello'" in lines[0]
    assert "node work: finished in 0.0" in lines[1] and "update log=['done']" in lines[1]
    assert not any("sk-" in line for line in lines)


def test_debug_mode_logs_a_failure_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "loopwright.debug"), pytest.raises(NodeFailed):
        graph(failing(9), debug=True).compile().invoke({"log": []})
    assert "node work: failed after" in caplog.records[-1].getMessage()
    assert caplog.records[-1].exc_info is not None
