"""What a graph does in plain LangGraph it does when it is bounded, too: its cache, its savers, its streams, its options."""

import threading
from collections.abc import Iterator
from dataclasses import field, make_dataclass
from typing import Any, TypedDict

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy
from pydantic import Field, create_model
from shapes import HERE, State, graph, loop

from loopwright.engine import clock
from loopwright.engine.bounds import bounded
from loopwright.engine.budget.budget import Budget
from loopwright.engine.loop import StateLimit
from loopwright.errors import GraphError, UndeclaredJumpError
from loopwright.fallbacks import best_effort
from loopwright.testing.clocks import ManualClock


def rounds(times: int, **check: Any) -> Any:
    """A builder that goes round some times and ends."""
    more = {"check": lambda state: "work" if len(state["log"]) <= times else END}
    return graph("START-work work-check check?work check?END", State, more, check={"action": lambda _: {}, **check})


def slow(_: Any) -> dict[str, Any]:
    clock.sleep(0.15)
    return {"log": ["work"]}


@pytest.fixture(autouse=True)
def moved() -> Iterator[None]:
    with ManualClock():
        yield


def test_a_fallback_of_a_graph_inside_sees_what_the_graph_wrote() -> None:
    answer = {"answer": lambda state: {"log": [f"after {state['log']}"]}}
    inner = graph("START-work work-more answer-END", work=slow, more=slow, **answer)
    around = graph("START-inner", inner=bounded(inner, budget=Budget(seconds=0.1, exhausted="answer", reserve=0.5)))
    assert around.compile().invoke({"log": []})["log"] == ["work", "after ['work']"]


def test_what_a_budget_keeps_need_not_be_bytes() -> None:
    class Held(TypedDict, total=False):
        lock: Any
        log: list[str]

    lock = threading.Lock()
    answer = {"answer": lambda state: {"log": [str(state["lock"] is lock)]}}
    made = graph("START-work work-more answer-END", Held, work=slow, more=slow, **answer)
    for most, says in (9, ["work"]), (0.1, ["True"]):
        app = bounded(made, budget=Budget(seconds=most, exhausted="answer", reserve=0.5))
        assert app.invoke({"lock": lock})["log"] == says


@pytest.mark.parametrize("keys", [{}, {"output_keys": "answer"}])
def test_a_run_that_ends_at_its_budget_shows_what_its_schema_shows(keys: dict[str, Any]) -> None:
    class Out(TypedDict):
        answer: str

    class Whole(Out):
        secret: str
        log: list[str]

    work = {"work": lambda _: {"answer": "so far", "secret": "x", **slow(0)}}
    made = graph("START-work work-more", StateGraph(Whole, output_schema=Out), more=slow, **work)
    shown = bounded(made, budget=Budget(seconds=0.1)).invoke({"secret": "y"}, **keys)
    assert shown == "so far" if keys else shown.keys() == {"answer", "stop_reason"}


def test_equal_names_of_nodes_share_no_cache_and_no_way_past_a_gate() -> None:
    cache = InMemoryCache[Any]()

    def first(_: Any) -> dict[str, Any]:
        return {"log": ["first"]}

    def second(_: Any) -> dict[str, Any]:
        return {"log": ["second"]}

    for node in (first, second):
        made = StateGraph(State).add_node("fetch", node, cache_policy=CachePolicy())
        assert bounded(made.add_edge(START, "fetch"), cache=cache).invoke({"log": []})["log"] == [node.__name__]

    cached = rounds(2, action=RunnableLambda(lambda _: {}), cache_policy=CachePolicy(key_func=lambda _: "k"))
    with pytest.raises(Exception, match="ecursion limit"):
        cached.compile(cache=cache).invoke({"log": []}, {"recursion_limit": 9})  # a cached way goes round for ever
    assert bounded(cached, limit=2, cache=cache).invoke({"log": []})["stop_reason"]["outcome"] == "exhausted"


