"""The shapes that people build: one loop closed in every way that LangGraph has, several of them, graphs inside graphs.

The figures are worked out by hand. A loop with limit N whose body (gate included) takes B supersteps behind a prefix of
P takes P + B (N + 1); every node of the body runs N + 1 times.
"""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.types import CachePolicy, Command, RetryPolicy, Send, interrupt
from looping_agents import calls, search
from shapes import END, Shape, State, StateGraph, graph, handled, hold, jump, loop, note, sends, to_parent

from loopwright.engine.bounds import bounded
from loopwright.engine.budget.patience import Stall
from loopwright.engine.loop import Loop, StateLimit
from loopwright.testing.chat import always


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


def ask(_state: Any) -> dict[str, Any]:
    return {"log": [str(interrupt("again?"))]}


def map_reduce(tail: str = "judge?plan judge?END") -> StateGraph[Any]:
    return graph(f"START-plan plan?work work-judge {tail}", routes={"plan": sends("work", 3)})


def nested() -> StateGraph[Any]:
    return graph("START-plan plan-step step?step step?judge judge?plan judge?END")


def arms(tail: str) -> StateGraph[Any]:
    return graph(f"START-a a-b a-c {tail}")


def react() -> Any:
    return create_react_agent(always(calls("search", "search")), [search])


def calling() -> StateGraph[Any]:
    inner = graph("START-x x-y").compile()

    def ask(state: State) -> Any:
        return {"log": inner.invoke({"log": []})["log"]}

    return graph("START-a a-b b?a b?END", a=ask)


def within(inner: Any) -> StateGraph[Any]:
    return graph("START-a a-sub sub?a sub?END", sub=inner)


def across() -> StateGraph[Any]:
    return graph("START-a a-b b?a b?END", routes={"b": sends("a", 2)})


def lost() -> StateGraph[Any]:
    made = graph("START-a a?a a?END")
    made.add_node("lost", jump("a"), destinations=("a",))
    return made


SAVED = {"checkpointer": InMemorySaver}
OUTER_AND_INNER = [loop("inner", "step", "step", 1, "judge"), loop("outer", "judge", "plan", 1)]
AROUND = [loop("x", "sub", "a", 1)]

TWICE = {"path": "a b loop.x a b loop.x", "steps": 6, "runs": {"a": 2, "b": 2, "loop.x": 2}}
"""Two nodes and the gate, limit 1: (1 + 1) x 3 supersteps."""

WITHIN = {"path": "a sub loop.x a sub loop.x", "steps": 6, "runs": {"a": 2, "sub": 2, "loop.x": 2}}
"""The same with a subgraph."""

