"""The shapes that people build, and graphs inside graphs: the figures are worked out by hand."""

from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.prebuilt import create_react_agent
from langgraph.types import Send
from looping_agents import calls, search
from shapes import Shape, State, StateGraph, graph, handled, hold, jump, loop, sends, to_parent

from loopwright.engine.bounds import bounded
from loopwright.testing.chat import always


def react() -> Any:
    return create_react_agent(always(calls("search", "search")), [search])


def calling() -> StateGraph[Any]:
    inner = graph("START-x x-y").compile()

    def ask(state: State) -> Any:
        return {"log": inner.invoke({"log": []})["log"]}

    return graph("START-a a-b b?a b?END", a=ask)


def within(inner: Any) -> StateGraph[Any]:
    return graph("START-a a-sub sub?a sub?END", sub=inner)


TWICE = {"path": "a sub loop.x a sub loop.x", "steps": 6, "runs": {"a": 2, "sub": 2, "loop.x": 2}}
"""A node, a subgraph and the gate, limit 1: (1 + 1) x 3 supersteps."""

AROUND = [loop("x", "sub", "a", 1)]


def across() -> StateGraph[Any]:
    return graph("START-a a-b b?a b?END", routes={"b": sends("a", 2)})


SHAPES = {
    # agent, tools, gate, three times; the agent is asked for the last time before the last gate.
    "ReAct agent, by hand": Shape(
        lambda: graph("START-agent agent?tools agent?END tools-agent"), limit=2,
        path="agent tools loop.agent agent tools loop.agent agent tools loop.agent",
        steps=9, runs={"agent": 3, "tools": 3, "loop.agent": 3},
    ),
    # Two tool calls at once are two tasks, and one pass.
    "ReAct agent of LangGraph with two calls at once": Shape(
        react, limit=1, fan_out={"tools": 2}, input={"messages": [HumanMessage("?")]},
        path="agent tools+tools loop.agent agent tools+tools loop.agent",
        steps=6, runs={"agent": 2, "tools": 4, "loop.agent": 2},
    ),
    # The handler of b goes back in the superstep of the node that failed; who asks for the pass is the handler.
    "error handler that goes back": Shape(
        lambda: handled("START-a a-b", "b", "a"), limit=1, path="a b loop.a a b loop.a",
        steps=6, runs={"a": 2, "b": 2, "__error_handler__b": 2, "loop.a": 2},
    ),
    # Longest: retrieve grade generate, loop.again generate, transform loop.rewrite, and once more from retrieve without
    # the other loop: retrieve grade generate transform loop.rewrite: 7 + 5. Runs: retrieve 1 + 1; grade as often;
    # generate behind web (1) and grade (2), and one pass of again; transform from the entry in superstep 3 or 4, likewise
    # from a pass of rewrite, and behind a pass of again.
    "adaptive RAG": Shape(
        lambda: graph(
            "START?retrieve START?web web-generate retrieve-grade grade?transform grade?generate transform-retrieve "
            "generate?generate generate?transform generate?END"
        ),
        [loop("rewrite", "transform", "retrieve", 1), loop("again", "generate", "generate", 1)],
        path="retrieve grade transform loop.rewrite retrieve grade transform loop.rewrite",
        steps=12,
        runs={"retrieve": 2, "web": 1, "grade": 2, "generate": 4, "transform": 5, "loop.rewrite": 5, "loop.again": 4},
    ),
    # The documents are taken, and the answer is never grounded in them. Longest: retrieve grade generate loop.again
    # transform loop.rewrite twice, and loop.again generate once: 6 + 6 + 2. generate: grade's 2 and a pass of again;
    # transform: behind grade (2), generate (3) and the spent again (3).
    "self-RAG": Shape(
        lambda: graph(
            "START-retrieve retrieve-grade grade?generate grade?transform transform-retrieve "
            "generate?generate generate?transform generate?END"
        ),
        [loop("rewrite", "transform", "retrieve", 1), loop("again", "generate", "generate", 1, "transform")],
        path="retrieve grade generate loop.again generate loop.again transform loop.rewrite "
        "retrieve grade generate loop.again transform loop.rewrite",
        steps=14,
        runs={"retrieve": 2, "grade": 2, "generate": 3, "transform": 8, "loop.rewrite": 8, "loop.again": 3},
    ),
    # Limit 2 inside: three runs of x and three of its gate, for each of two runs of the subgraph.
    "looped subgraph in a loop": Shape(
        lambda: within(bounded(graph("START-x x?x x?END"), [loop("in", "x", "x", 2)])), AROUND,
        inside=12, ran_inside=12, **TWICE,
    ),
    "Command to the parent graph": Shape(
        lambda: graph("START-a a-sub", sub={"action": to_parent("a"), "destinations": ("a",)}), AROUND,
        inside=2, ran_inside=2, **TWICE,
    ),
    # Its nodes are not counted here, and the certificate says so.
    "subgraph called inside a node": Shape(
        calling, [loop("x", "b", "a", 1)], ran_inside=4,
        path="a b loop.x a b loop.x", steps=6, runs={"a": 2, "b": 2, "loop.x": 2},
    ),
    # Both tasks of a pass go through the gate together; it could name a as well.
    "Send across the loop's edge": Shape(
        across, [loop("x", "b", "a", 1)], fan_out={"a": 2}, path="a b loop.x a+a b loop.x",
        steps=6, runs={"a": 4, "b": 2, "loop.x": 2},
    ),
    "bare Send across the loop's edge": Shape(
        lambda: graph("START-a a-b", b={"action": lambda _: Send("a", {"log": []}), "destinations": ("a", "__end__")}),
        [loop("x", "b", "a", 1)], path="a b loop.x a b loop.x", steps=6, runs={"a": None, "b": 2, "loop.x": 2},
    ),
    # d runs behind the skip and again behind the arms, and so does e.
    "diamond with a skip edge": Shape(
        lambda: graph("START-a a-b a-c a-d b-d c-d d-e"),
        path="a b+c+d d+e e", steps=4, runs={"a": 1, "b": 1, "c": 1, "d": 2, "e": 2},
    ),
}  # fmt: skip