def test_a_bounded_graph_streams_in_a_node_as_a_plain_one_does() -> None:
    def streamed(app: Any) -> list[Any]:
        found: list[Any] = []
        graph("START-node", node=lambda _: found.extend(app.stream({"log": []}))).compile().invoke({"log": []})
        return found

    assert streamed(bounded(rounds(2), limit=3)) == streamed(rounds(2).compile())


@pytest.mark.parametrize("how", [{"version": "v2"}, {"subgraphs": True}, {"stream_mode": ("updates", "values")}])
@pytest.mark.parametrize("inside", [False, True])
def test_a_run_that_is_cut_short_ends_with_its_last_values_in_every_shape(how: dict[str, Any], inside: bool) -> None:
    found: list[Any] = []

    def cut(_: Any) -> None:
        inner = graph("START-work", work=slow).compile()
        made = graph("START-inner inner-more more-last", inner=inner, more=slow, last=slow)
        app = bounded(made, budget=Budget(seconds=9))
        for _ in range(2):  # LangGraph says of the second graph that a task calls which it is
            found[:] = app.stream({"log": []}, {"recursion_limit": 2}, **{"stream_mode": "values", **how})

    graph("START-node", node=cut).compile().invoke({"log": []}) if inside else cut({})
    first, last = ((each["ns"], each["data"]) if "version" in how else each for each in (found[0], found[-1]))
    if "stream_mode" not in how:
        assert first[0] == last[0] and len(last[0]) == (0, 2)[inside]
        last = last[1]
    assert (last["log"], last["stop_reason"]["loop"]) == (["work", "work"], "recursion_limit")


def test_who_looks_into_a_node_finds_what_it_runs() -> None:
    node = bounded(graph("START-a a-b", b=lambda _: Command(goto="a")), limit=1).nodes["b"].bound
    assert (node.func({}).goto, hasattr(node, "tools")) == ("a", False)


def test_a_thread_of_its_own_is_kept_in_a_node() -> None:
    own = {"configurable": {"thread_id": "own"}}
    app = bounded(rounds(0), limit=1, checkpointer=InMemorySaver()).with_config(own)
    around = graph("START-node", node=lambda _: {"log": app.invoke({"log": []})["log"]})
    around.compile(checkpointer=InMemorySaver()).invoke({"log": []}, HERE)
    assert app.get_state(own).values["log"] == ["work"]


def test_a_batch_and_a_chain_have_the_limit_that_was_proven() -> None:
    app = bounded(rounds(10), limit=10)
    for result in (app.batch([{"log": []}])[0], (RunnableLambda(lambda value: value) | app).invoke({"log": []})):
        assert result == app.invoke({"log": []})
        assert len(result["log"]) == 11
    assert app.invoke({"log": []}, {"recursion_limit": 25})["stop_reason"]["limit"] == 25


@pytest.mark.parametrize("given", [{"messages": [HumanMessage("q")]}, {}])
def test_neither_a_warning_nor_an_answer_replaces_the_conversation(given: dict[str, Any]) -> None:
    class Chat(TypedDict, total=False):
        messages: list[Any]

    again = {"model": lambda state: {"messages": [*state.get("messages", []), AIMessage("a")]}}
    made = graph("START-model model?model model?END", Chat, **again)
    said = bounded(made, limit=2, warn_at=1, fallback=best_effort().with_retry()).invoke(given)["messages"]
    assert [message.type for message in said] == ["human"] * len(given) + ["ai", "human", "ai", "human", "ai", "ai"]
    assert bounded(made, limit=1, fallback=lambda _: {"messages": ["all"]}).invoke(given)["messages"] == ["all"]


def test_a_node_of_the_graphs_own_that_exhausted_names_gets_its_own_keys() -> None:
    made = graph("START-w w?w w?last last-END", last=lambda state: {"log": sorted(state)})
    assert bounded(made, [loop("again", "w", "w", 0, "last")]).invoke({"text": "a"})["log"] == ["w", "log", "text"]


