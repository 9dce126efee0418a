"""Random graphs whose nodes also jump where they never said: a run ends with an outcome or with our error.

Never with LangGraph's own step limit, and never beyond the certificate, whose oracle is LangGraph's own task stream."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, Send
from random_graphs import State, case
from shapes import HERE, Watched

from loopwright import bounded
from loopwright.errors import LoopwrightError

HIDDEN: dict[str, Callable[[str], Any]] = {
    "command": lambda target: Command(goto=target, update={}),
    "send": lambda target: Command(goto=[Send(target, {}), Send(target, {})]),
}


class Jumper:
    """A callable object that takes its jumps from a list."""

    def __init__(self, jumps: list[tuple[str, str]]) -> None:
        self.jumps = jumps

    def __call__(self, state: State) -> Any:
        return HIDDEN[(found := self.jumps.pop())[0]](found[1]) if self.jumps else {"log": ["no jump"]}


def undressed(function: Callable[[State], Any]) -> Callable[[State], Any]:
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


def jumping(chance: random.Random, names: list[str]) -> Any:
    """A node that jumps so many times, and no more, in a way that its source does not show."""
    many = chance.choice((0, 0, 1, 3, 40))
    jumper = Jumper([(chance.choice(("command", "command", "send")), chance.choice(names)) for _ in range(many)])

    async def waits(state: State) -> Any:
        return jumper(state)

    return chance.choice([jumper, lambda state: jumper(state), undressed(jumper), waits])


async def watched(app: Any) -> tuple[Watched, str]:
    """What LangGraph's own stream told of a run, and what ended it.

    Gates are hidden from the stream, so that steps are told by their numbers: one of gates alone counts, too.
    """
    seen = Watched()
    try:
        async for event in app.astream({"log": []}, stream_mode="debug"):
            seen.see(((), event))
    except LoopwrightError as stopped:
        return seen, f"stopped: {type(stopped).__name__}"
    return seen, "ended"


def run(seed: int) -> str:
    """Bound a graph and run it; what became of it."""
    try:
        app = bounded(case(seed, kinds=("static", "router"), disguised=jumping).graph, limit=seed % 4)
    except LoopwrightError as refused:
        return f"refused before: {type(refused).__name__}"
    certificate = app.certificate
    try:
        seen, ending = asyncio.run(watched(app))
    except GraphRecursionError as raw:
        pytest.fail(f"seed {seed}: LangGraph's own step limit: {raw}")
    # Also of a run that our error stopped: up to there it is within what was proven.
    assert certificate.max_supersteps is None or seen.last <= certificate.max_supersteps, f"seed {seed}"
    for name, most in certificate.max_runs_by_node.items():
        assert most is None or seen.runs[name] <= most, f"seed {seed}: {name}"
    return ending


def test_a_run_ends_with_an_outcome_or_with_our_error() -> None:
    found = Counter(run(seed) for seed in range(30))
    assert found["ended"] > 4
    assert any(word.startswith("stopped") for word in found), found


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_many_graphs_end(soak: Callable[..., list[str]]) -> None:
    found = Counter(soak(run))
    assert found["ended"] > found.total() // 10 and not any(word.startswith("refused") for word in found), found


MODES = ["values", "updates", "tasks", "debug", "checkpoints", "custom", "messages"]
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+")


def settled(value: Any) -> Any:
    """What a stream says, without what differs between two runs: ids and moments."""
    if isinstance(value, dict):
        return {ID.sub("ID", key): settled(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [settled(item) for item in value]
    return ID.sub("ID", str(value))


def streamed(seed: int, how: str, asynchronous: bool) -> Any:
    """All that one run says; a graph whose nodes decide by chance is made anew for each run."""
    graph = case(seed, forward_only=True).graph
    options: dict[str, Any] = {"checkpointer": InMemorySaver()}
    app: Any = graph.compile(**options) if how == "plain" else bounded(graph, limit=0, **options)
    streaming: dict[str, Any] = {"stream_mode": MODES, "subgraphs": True}

    async def listen() -> list[Any]:
        return [chunk async for chunk in app.astream({"log": []}, HERE, **streaming)]

    said = asyncio.run(listen()) if asynchronous else [*app.stream({"log": []}, HERE, **streaming)]
    # Of tasks that run side by side, whichever is ready first is told first.
    return sorted(map(repr, settled(said))), settled(app.get_state(HERE))


def hold(seed: int) -> None:
    for asynchronous in (False, True):
        assert streamed(seed, "bounded", asynchronous) == streamed(seed, "plain", asynchronous), (seed, asynchronous)


@pytest.mark.matrix
@pytest.mark.parametrize("first", range(0, 40, 5))
def test_without_a_way_back_nothing_is_different(first: int) -> None:
    for seed in range(first, first + 5):
        hold(seed)


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_without_a_way_back_nothing_is_different_in_many_graphs(soak: Callable[..., list[None]]) -> None:
    assert soak(hold)
