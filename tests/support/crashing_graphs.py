"""Graphs that are killed while they run; each process compiles them anew.

Every wish is always "again", so that only the bounds end a run.
"""

from __future__ import annotations

import asyncio
import operator
import time
from collections.abc import Callable
from typing import Annotated, Any

from crashing_record import Record
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime
from langgraph.types import Send
from typing_extensions import TypedDict

from loopwright.engine import BoundedGraph, GiveUp, Loop, NodePolicy, StateLimit, add_node, bounded
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
    -> answer``

    Args:
        record: Where nodes and gates note what they do.
        pause: Seconds; a node works for one to four times as long.
        slow: The node that does not come to its end.
        asynchronous: Whether the nodes are.
        longer: Whether a further node comes after the answer.
        **options: As for LangGraph's ``compile``.
    """
    made = StateGraph(State)
    node = _nodes(record, pause, asynchronous, slow)
    for name in ("plan", "step", "judge", "split", "left", "right", "join", "shard", "gather", "answer"):
        made.add_node(name, node(name))
    made.add_edge(START, "plan")
    made.add_edge("plan", "step")
    made.add_conditional_edges("step", lambda _: "step", ["step", "judge"])
    made.add_conditional_edges("judge", lambda _: "plan", ["plan", "split"])
    made.add_edge("split", "left")
    made.add_edge("split", "right")
    made.add_edge(["left", "right"], "join")
    made.add_conditional_edges("join", lambda _: [Send("shard", {"shard": i}) for i in range(SHARDS)], ["shard"])
    made.add_edge("shard", "gather")
    made.add_conditional_edges("gather", lambda _: "split", ["split", "answer"])
    if longer:
        made.add_node("thanks", node("thanks"))
        made.add_edge("answer", "thanks")
    made.add_edge("thanks" if longer else "answer", END)
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
    made = StateGraph(State)

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
    add_node(made, "work", work, policy)
    node = _nodes(record, 0.0, False)
    made.add_node("check", node("check"))
    made.add_node("answer", node("answer"))
    made.add_edge(START, "work")
    made.add_edge("work", "check")
    made.add_conditional_edges("check", lambda _: "work", ["work", "answer"])
    made.add_edge("answer", END)
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
    made = StateGraph(State)
    ask, node = _asking(record), _nodes(record, 0.0, False)
    for name in ("left", "right", "answer"):
        made.add_node(name, ask(name))
    made.add_node("split", node("split"))
    made.add_node("check", node("check"))
    made.add_edge(START, "split")
    made.add_edge("split", "left")
    made.add_edge("split", "right")
    made.add_edge(["left", "right"], "check")
    made.add_conditional_edges("check", lambda _: "split", ["split", "answer"])
    made.add_edge("answer", END)
    loop = Loop(name="again", target="split", sources=("check",), limit=20, exhausted="answer")
    return bounded(made, [loop], budget=Budget(model_calls=CALLS, exhausted="answer"), name="spender", **options)


def spender_inside(record: Record, *, inside_bounded: bool = True, **options: Any) -> BoundedGraph:
    """A loop around a graph of three nodes that call a model, under a budget."""
    inside, made = StateGraph(State), StateGraph(State)
    ask = _asking(record)
    for name, before in (("one", START), ("two", "one"), ("three", "two")):
        inside.add_node(name, ask(name))
        inside.add_edge(before, name)
    made.add_node("inside", bounded(inside) if inside_bounded else inside.compile())
    made.add_node("answer", ask("answer"))
    made.add_edge(START, "inside")
    made.add_conditional_edges("inside", lambda _: "inside", ["inside", "answer"])
    made.add_edge("answer", END)
    loop = Loop(name="again", target="inside", sources=("inside",), limit=20, exhausted="answer")
    budget = Budget(model_calls=CALLS, exhausted="answer")
    return bounded(made, [loop], budget=budget, name="spender inside", **options)