def test_requests_of_branches_that_a_target_waits_for_are_one_pass() -> None:
    made = graph(
        "START-collect collect?short collect?long collect?END long-longer short-collect longer-collect",
        routes={"collect": lambda s: ["short", "long"] if len(s["log"]) < 3 else END},
        collect={"defer": True}, **dict.fromkeys(("short", "long", "longer"), lambda _: {}),
    )  # fmt: skip
    assert bounded(made, limit=2).invoke({"log": []}) == made.compile().invoke({"log": []})
    assert bounded(made, limit=1).invoke({"log": []})["log"] == ["collect"] * 2


def test_what_a_compiled_graph_was_told_is_carried_over() -> None:
    class Held(State, total=False):
        client: Any

    inner = graph("START-make", Held, make=lambda _: {"client": threading.Lock(), "log": ["made"]})
    around = graph("START-inner", inner=inner.compile(checkpointer=False))
    timed = rounds(1).compile()
    timed.step_timeout = 5
    assert bounded(timed, limit=3).step_timeout == 5
    assert bounded(around, limit=3, checkpointer=InMemorySaver()).invoke({"log": []}, HERE)["log"] == ["made"]
    cut = bounded(rounds(9), limit=9, checkpointer=False).with_config(recursion_limit=3)
    assert graph("START-inner", inner=cut).compile(checkpointer=InMemorySaver()).invoke({"log": []}, HERE)["log"]


def test_a_command_for_another_graph_than_the_parent_is_a_jump_here() -> None:
    ended = bounded(graph("START-a a-b", b=lambda _: Command(goto="a", graph="elsewhere")), limit=2).invoke({"log": []})
    assert (ended["log"], ended["stop_reason"]["spent"]) == (["a"] * 3, 2)


@pytest.mark.parametrize(
    "how", [{"retry_policy": RetryPolicy(initial_interval=0)}, {"error_handler": lambda _: {"log": ["sorry"]}}]
)
async def test_a_refused_jump_is_neither_tried_again_nor_forgiven(how: dict[str, Any]) -> None:
    tried: list[str] = []
    targets = ["b", "c"]

    def jumps(_: Any) -> Command[Any]:
        tried.append("n")
        return Command(goto="".join(targets[1:]))

    jumps.__annotations__["return"] = Command[Any]
    app = bounded(graph("START-b START-n b-c", n={"action": jumps, "destinations": ("b",), **how}))
    with pytest.raises(UndeclaredJumpError, match="'c'"):
        app.invoke({"log": []})
    with pytest.raises(UndeclaredJumpError, match="'c'"):
        await app.ainvoke({"log": []})
    assert tried == ["n", "n"]


def test_what_changed_is_told_of_values_without_a_length() -> None:
    class Loss(TypedDict, total=False):
        loss: Any

    made = graph("START-w w?w w?END", Loss, w=lambda _: {"loss": np.array(0.5)})
    assert bounded(made, limit=1).invoke({})["stop_reason"]["spent"] == 1


def test_a_limit_is_read_from_the_input_schema() -> None:
    class In(TypedDict):
        rounds: int

    made = graph("START-w w?w w?END", StateGraph(State, input_schema=In))
    again = loop("again", "w", "w", StateLimit(key="rounds", default=2, ceiling=10))
    assert len(bounded(made, [again]).invoke({"rounds": 5})["log"]) == 6
    computed = loop("again", "w", "w", StateLimit(key=lambda state: state.rounds, default=2, ceiling=10))
    made = create_model("Kept", rounds=(int, Field(default_factory=lambda: 4)))
    for kept in (made, make_dataclass("Kept", [("rounds", int, field(default_factory=lambda: 4))], slots=True)):
        for each in (again, computed):  # until it is written, its default is in no channel
            app = bounded(graph("START-w w?w w?END", kept), [each])
            assert [app.invoke(given)["stop_reason"]["limit"] for given in ({}, {"rounds": 3})] == [4, 3]


def test_names_of_graphs_and_nodes() -> None:
    with pytest.raises(GraphError, match=r"'loop\.body' already.*rename"):
        bounded(graph("START-loop.body"))
    made = graph("START-hook.before hook.before?hook.before hook.before?END")
    app = bounded(made.compile(name="team: research"), limit=1)
    assert app.invoke({"log": []})["stop_reason"]["loop"] == "team research"
