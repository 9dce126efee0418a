"""A graph that never goes round is, bounded, plain LangGraph: the same chunks in every stream mode, sync and async."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from random_graphs import case

from loopwright.engine.bounds import bounded

MODES = ["values", "updates", "tasks", "debug", "checkpoints", "custom", "messages"]
CONFIG: Any = {"configurable": {"thread_id": "t"}}
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
        return [chunk async for chunk in app.astream({"log": []}, CONFIG, **streaming)]

    said = asyncio.run(listen()) if asynchronous else [*app.stream({"log": []}, CONFIG, **streaming)]
    # Of tasks that run side by side, whichever is ready first is told first.
    return sorted(map(repr, settled(said))), settled(app.get_state(CONFIG))


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
