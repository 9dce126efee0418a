"""Several loops, several branches, joins, fan-out, and waiting: the figures are worked out by hand."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Send, interrupt
from shapes import Shape, StateGraph, graph, hold, jump, loop, note, sends

SAVED = {"checkpointer": InMemorySaver}


def ask(_state: Any) -> dict[str, Any]:
    return {"log": [str(interrupt("again?"))]}


def map_reduce(tail: str = "judge?plan judge?END") -> StateGraph[Any]:
    return graph(f"START-plan plan?work work-judge {tail}", routes={"plan": sends("work", 3)})


def nested() -> StateGraph[Any]:
    return graph("START-plan plan-step step?step step?judge judge?plan judge?END")


def arms(tail: str) -> StateGraph[Any]:
    return graph(f"START-a a-b a-c {tail}")


OUTER_AND_INNER = [loop("inner", "step", "step", 1, "judge"), loop("outer", "judge", "plan", 1)]

SHAPES = {
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
}  # fmt: skip


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("name", SHAPES)
async def test_several_loops_end_as_worked_out(name: str, mode: str) -> None:
    await hold(SHAPES[name], mode)
