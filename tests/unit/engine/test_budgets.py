"""Budgets of runs and loops: model calls, tokens, money and seconds, nested too; and an allowance that somebody handed in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import shapes
from langchain_core.messages import AIMessage
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, StateGraph
from langgraph.types import CachePolicy, Command, Send, interrupt
from shapes import HERE, State

from loopwright import GiveUp, NodePolicy
from loopwright.checkpoints import aopen_checkpointer
from loopwright.engine import Backoff, BoundedGraph, Budget, Loop, Usage, arun, bounded, clock, record_usage, run
from loopwright.engine.budget.budget import Overspent
from loopwright.engine.budget.meter import allowance
from loopwright.engine.events.schema import BudgetSpent
from loopwright.engine.execution import _ENDING
from loopwright.errors import GraphError
from loopwright.testing import ManualClock, ScriptedChatModel

EDGES = "START-think think-check check?think check?END"
TOKENS = {"input_tokens": 60, "output_tokens": 40, "total_tokens": 100}


class Calls:
    """Nodes that call a model, and how often it was called."""

    def __init__(self, usage: Any = TOKENS) -> None:
        self.model = ScriptedChatModel(AIMessage("hm", usage_metadata=usage), repeat_last=True)

    @property
    def made(self) -> int:
        return len(self.model.calls)

    def node(self, name: str) -> Callable[[State], State]:
        def work(_state: State) -> State:
            self.model.invoke("think")
            return {"log": [name]}

        return work


@pytest.fixture
def calls() -> Calls:
    return Calls()


def looped(calls: Calls) -> StateGraph[Any]:
    """``think -> check -> think ...``, and an ``answer`` that calls the model too."""
    return shapes.graph(f"{EDGES} answer-END", think=calls.node("think"), answer=calls.node("answer"))


def endless(**fields: Any) -> Loop:
    return Loop(**{"name": "again", "target": "think", "sources": ("check",), "limit": 50, **fields})


def ran(app: BoundedGraph) -> Any:
    return app.invoke({"log": []}, HERE)


savers = pytest.mark.parametrize("saver", [None, InMemorySaver], ids=["no saver", "saver"])


@savers
async def test_a_run_makes_as_many_calls_as_its_budget_and_the_last_is_the_fallbacks(saver: Any) -> None:
    for asynchronous in (False, True):
        calls = Calls()
        budget = Budget(model_calls=5, exhausted="answer")
        app = bounded(looped(calls), [endless()], budget=budget, checkpointer=saver and saver())
        start: Any = {"log": []}
        result = await arun(app, start, thread_id="t") if asynchronous else run(app, start, thread_id="t")
        assert calls.made == 5
        assert result.state["log"] == ["think", "check"] * 4 + ["answer"]
        stop = result.state["stop_reason"]
        assert (stop["loop"], stop["outcome"], stop["resource"]) == ("run", "over_budget", "model_calls")
        assert (stop["limit"], stop["spent"]) == (5, 4)
        [event] = [event for event in result.events if isinstance(event, BudgetSpent)]
        assert (event.resource, event.goto) == ("model_calls", "answer")


def test_tokens_and_money_are_counted_by_what_the_provider_reports() -> None:
    for budget in (Budget(tokens=450), Budget(money=4.5, price=lambda _model, usage: usage.total_tokens / 100)):
        calls = Calls()
        final = ran(bounded(looped(calls), [endless(exhausted="answer")], budget=budget))
        assert calls.made == 5  # the fifth goes over, the sixth is not sent
        assert final["stop_reason"]["resource"] in ("tokens", "money")


def test_tokens_are_estimated_where_the_provider_does_not_say() -> None:
    calls = Calls(usage=None)
    final = ran(bounded(looped(calls), [endless(exhausted="answer")], budget=Budget(tokens=30)))
    assert 0 < calls.made < 50
    assert final["stop_reason"]["resource"] == "tokens"


def test_a_model_without_a_price_ends_a_run_with_a_money_budget_and_is_named(calls: Calls) -> None:
    budget = Budget(money=1.0, price=lambda _model, _usage: None)
    final = ran(bounded(looped(calls), [endless(exhausted="answer")], budget=budget))
    assert calls.made == 1
    assert "no price is known for model" in final["stop_reason"]["reason"]
    assert len(ran(bounded(looped(calls), [endless(exhausted="answer", budget=budget)]))["log"]) == 5


@pytest.mark.parametrize(
    ("budget", "resource"), [(Budget(model_calls=5, tokens=450), "tokens"), (Budget(model_calls=4), "model_calls")]
)
def test_calls_that_langchain_does_not_see_can_be_recorded(budget: Budget, resource: str) -> None:
    def own_client(_state: State) -> State:
        record_usage(Usage(input_tokens=60, output_tokens=40), model="mine")  # a provider may give no total
        return {"log": ["own"]}

    graph = shapes.graph("START-own own?own own?END", own=own_client)
    final = ran(bounded(graph, [Loop(name="l", target="own", sources=("own",), limit=99)], budget=budget))
    assert (final["log"], final["stop_reason"]["resource"]) == (["own"] * 5, resource)  # all used is not beyond
    record_usage(Usage(calls=1))  # outside of a run it does nothing


def test_nothing_goes_round_any_more_behind_the_fallback(calls: Calls) -> None:
    graph = looped(calls)
    graph.add_edge("answer", "check")
    final = ran(bounded(graph, [endless(exhausted=END)], budget=Budget(model_calls=3, exhausted="answer")))
    assert final["log"] == ["think", "check", "think", "check", "answer", "check"]
    assert final["stop_reason"]["loop"] == "run"


def test_a_loops_budget_counts_from_its_first_request(calls: Calls) -> None:
    final = ran(bounded(looped(calls), [endless(budget=Budget(tokens=300), exhausted="answer")]))
    # One visit before the first request, then three passes of 100 tokens; the next request is refused.
    assert final["log"] == ["think", "check"] * 4 + ["answer"]
    stop = final["stop_reason"]
    assert (stop["loop"], stop["outcome"], stop["resource"], stop["spent"]) == ("again", "over_budget", "tokens", 300)


@savers
@pytest.mark.parametrize("called", [False, True], ids=["as a node", "called inside a node"])
async def test_a_run_counts_what_graphs_inside_it_spend(saver: Any, called: bool) -> None:
    for asynchronous in (False, True):
        calls = Calls()
        child = bounded(shapes.graph(EDGES, think=calls.node("think")), [endless()])

        def inside(state: State, child: Any = child) -> Any:
            return child.invoke(state)

        async def ainside(state: State, child: Any = child) -> Any:
            return await child.ainvoke(state)

        parent = shapes.graph(
            "START-child child-answer",
            child=(ainside if asynchronous else inside) if called else child,
            answer=calls.node("answer"),
        )
        app = bounded(parent, budget=Budget(model_calls=4, exhausted="answer"), checkpointer=saver and saver())
        final = await app.ainvoke({"log": []}, HERE) if asynchronous else app.invoke({"log": []}, HERE)
        assert calls.made == 4
        assert final["log"] == ["answer"]


def test_a_refusal_that_the_last_node_swallows_leads_to_the_fallback_all_the_same(calls: Calls) -> None:
    def swallows(_state: State) -> State:
        for _ in range(5):
            try:
                calls.model.invoke("think")
            except Exception:
                return {"log": ["swallowed"]}
        return {"log": ["all"]}

    graph = shapes.graph("START-swallows answer-END", swallows=swallows, answer=calls.node("answer"))
    final = ran(bounded(graph, budget=Budget(model_calls=3, exhausted="answer")))
    assert final["log"] == ["swallowed", "answer"]
    assert final["stop_reason"]["loop"] == "run"


@pytest.mark.parametrize("wrapped", [ConnectionError("my own"), None], ids=["in its own error", "in a group"])
def test_a_refusal_that_a_node_wraps_is_not_tried_again_and_no_error_of_the_node(caplog: Any, wrapped: Any) -> None:
    def wraps(state: State) -> None:
        try:
            Calls().node("wraps")(state)
        except Exception as error:
            raise wrapped or ExceptionGroup("as a TaskGroup does", [error]) from (error if wrapped else None)

    policy = NodePolicy(retries=2, give_up=GiveUp(goto="answer", update=lambda *_: {"log": ["error"]}))
    graph = shapes.graph("START-wraps wraps-answer answer-END", wraps={"action": wraps, "policy": policy})
    assert ran(bounded(graph, budget=Budget(model_calls=0, exhausted="answer")))["log"] == ["answer"]
    assert "next attempt" not in caplog.text


def test_behind_a_spent_budget_the_fallback_runs_alone_with_the_input_of_its_turn() -> None:
    inner = shapes.graph("START-add", add=lambda state: {"plan": f"{state['plan']}!"}).compile(checkpointer=True)
    nodes: Any = {"answer": lambda state: {"plan": inner.invoke({"plan": state["plan"]})["plan"]}}
    edges = "START-a START-b START-think a+b-joined b-x a-last think-last answer-END"  # two of them wait for others
    graph = shapes.graph(edges, think=Calls().node("think"), last={"defer": True}, **nodes)
    app = bounded(graph, budget=Budget(model_calls=0, exhausted="answer"), checkpointer=InMemorySaver())
    finals = [app.invoke({"plan": plan}, HERE) for plan in "12"]
    assert [(final["plan"], final["log"]) for final in finals] == [("1!", ["a", "b"]), ("2!", ["a", "b", "a", "b"])]


async def test_a_call_from_a_nodes_own_event_loop_is_noted(tmp_path: Any) -> None:
    ask: Any = {"action": lambda _s: asyncio.run(Calls().model.ainvoke("x")) and {"log": [interrupt("?")]}}
    async with aopen_checkpointer(f"sqlite:{tmp_path / 'kept.db'}") as saver:
        app = bounded(shapes.graph("START-ask", ask=ask), budget=Budget(model_calls=1), checkpointer=saver)
        await arun(app, {"log": []}, thread_id="t")
        assert "stop_reason" in (await arun(app, Command(resume=True), thread_id="t")).state


def test_an_error_that_does_not_come_of_a_refusal_is_raised(calls: Calls) -> None:
    def swallows(_state: State) -> None:
        with suppress(Exception):
            calls.model.invoke("think")

    def broken(_state: State) -> State:
        raise ValueError("a bug of mine")

    graph = shapes.graph("START-swallows START-broken", swallows=swallows, broken=broken)
    with pytest.raises(ValueError, match="a bug of mine"):
        ran(bounded(graph, budget=Budget(model_calls=0)))


def to_the_end(app: Any) -> Any:
    final = ran(app)
    while (state := app.get_state(HERE)).next:
        final = app.invoke(Command(resume=True) if state.interrupts else None, HERE)
    return final


def test_a_resumed_run_has_what_is_left_of_its_budget(calls: Calls) -> None:
    graph = looped(calls)
    graph.nodes["check"].runnable.func = lambda _s: interrupt("go on?") and {"log": ["check"]}
    app = bounded(graph, [endless()], budget=Budget(model_calls=4, exhausted="answer"), checkpointer=InMemorySaver())
    assert to_the_end(app)["log"] == ["think", "check"] * 3 + ["answer"]
    assert calls.made == 4


@pytest.mark.parametrize("inside", [False, True], ids=["by a snapshot's config", "in one place for all tasks"])
@pytest.mark.parametrize(("by", "made"), [({"model_calls": 5}, 5), ({"seconds": 0.5}, 3)])
def test_a_node_that_asks_has_what_is_left_when_it_is_answered(calls: Calls, inside: bool, by: Any, made: int) -> None:
    def ask(_state: State) -> State:
        asked = [calls.model.invoke("think") for _ in range(3)]
        clock.sleep(1)
        return {"log": [interrupt(len(asked))]}

    app: Any = bounded(shapes.graph("START-ask", ask=ask), budget=Budget(**by), checkpointer=inside or InMemorySaver())
    app = shapes.graph("START-inner", inner=app).compile(checkpointer=InMemorySaver()) if inside else app
    with ManualClock():
        ran(app)
        app.invoke(Command(resume="yes"), HERE if inside else app.get_state(HERE).config)
    assert calls.made == made


@pytest.mark.parametrize(
    ("by", "budget", "visits"),
    [("router", Budget(model_calls=3), 4), ("cached", Budget(model_calls=3), 3), ("gate", Budget(seconds=2.5), 3),
     ("own", Budget(tokens=250), 3), ("own", Budget(money=1.0, price=lambda _model, _usage: None), 1)],
)  # fmt: skip
def test_what_was_spent_before_a_pause_is_known_behind_it(by: str, budget: Budget, visits: int) -> None:
    calls, options = Calls(), {"checkpointer": InMemorySaver(), "cache": InMemoryCache()}
    cached = {"action": calls.node("think"), "cache_policy": CachePolicy(key_func=str)}
    own: Any = {"action": lambda _s: record_usage(Usage(total_tokens=100)) or {"log": ["think"]}}
    routes = {"check": lambda _s: calls.model.invoke("think") and "think"} if by == "router" else {}
    graph = shapes.graph(EDGES, routes=routes, think={"cached": cached, "own": own}.get(by, {}))
    loop = endless(backoff=Backoff(initial=1, factor=1))
    with ManualClock():
        final = to_the_end(bounded(graph, [loop], budget=budget, interrupt_before=["check", "think"], **options))
    assert final["log"].count("think") == visits


def test_what_comes_out_of_a_cache_was_spent_by_another_run(calls: Calls) -> None:
    cached = {"action": calls.node("think"), "cache_policy": CachePolicy(key_func=lambda _: "k")}
    made, saver = shapes.graph("START-think think-check", think=cached), InMemorySaver()
    options: Any = {"checkpointer": saver, "cache": InMemoryCache(), "interrupt_before": ["check"]}
    app = bounded(made, budget=Budget(tokens=900), **options)
    spent = []
    for place in ({"configurable": {"thread_id": name}} for name in "ab"):
        app.invoke({"log": []}, place)
        spent.append(saver.get_tuple(place).checkpoint["channel_values"]["loop_spent"].get("tokens", 0))
    assert (calls.made, spent) == (1, [100, 0])


def test_a_call_that_took_more_than_was_left_ends_no_run_that_asks_for_no_further_one() -> None:
    graph = shapes.graph("START-think think-ask", think=Calls().node("think"), ask=lambda _s: {"log": [interrupt("?")]})
    app = bounded(graph, budget=Budget(tokens=50), checkpointer=InMemorySaver())
    ran(app)
    assert app.invoke(Command(resume="yes"), HERE)["log"] == ["think", "yes"]


def test_what_a_run_spends_is_not_written_to_a_thread_that_it_updates() -> None:
    calls, place = Calls(), {"configurable": {"thread_id": "other"}}
    other = bounded(
        looped(calls), [endless(exhausted="answer")], budget=Budget(model_calls=2), checkpointer=InMemorySaver()
    )

    def work(_state: State) -> State:
        calls.model.invoke("one"), calls.model.invoke("two"), calls.model.invoke("three")
        other.update_state(place, {"log": ["by hand"]}, as_node="check")
        return {"log": ["work"]}

    ran(bounded(shapes.graph("START-work", work=work), budget=Budget(model_calls=9), checkpointer=InMemorySaver()))
    assert other.invoke(None, place)["log"].count("think") == 2


def test_a_fork_has_what_was_left_at_its_checkpoint(calls: Calls) -> None:
    app = bounded(
        looped(calls), [endless()], budget=Budget(model_calls=4, exhausted="answer"), checkpointer=InMemorySaver()
    )
    ran(app)
    early = next(state for state in app.get_state_history(HERE) if state.values.get("log") == ["think", "check"])
    before = calls.made
    final = app.invoke(None, app.update_state(early.config, {"log": ["changed"]}))
    assert calls.made - before == 3
    assert final["log"][-1] == "answer"
    ending = next(state for state in app.get_state_history(HERE) if _ENDING in (state.metadata or {}))
    assert app.invoke(None, ending.config)["log"] == final["log"], "its end is written anew"


async def test_a_command_that_opens_a_turn_has_the_whole_of_every_bound(calls: Calls) -> None:
    loop = endless(limit=2, counter="count", history="past", exhausted="answer")
    app = bounded(looped(calls), loop, budget=Budget(model_calls=4), checkpointer=InMemorySaver())
    turn = Command(goto="think", update={"log": ["turn"]})
    finals = [ran(app), app.invoke(turn, HERE), await app.ainvoke(turn, HERE)]
    stops = [(final["stop_reason"]["outcome"], final["count"], len(final["past"])) for final in finals]
    assert (stops, calls.made) == ([("exhausted", 2, 2)] * 3, 12)


@pytest.mark.parametrize("budget", [None, Budget(model_calls=9)])
def test_without_a_saver_graphs_inside_remember_nothing(budget: Budget | None) -> None:
    inner = shapes.graph("START-add").compile(checkpointer=True)
    node: Any = lambda _state: {"log": [len(inner.invoke({"log": []})["log"])]}  # noqa: E731
    app = bounded(shapes.graph("START-think think?think think?END", think=node), limit=2, budget=budget)
    assert app.invoke({"log": []})["log"] == [1, 1, 1]


def test_without_a_saver_graphs_inside_with_budgets_of_their_own_are_kept_apart() -> None:
    nodes: Any = {"think": Calls().node("think"), "answer": lambda state: {"log": [state["plan"]]}}
    budget = Budget(model_calls=0, exhausted="answer")
    inner = bounded(shapes.graph("START-think answer-END", **nodes), budget=budget, checkpointer=True)
    ask: Any = lambda state: {"log": inner.invoke(state)["log"]}  # noqa: E731
    routes = {"START": lambda _state: [Send("ask", {"plan": plan}) for plan in "1234"]}
    app = bounded(shapes.graph("START?ask", routes=routes, ask=ask), budget=Budget(model_calls=9))
    assert app.invoke({"log": []})["log"] == ["1", "2", "3", "4"]


def test_an_unknown_fallback_is_named() -> None:
    with pytest.raises(GraphError, match="Did you mean 'answer'"):
        bounded(looped(Calls()), [endless()], budget=Budget(tokens=1, exhausted="anwser"))


class Purse:
    """An allowance of so many calls that writes down what it is asked."""

    def __init__(self, calls: int) -> None:
        self.left, self.told = calls, []
        self._open = set()

    def reserve(self, call, model, prompt_tokens, reply_tokens):
        self.told.append((model, prompt_tokens > 0, reply_tokens))
        if self.left == 0:
            return Overspent("model_calls", 0, 0, "the purse is empty")
        self.left -= 1
        self._open.add(call)
        return None

    def settle(self, call, model, usage):
        self._open.remove(call)
        self.told.append(usage and usage.total_tokens)


@pytest.fixture
def purse():
    made = Purse(1)
    token = allowance.set(made)
    yield made
    assert not made._open
    allowance.reset(token)


def test_a_graph_without_loops_budget_and_saver_ends_with_what_it_has(purse):
    model = ScriptedChatModel("so it is", repeat_last=True)

    def ask(_state):
        return {"log": [model.bind(max_tokens=9).invoke("Why?").text]}

    state = bounded(shapes.graph("START-first first-second", first=ask, second=ask)).invoke({})
    assert (state["log"], state["stop_reason"]["reason"]) == (["so it is"], "the purse is empty")
    assert len(model.calls) == 1 and purse.told[0][2] == 9


def test_graphs_inside_ask_once_and_a_budgets_fallback_answers(purse):
    model = ScriptedChatModel("so it is", repeat_last=True)
    asking = shapes.graph("START-ask", ask=lambda _state: {"text": model.invoke("Why?").text})
    inner = bounded(asking, budget=Budget(model_calls=5))
    builder = shapes.graph("START-first first-second", first=inner, second=inner)
    excuse: Any = lambda state: {"text": f"{state['text']}: {state['stop_reason']['reason']}"}  # noqa: E731
    state = bounded(builder, budget=Budget(model_calls=9), fallback=excuse).invoke({})
    assert state["text"] == "so it is: the purse is empty"
    assert (state["stop_reason"]["loop"], state["stop_reason"]["reason"]) == ("run", "the purse is empty")
    assert purse.told == [("scripted", True, None), 4, ("scripted", True, None)]