SHAPES = {
    # One loop.
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
    # Several loops, several branches, joins, fan-out, and waiting.
    # Each outer pass is plan step loop.inner judge loop.outer, 5, and twice of that; each inner pass adds loop.inner and
    # step. One inner pass in the run: 12. judge is entered by step's router and by the spent inner loop, 3 + 3 times.
    "nested loops": Shape(
        nested, OUTER_AND_INNER,
        path="plan step loop.inner step loop.inner judge loop.outer plan step loop.inner judge loop.outer",
        steps=12, runs={"plan": 2, "step": 3, "judge": 6, "loop.inner": 3, "loop.outer": 6},
    ),
    # The inner limit counts anew for every outer pass: two inner passes in the run, and 14.
    "nested loops with a scope": Shape(
        nested, [loop("inner", "step", "step", 1, "judge", scope="outer"), OUTER_AND_INNER[1]],
        path="plan step loop.inner step loop.inner judge loop.outer plan step loop.inner step loop.inner judge loop.outer",
        steps=14, runs={"plan": 2, "step": 4, "judge": 8, "loop.inner": 4, "loop.outer": 8},
    ),
    # hub left loop.l, then hub left loop.l right loop.r twice: 3 + 5 + 5. hub: the entry and a pass of each. right:
    # behind hub and behind the spent loop.l, 3 + 3.
    "figure eight": Shape(
        lambda: graph("START-hub hub?left hub?right hub?END left-hub right-hub"),
        [loop("l", "left", "hub", 1, "right"), loop("r", "right", "hub", 1)],
        path="hub left loop.l hub left loop.l right loop.r hub left loop.l right loop.r",
        steps=13, runs={"hub": 3, "left": 3, "right": 6, "loop.l": 3, "loop.r": 6},
    ),
    # a b c loop.u d loop.v is 6; a pass of u adds a b c loop.u: 4; each of two of v adds b c loop.u d loop.v: 5.
    # b: a's two runs and two passes of v; d: behind c and behind the spent loop.u.
    "overlapping loops with different limits": Shape(
        lambda: graph("START-a a-b b-c c?a c?d d?b d?END"),
        [loop("u", "c", "a", 1, "d"), loop("v", "d", "b", 2)],
        path="a b c loop.u a b c loop.u d loop.v b c loop.u d loop.v b c loop.u d loop.v",
        steps=20, runs={"a": 2, "b": 4, "c": 4, "d": 8, "loop.u": 4, "loop.v": 8},
    ),
    # Both gates refuse in superstep 4, and the fallback runs once in superstep 5. The proof adds the passes of loops that
    # go round side by side: 3 without a pass, and 2 for each; answer behind the entry, and behind each pass.
    "two loops exhausted in one superstep": Shape(
        lambda: graph("START-a START-b a?a a?END b?b b?END answer-END"),
        [loop("x", "a", "a", 1, "answer"), loop("y", "b", "b", 1, "answer")],
        path="a+b loop.x+loop.y a+b loop.x+loop.y answer",
        steps=7, runs={"a": 2, "b": 2, "loop.x": 2, "loop.y": 2, "answer": 3},
    ),
    # Both ask in one superstep: that is one pass.
    "exhausted by source": Shape(
        lambda: arms("b?a b?END c?a c?END left-END right-END"),
        [loop("x", "b c", "a", 1, {"b": "left", "c": "right"})],
        path="a b+c loop.x a b+c loop.x left+right",
        steps=7, runs={"a": 2, "b": 2, "c": 2, "left": 2, "right": 2, "loop.x": 2},
    ),
    "join in the body": Shape(
        lambda: arms("b+c-d d?a d?END"), [loop("x", "d", "a", 1)],
        path="a b+c d loop.x a b+c d loop.x", steps=8, runs=dict.fromkeys(("a", "b", "c", "d", "loop.x"), 2),
    ),
    "join that goes back": Shape(
        lambda: arms("b+c-a"), [loop("x", "b c", "a", 1)],
        path="a b+c loop.x a b+c loop.x", steps=6, runs=dict.fromkeys(("a", "b", "c", "loop.x"), 2),
    ),
    # z runs once, so the join fires once, and nothing is ever refused.
    "join that goes back and is entered once": Shape(
        lambda: graph("START-a START-z a-b b+z-a"), [loop("x", "b z", "a", 1)],
        path="a+z b loop.x a b", steps=5, runs={"a": 2, "b": 2, "z": 1, "loop.x": 1},
    ),
    # b asks in superstep 2, d a superstep later: two passes, and their bodies overlap. Each of two passes takes up to
    # a c d loop.x, 4, and 4 without one. a: the entry and two passes; loop.x: as often as b and d.
    "branches that ask one after another": Shape(
        lambda: arms("c-d b?a b?END d?a d?END"), [loop("x", "b d", "a", 2)],
        path="a b+c d+loop.x a+loop.x a+b+c b+c+d+loop.x d+loop.x loop.x",
        steps=12, runs={"a": 3, "b": 3, "c": 3, "d": 3, "loop.x": 6},
    ),
    # limit + 1 = 4 runs of a, and 7 of d: it runs behind a and again behind b, and each run asks. By hand: d in
    # supersteps 2, 3, 5, 6, 7, 8 and 9. At most it is 8: twice for every run of a.
    "diamond with a skip edge in a loop": Shape(
        lambda: graph("START-a a-b a-d b-d d?a d?END"), [loop("x", "d", "a", 3)],
        path="a b+d d+loop.x a+loop.x a+b+d b+d+loop.x a+d+loop.x b+d+loop.x d+loop.x loop.x",
        steps=16, runs={"a": 4, "b": 4, "d": 8, "loop.x": 8},
    ),
    # plan, three tasks in one superstep, judge, gate: 4 a pass.
    "map and reduce in a loop": Shape(
        map_reduce, [loop("x", "judge", "plan", 2)], fan_out={"work": 3},
        path="plan work+work+work judge loop.x " * 2 + "plan work+work+work judge loop.x",
        steps=12, runs={"plan": 3, "work": 9, "judge": 3, "loop.x": 3},
    ),
    "map and reduce that declares nothing": Shape(
        map_reduce, [loop("x", "judge", "plan", 1)],
        path="plan work+work+work judge loop.x plan work+work+work judge loop.x",
        steps=8, runs={"plan": 2, "work": None, "judge": 2, "loop.x": 2},
    ),
    "more tasks than declared": Shape(
        map_reduce, [loop("x", "judge", "plan", 1)], fan_out={"work": 2},
        says=r"the router .* of 'plan' sent 3 tasks to 'work' in one run, and its declared fan_out is 2",
        refused_while_running=True, steps=8, runs={"plan": 2, "work": 4, "judge": 2, "loop.x": 2},
    ),
    # d waits for b and c. It is entered by a and by c, so twice for each of three runs of a, and so is the gate; there are
    # no more supersteps than runs: 3 x 3 + 6 + 6.
    "deferred node": Shape(
        lambda: graph("START-a a-b b-c a-d c-d d?a d?END", d={"action": note("d"), "defer": True}),
        [loop("x", "d", "a", 2)],
        path="a b c d loop.x a b c d loop.x a b c d loop.x",
        steps=21, runs={"a": 3, "b": 3, "c": 3, "d": 6, "loop.x": 6},
    ),
    # What is sent to d runs at once; what names d waits for s and t, as the gate does that the first d asks.
    "deferred node that is sent to and named": Shape(
        lambda: graph(
            "START-a a-s s-t d?d d?END",
            a={"action": jump(Send("d", {"log": []}), "d"), "destinations": ("d",)},
            d={"action": note("d"), "defer": True},
        ),
        [loop("x", "d", "d", 0)], fan_out={"d": 2},
        path="a d+s t d+loop.x loop.x", steps=7, runs={"a": 1, "s": 1, "t": 1, "d": 2, "loop.x": 2},
    ),
    # A run that waits for a person runs on from there: its certificate is that of the run without waiting.
    "interrupt before": Shape(
        lambda: graph("START-a a-b b?a b?END"), [loop("x", "b", "a", 1)],
        options={**SAVED, "interrupt_before": ["b"]},
        path="a b loop.x a b loop.x", steps=6, runs={"a": 2, "b": 2, "loop.x": 2},
    ),
    # Each answer continues the run: the limit is not granted afresh.
    "three interrupts": Shape(
        lambda: graph("START-a a-b b?a b?END", b=ask), [loop("x", "b", "a", 2)], options=SAVED,
        path="a b loop.x a b loop.x a b loop.x", steps=9, runs={"a": 3, "b": 3, "loop.x": 3},
    ),
    # What people build, and graphs inside graphs.
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
        inside=12, ran_inside=12, **WITHIN,
    ),
    "Command to the parent graph": Shape(
        lambda: graph("START-a a-sub", sub={"action": to_parent("a"), "destinations": ("a",)}), AROUND,
        inside=2, ran_inside=2, **WITHIN,
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
async def test_a_graph_ends_as_worked_out(name: str, mode: str) -> None:
    await hold(SHAPES[name], mode)


@pytest.mark.parametrize("name", REFUSED)
async def test_what_cannot_be_bounded_is_refused(name: str) -> None:
    await hold(REFUSED[name], "sync")
