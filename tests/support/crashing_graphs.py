"""Graphs that are killed while they run; each process compiles them anew.

Every wish is always "again", so that only the bounds end a run.
"""

import asyncio
import operator
import time
from collections.abc import Callable
from typing import Annotated, Any

from crashing_record import Record
from langchain_core.messages import BaseMessage
from langgraph.runtime import get_runtime
from langgraph.types import Send
from shapes import graph
from typing_extensions import TypedDict

from loopwright.engine import BoundedGraph, GiveUp, Loop, NodePolicy, StateLimit, bounded
from loopwright.engine.budget.budget import Budget
from loopwright.engine.nodes.policy import Retry, is_transient
from loopwright.testing import ScriptedChatModel

SHARDS = 3


class State(TypedDict, total=False):
    """The state of all graphs here."""

    trace: Annotated[list[str], operator.add]
    rounds: int
    past: list[str]
    patience: int
    tried: int
    error: str
    shard: int


def _nodes(
    record: Record, pause: float, asynchronous: bool, slow: str | None = None
) -> Callable[[str], Callable[..., Any]]:
    """Makes nodes that note when they begin and end, and work in between, for one to four pauses."""

    def node(name: str) -> Callable[..., Any]:
        def update(state: State) -> dict[str, Any]:
            return {"trace": [f"{name} {state['shard']}" if "shard" in state else name]}

        def work(state: State) -> dict[str, Any]:
            seen = len(state.get("trace", ()))
            with record.task(name, seen):
                time.sleep(pause * (1 + seen % 4) if name != slow else 60)
            return update(state)

        async def awork(state: State) -> dict[str, Any]:
            seen = len(state.get("trace", ()))
            with record.task(name, seen):
                await asyncio.sleep(pause * (1 + seen % 4))
            return update(state)

        return awork if asynchronous else work

    return node


def _reason(record: Record, gate: str) -> Callable[[State], str]:
    """The gate's own question is where a gate notes that it runs."""

    def reason(state: State) -> str:
        with record.task(gate, len(state.get("trace", ()))):
            return f"poor after {len(state.get('trace', ()))}"

    return reason


def three_loops(
    record: Record,
    *,
    pause: float = 0.0,
    slow: str | None = None,
    asynchronous: bool = False,
    longer: bool = False,
    **options: Any,
) -> BoundedGraph:
    """An outer loop with a scoped inner one, then a loop of its own around two branches, a join and a fan-out.

    ``plan -> step (inner) -> judge -> plan (outer) -> split -> left, right -> join -> shards -> gather -> split (again)
    -> answer``; a node works one to four pauses, `slow` never ends, `longer` adds a node behind the answer.
    """
    edges = "START-plan plan-step step?step step?judge judge?plan judge?split split-left split-right left+right-join "
    edges += "join?shard shard-gather gather?split gather?answer " + (
        "answer-thanks thanks-END" if longer else "answer-END"
    )
    node = _nodes(record, pause, asynchronous, slow)
    names = ("plan", "step", "judge", "split", "left", "right", "join", "shard", "gather", "answer", "thanks")
    shards = {"join": lambda _: [Send("shard", {"shard": i}) for i in range(SHARDS)]}
    made = graph(edges, State, shards, **{name: node(name) for name in names})
    loops = [
        Loop(name="inner", target="step", sources=("step",), limit=1, exhausted="judge", scope="outer",
             reason=_reason(record, "loop.inner")),
        Loop(name="outer", target="plan", sources=("judge",), exhausted="split", counter="rounds", history="past",
             limit=StateLimit(key="patience", default=2, ceiling=4),
             reason=_reason(record, "loop.outer")),
        Loop(name="again", target="split", sources=("gather",), limit=2, exhausted="answer",
             reason=_reason(record, "loop.again")),
    ]  # fmt: skip
    return bounded(made, loops, name="three loops", **options)


def flaky(record: Record, **options: Any) -> BoundedGraph:
    """A loop around a node that fails on the first attempt of each visit, and in its third visit on every attempt."""

    def work(state: State) -> dict[str, Any]:
        visit = state["trace"].count("check") + 1
        with record.task("work", visit):
            info = get_runtime().execution_info
            if visit == 3 or (info and info.node_attempt == 1):
                raise ConnectionError("no route")
        return {"trace": ["work"]}

    def answer_without(state: Any, message: str) -> dict[str, Any]:
        record.note("giving up")
        return {"trace": ["gave up"], "error": message}

    rule = Retry(on=is_transient, retries=2, initial_wait=0.001, max_wait=0.002, jitter=False)
    policy = NodePolicy(retries=[rule], give_up=GiveUp(goto="answer", update=answer_without))
    node = _nodes(record, 0.0, False)
    nodes = {"work": {"action": work, "policy": policy}, "check": node("check"), "answer": node("answer")}
    made = graph("START-work work-check check?work check?answer answer-END", State, **nodes)
    loop = Loop(name="again", target="work", sources=("check",), limit=4, exhausted="answer",
                reason=_reason(record, "loop.again"))  # fmt: skip
    return bounded(made, [loop], name="flaky", **options)


CALLS = 8
"""The budget of `spender` and `spender_inside`, in model calls."""


def _asking(record: Record) -> Callable[[str], Callable[..., Any]]:
    """Makes nodes that call a model; the call is noted when it is sent."""

    def sent(messages: list[BaseMessage]) -> str:
        info = get_runtime().execution_info
        record.note("call", node=str(messages[-1].text), task=info.task_id if info else "")
        return "no"

    model = ScriptedChatModel(sent, repeat_last=True)

    def node(name: str) -> Callable[..., Any]:
        def work(state: State) -> dict[str, Any]:
            with record.task(name, len(state.get("trace", ()))):
                model.invoke(name)
            return {"trace": [name]}

        return work

    return node


def spender(record: Record, **options: Any) -> BoundedGraph:
    """A loop whose nodes call a model, two at once in its branches, under a budget that ends it long before its limit."""
    ask, node = _asking(record), _nodes(record, 0.0, False)
    nodes = {name: ask(name) for name in ("left", "right", "answer")} | {
        name: node(name) for name in ("split", "check")
    }
    made = graph(
        "START-split split-left split-right left+right-check check?split check?answer answer-END", State, **nodes
    )
    loop = Loop(name="again", target="split", sources=("check",), limit=20, exhausted="answer")
    return bounded(made, [loop], budget=Budget(model_calls=CALLS, exhausted="answer"), name="spender", **options)


def spender_inside(record: Record, *, inside_bounded: bool = True, **options: Any) -> BoundedGraph:
    """A loop around a graph of three nodes that call a model, under a budget."""
    ask = _asking(record)
    inner = graph("START-one one-two two-three", State, **{name: ask(name) for name in ("one", "two", "three")})
    inside = bounded(inner) if inside_bounded else inner.compile()
    made = graph("START-inside inside?inside inside?answer answer-END", State, inside=inside, answer=ask("answer"))
    loop = Loop(name="again", target="inside", sources=("inside",), limit=20, exhausted="answer")
    budget = Budget(model_calls=CALLS, exhausted="answer")
    return bounded(made, [loop], budget=budget, name="spender inside", **options)