def lost() -> StateGraph[Any]:
    made = graph("START-a a?a a?END")
    made.add_node("lost", jump("a"), destinations=("a",))
    return made


REFUSED = {
    "no loop for a cycle": Shape(lambda: graph("START-a a-b b?a b?END"), says="unbounded cycle: a -> b -> a"),
    "loop for one of two cycles": Shape(
        lambda: graph("START-a a-b b?a b?b b?END"), [loop("x", "b", "a", 1)], says="unbounded cycle: b -> b"
    ),
    "exhausted edge that reaches its own source": Shape(
        lambda: graph("START-a a-b b?a b?END retry-b"), [loop("x", "b", "a", 1, "retry")],
        says="exhausted route of loop 'x' leads back into it",
    ),
    "unreachable node": Shape(lost, [loop("x", "a", "a", 1)], says="no path from the start reaches 'lost'"),
    "join of which a part goes back": Shape(
        lambda: graph("START-a a-b a-c b+c-a"), [loop("x", "b", "a", 1)], says="waits for .* together"
    ),
    "unbounded subgraph": Shape(
        lambda: within(graph("START-x x?x x?END").compile()), AROUND, says="unbounded cycle: sub/x -> sub/x"
    ),
    "Command to the parent graph without a loop": Shape(
        lambda: graph("START-a a-sub", sub=to_parent("a")), says="unbounded cycle: a -> sub -> a"
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", SHAPES)
async def test_agents_and_subgraphs_end_as_worked_out(name: str, mode: str) -> None:
    await hold(SHAPES[name], mode)


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_be_bounded_is_refused(name: str) -> None:
    await hold(REFUSED[name], "sync")
