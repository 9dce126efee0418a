"""What a graph does in plain LangGraph it does when it is bounded, too: its cache, its savers, its streams, its options."""

import operator
import threading
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import numpy as np
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy

from loopwright.engine import clock
from loopwright.engine.bounds import bounded
from loopwright.engine.budget.budget import Budget
from loopwright.engine.loop import Loop, StateLimit
from loopwright.errors import GraphError, UndeclaredJumpError
from loopwright.testing.clocks import ManualClock


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def chain(*nodes: tuple[str, Callable[..., Any]], schema: Any = State, **options: Any) -> Any:
    """A builder whose nodes follow one another."""
    made = StateGraph(schema, **options)
    for name, node in nodes:
        made.add_node(name, node)
    for before, after in zip((START, *(name for name, _ in nodes)), (*(name for name, _ in nodes), END), strict=True):
        made.add_edge(before, after)
    return made


def rounds(times: int) -> Any:
    """A builder that goes round some times and ends."""
    made = StateGraph(State)
    made.add_node("work", lambda _: {"log": ["work"]}).add_node("check", lambda _: {})
    made.add_edge(START, "work").add_edge("work", "check")
    made.add_conditional_edges("check", lambda state: "work" if len(state["log"]) <= times else END, ["work", END])
    return made


def slow(_: Any) -> dict[str, Any]:
    clock.sleep(0.15)
    return {"log": ["work"]}


@pytest.fixture(autouse=True)
def moved() -> Iterator[None]:
    with ManualClock():
        yield


def test_a_fallback_of_a_graph_inside_sees_what_the_graph_wrote() -> None:
    inner = chain(("work", slow), ("more", slow))
    inner.add_node("answer", lambda state: {"log": [f"after {state['log']}"]}).add_edge("answer", END)
    around = chain(("inner", bounded(inner, budget=Budget(seconds=0.1, exhausted="answer", reserve=0.5))))
    assert around.compile().invoke({"log": []})["log"] == ["work", "after ['work']"]


def test_what_a_budget_keeps_need_not_be_bytes() -> None:
    class Held(TypedDict, total=False):
        lock: Any
        log: list[str]

    lock = threading.Lock()
    made = chain(("work", slow), ("more", slow), schema=Held)
    made.add_node("answer", lambda state: {"log": [str(state["lock"] is lock)]}).add_edge("answer", END)
    for most, says in (9, ["work"]), (0.1, ["True"]):
        graph = bounded(made, budget=Budget(seconds=most, exhausted="answer", reserve=0.5))
        assert graph.invoke({"lock": lock})["log"] == says


@pytest.mark.parametrize("keys", [{}, {"output_keys": "answer"}])
def test_a_run_that_ends_at_its_budget_shows_what_its_schema_shows(keys: dict[str, Any]) -> None:
    class Out(TypedDict):
        answer: str

    class Whole(Out):
        secret: str

    made = chain(
        ("work", lambda _: {"answer": "so far", "secret": "x", **slow(0)}), ("more", slow),
        schema=type("All", (Whole,), {"__annotations__": {**Whole.__annotations__, "log": list}}), output_schema=Out,
    )  # fmt: skip
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

    def cached(**options: Any) -> Any:
        made = StateGraph(State).add_node("work", lambda _: {"log": ["x"]})
        made.add_node("check", RunnableLambda(lambda _: {}), cache_policy=CachePolicy(key_func=lambda _: "k"))
        made.add_conditional_edges("check", lambda state: "work" if len(state["log"]) < 3 else END, ["work", END])
        return made.add_edge(START, "work").add_edge("work", "check")

    plain = cached().compile(cache=cache)
    with pytest.raises(Exception, match="ecursion limit"):
        plain.invoke({"log": []}, {"recursion_limit": 9})  # a cached way goes round for ever
    assert bounded(cached(), limit=2, cache=cache).invoke({"log": []})["stop_reason"]["outcome"] == "exhausted"


def test_a_bounded_graph_streams_in_a_node_as_a_plain_one_does() -> None:
    def streamed(graph: Any) -> list[Any]:
        found: list[Any] = []
        chain(("node", lambda _: found.extend(graph.stream({"log": []})))).compile().invoke({"log": []})
        return found

    assert streamed(bounded(rounds(2), limit=3)) == streamed(rounds(2).compile())


@pytest.mark.parametrize("how", [{"version": "v2"}, {"subgraphs": True}, {"stream_mode": ("updates", "values")}])
@pytest.mark.parametrize("inside", [False, True])
def test_a_run_that_is_cut_short_ends_with_its_last_values_in_every_shape(how: dict[str, Any], inside: bool) -> None:
    found: list[Any] = []

    def cut(_: Any) -> None:
        inner = chain(("work", slow)).compile()
        graph = bounded(chain(("inner", inner), ("more", slow), ("last", slow)), budget=Budget(seconds=9))
        for _ in range(2):  # LangGraph says of the second graph that a task calls which it is
            found[:] = graph.stream({"log": []}, {"recursion_limit": 2}, **{"stream_mode": "values", **how})

    chain(("node", cut)).compile().invoke({"log": []}) if inside else cut({})
    first, last = ((each["ns"], each["data"]) if "version" in how else each for each in (found[0], found[-1]))
    if "stream_mode" not in how:
        assert first[0] == last[0] and len(last[0]) == (0, 2)[inside]
        last = last[1]
    assert (last["log"], last["stop_reason"]["loop"]) == (["work", "work"], "recursion_limit")


