"""One loop, closed in every way that LangGraph has.

The figures are worked out by hand. A loop with limit N whose body (gate included) takes B supersteps behind a prefix of
P takes P + B (N + 1); every node of the body runs N + 1 times.
"""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.cache.memory import InMemoryCache
from langgraph.types import CachePolicy, Command, RetryPolicy
from shapes import END, Shape, State, StateGraph, graph, handled, hold, jump, loop, note

from loopwright.engine.budget.patience import Stall
from loopwright.engine.loop import Loop, StateLimit


def back(limit: Any = 1, **more: Any) -> list[Loop]:
    return [loop("x", "b", "a", limit, **more)]


def flaky() -> Callable[[State], dict[str, Any]]:
    tries: list[int] = []

    def node(_state: State) -> dict[str, Any]:
        tries.append(1)
        if len(tries) % 2:
            raise RuntimeError("not yet")
        return {"log": ["a"]}

    return node


def routed(answer: str, labels: dict[Any, str] | None = None) -> StateGraph[Any]:
    made = graph("START-a a-b")
    made.add_conditional_edges("b", lambda _: answer, labels)
    return made


def listed() -> StateGraph[Any]:
    return graph("START-a a-b b?a b?c b?END c-END", routes={"b": lambda _: ["a", "c"]})


TWICE = {"path": "a b loop.x a b loop.x", "steps": 6, "runs": {"a": 2, "b": 2, "loop.x": 2}}
"""Two nodes and the gate, limit 1: (1 + 1) x 3 supersteps."""

SHAPES = {
    # B = a + gate = 2, so 2 x 3.
    "self loop": Shape(
        lambda: graph("START-a a?a a?END"), [loop("x", "a", "a", 2)],
        path="a loop.x a loop.x a loop.x", steps=6, runs={"a": 3, "loop.x": 3},
    ),
    "limit 0": Shape(
        lambda: graph("START-a a-b b?a b?END"), back(0), path="a b loop.x", steps=3, runs={"a": 1, "b": 1, "loop.x": 1}
    ),
    # P = 1, B = 3.
    "a body behind a prefix": Shape(
        lambda: graph("START-a a-b b-c c?b c?END"), [loop("x", "c", "b", 2)],
        path="a b c loop.x b c loop.x b c loop.x", steps=10, runs={"a": 1, "b": 3, "c": 3, "loop.x": 3},
    ),
    "static back edge": Shape(lambda: graph("START-a a-b b-a"), back(), **TWICE),
    "router with labels": Shape(lambda: routed("again", {"again": "a", "done": END}), back(), **TWICE),
    "Command node": Shape(lambda: graph("START-a a-b", b={"action": jump("a"), "destinations": ("a", END)}), back(), **TWICE),
    "Commands in a tuple": Shape(
        lambda: graph("START-a a-b", b={"action": lambda _: (Command(goto="a"),), "destinations": ("a", END)}), back(), **TWICE
    ),
    # c runs beside the gate.
    "Command with a list": Shape(
        lambda: graph("START-a a-b c-END", b={"action": jump("a", "c"), "destinations": ("a", "c")}), back(),
        path="a b c+loop.x a b c+loop.x", steps=6, runs={"a": 2, "b": 2, "c": 2, "loop.x": 2},
    ),
    "router that returns a list": Shape(
        listed, back(), path="a b c+loop.x a b c+loop.x", steps=6, runs={"a": 2, "b": 2, "c": 2, "loop.x": 2}
    ),
    # An untyped router may go anywhere, so b -> b needs a loop too. A pass of x adds b loop.x a: 3 supersteps, one of y
    # adds 2, and a b loop.x are left: 8. a: the entry and a pass of x. b: what a does, and a pass of y; each asks both.
    "untyped router": Shape(
        lambda: routed("a"), [*back(), loop("y", "b", "b", 1)],
        path="a b loop.x a b loop.x", steps=8, runs={"a": 2, "b": 3, "loop.x": 3, "loop.y": 3},
    ),
    # Where the start has two ways, a can run at once and after the pass; b only at once; c behind each.
    "conditional entry": Shape(
        lambda: graph("START?a START?b a-c b-c c?a c?END"), [loop("x", "c", "a", 1)],
        path="a c loop.x a c loop.x", steps=6, runs={"a": 2, "b": 1, "c": 2, "loop.x": 2},
    ),
    # Nothing says that the gate refuses only once, so its fallback is counted as often as the gate.
    "fallback node": Shape(
        lambda: graph("START-a a?a a?END answer-END"), [loop("x", "a", "a", 1, "answer")],
        path="a loop.x a loop.x answer", steps=5, runs={"a": 2, "loop.x": 2, "answer": 2},
    ),
    "limit alone": Shape(
        lambda: graph("START-a a-b b?a b?END"), limit=1,
        path="a b loop.a a b loop.a", steps=6, runs={"a": 2, "b": 2, "loop.a": 2},
    ),
    # The node asks for 99 before its first request, and the ceiling is 3.
    "node that raises its own limit": Shape(
        lambda: graph("START-a a?a a?END", a=lambda _: {"log": ["a"], "limit": 99}),
        [loop("x", "a", "a", StateLimit(key="limit", default=1, ceiling=3))],
        path="a loop.x a loop.x a loop.x a loop.x", steps=8, runs={"a": 4, "loop.x": 4},
    ),
    # The second request finds the same content: no progress. The certificate does not know when that will be.
    "stalled": Shape(
        lambda: graph("START-a a?a a?END"), [loop("x", "a", "a", 5, stall=Stall(key=lambda _: "same"))],
        path="a loop.x a loop.x", steps=12, runs={"a": 6, "loop.x": 6},
    ),
    "retry policy": Shape(
        lambda: graph(
            "START-a a-b b?a b?END",
            a={"action": flaky(), "retry_policy": RetryPolicy(initial_interval=0.001, retry_on=RuntimeError)},
        ),
        back(), **TWICE,
    ),
    # The handler of a jumps to b in a's own superstep; c, behind a, never runs here and could at 2 and 5.
    "error handler that jumps": Shape(
        lambda: handled("START-a a-c b?a b?END", "a", "b"), back(), path="a b loop.x a b loop.x", steps=6,
        runs={"a": 2, "b": 2, "c": 2, "loop.x": 2, "__error_handler__a": 2},
    ),
    # A result from the cache is a run of the node all the same.
    "node cache": Shape(
        lambda: graph("START-a a-b b?a b?END", a={"action": note("a"), "cache_policy": CachePolicy(key_func=lambda _: b"a")}),
        back(), options={"cache": InMemoryCache()}, **TWICE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", SHAPES)
async def test_one_loop_ends_as_worked_out(name: str, mode: str) -> None:
    await hold(SHAPES[name], mode)