def test_a_thread_of_its_own_is_kept_in_a_node() -> None:
    own = {"configurable": {"thread_id": "own"}}
    graph = bounded(rounds(0), limit=1, checkpointer=InMemorySaver()).with_config(own)
    around = chain(("node", lambda _: {"log": graph.invoke({"log": []})["log"]}))
    around.compile(checkpointer=InMemorySaver()).invoke({"log": []}, {"configurable": {"thread_id": "outer"}})
    assert graph.get_state(own).values["log"] == ["work"]


def test_a_batch_and_a_chain_have_the_limit_that_was_proven() -> None:
    graph = bounded(rounds(10), limit=10)
    for result in (graph.batch([{"log": []}])[0], (RunnableLambda(lambda value: value) | graph).invoke({"log": []})):
        assert result == graph.invoke({"log": []})
        assert len(result["log"]) == 11
    assert graph.invoke({"log": []}, {"recursion_limit": 25})["stop_reason"]["limit"] == 25


@pytest.mark.parametrize("given", [{"messages": [HumanMessage("q")]}, {}])
def test_a_warning_replaces_no_conversation(given: dict[str, Any]) -> None:
    class Chat(TypedDict, total=False):
        messages: list[Any]

    made = StateGraph(Chat)
    made.add_node("model", lambda state: {"messages": [*state.get("messages", []), AIMessage("a")]})
    made.add_conditional_edges("model", lambda _: "model", ["model", END]).add_edge(START, "model")
    said = bounded(made, limit=2, warn_at=1).invoke(given)["messages"]
    assert [message.type for message in said] == ["human"] * len(given) + ["ai", "human", "ai", "human", "ai"]


def test_requests_of_branches_that_a_target_waits_for_are_one_pass() -> None:
    def made() -> Any:
        made = StateGraph(State)
        made.add_node("collect", lambda _: {"log": ["collect"]}, defer=True)
        for name in ("short", "long", "longer"):
            made.add_node(name, lambda _: {})
        made.add_conditional_edges(
            "collect", lambda s: ["short", "long"] if len(s["log"]) < 3 else END, ["short", "long", END]
        )
        made.add_edge(START, "collect").add_edge("long", "longer")
        return made.add_edge("short", "collect").add_edge("longer", "collect")

    plain = made().compile().invoke({"log": []})
    assert bounded(made(), limit=2).invoke({"log": []}) == plain
    assert bounded(made(), limit=1).invoke({"log": []})["log"] == ["collect"] * 2


def test_what_a_compiled_graph_was_told_is_carried_over() -> None:
    class Held(State, total=False):
        client: Any

    inner = chain(("make", lambda _: {"client": threading.Lock(), "log": ["made"]}), schema=Held)
    around = chain(("inner", inner.compile(checkpointer=False)))
    kept = {"configurable": {"thread_id": "t"}}
    graph = rounds(1).compile()
    graph.step_timeout = 5
    assert bounded(graph, limit=3).step_timeout == 5
    saved = bounded(around, limit=3, checkpointer=InMemorySaver())
    assert saved.invoke({"log": []}, kept)["log"] == ["made"]
    cut = bounded(rounds(9), limit=9, checkpointer=False).with_config(recursion_limit=3)
    outer = chain(("inner", cut)).compile(checkpointer=InMemorySaver())
    assert outer.invoke({"log": []}, kept)["log"]


def test_a_command_for_another_graph_than_the_parent_is_a_jump_here() -> None:
    made = StateGraph(State)
    made.add_node("a", lambda _: {"log": ["a"]}).add_node("b", lambda _: Command(goto="a", graph="elsewhere"))
    made.add_edge(START, "a").add_edge("a", "b")
    ended = bounded(made, limit=2).invoke({"log": []})
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
    made = chain(("b", lambda _: {}))
    made.add_node("n", jumps, destinations=("b",), **how).add_node("c", lambda _: {})
    made.add_edge(START, "n").add_edge("b", "c")
    graph = bounded(made)
    with pytest.raises(UndeclaredJumpError, match="'c'"):
        graph.invoke({"log": []})
    with pytest.raises(UndeclaredJumpError, match="'c'"):
        await graph.ainvoke({"log": []})
    assert tried == ["n", "n"]


def test_what_changed_is_told_of_values_without_a_length() -> None:
    class Loss(TypedDict, total=False):
        loss: Any

    made = StateGraph(Loss).add_node("w", lambda _: {"loss": np.array(0.5)})
    made.add_conditional_edges("w", lambda _: "w", ["w", END]).add_edge(START, "w")
    assert bounded(made, limit=1).invoke({})["stop_reason"]["spent"] == 1


def test_a_limit_is_read_from_the_input_schema() -> None:
    class In(TypedDict):
        rounds: int

    made = StateGraph(State, input_schema=In).add_node("w", lambda _: {"log": ["w"]})
    made.add_conditional_edges("w", lambda _: "w", ["w", END]).add_edge(START, "w")
    loop = Loop(
        name="again", target="w", sources=("w",), limit=StateLimit(key="rounds", default=2, ceiling=10), exhausted=END
    )
    assert len(bounded(made, [loop]).invoke({"rounds": 5})["log"]) == 6


def test_names_of_graphs_and_nodes() -> None:
    with pytest.raises(GraphError, match=r"'loop\.body' already.*rename"):
        bounded(chain(("loop.body", lambda _: {})))
    made = StateGraph(State).add_node("hook.before", lambda _: {"log": ["x"]}).add_edge(START, "hook.before")
    made.add_conditional_edges("hook.before", lambda _: "hook.before", ["hook.before", END])
    app = bounded(made.compile(name="team: research"), limit=1)
    assert app.invoke({"log": []})["stop_reason"]["loop"] == "team research"
