"""A bounded graph is used like any compiled graph, and every limit is an outcome."""

from __future__ import annotations

import logging
import operator
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from loopwright.engine.bounded_graph import BoundedGraph
from loopwright.engine.bounding import bounded, choose_loops
from loopwright.engine.loops import Loop
from loopwright.engine.proof import verify
from loopwright.errors import GraphError, UnboundedCycleError
from loopwright.testing.chat import always


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    route: str


def note(name: str) -> Callable[[State], dict[str, Any]]:
    def node(_state: State) -> dict[str, Any]:
        return {"log": [name]}

    return node


def graph(work: Any = None) -> StateGraph[Any]:
    """``work -> check -> work ...``, for ever unless ``route`` says done."""
    made = StateGraph(State)
    made.add_node("work", work or note("work"))
    made.add_node("check", note("check"))
    made.add_edge(START, "work")
    made.add_edge("work", "check")
    made.add_conditional_edges("check", lambda state: state.get("route", "again"), {"again": "work", "done": END})
    return made


def loop(**fields: Any) -> Loop:
    return Loop(**{"name": "again", "target": "work", "sources": ("check",), "limit": 2, **fields})


def thread(name: str = "t", **more: Any) -> Any:
    return {"configurable": {"thread_id": name}, **more}


# limit without loops


@pytest.mark.parametrize("limit", [0, 1, 4])
def test_a_limit_alone_bounds_every_cycle_and_logs_the_loops_ready_to_paste(
    limit: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "loopwright.loops"):
        app = bounded(graph(), limit=limit)
    chosen = next(record.getMessage() for record in caplog.records if "Loop(" in record.getMessage())
    pasted = eval(chosen[chosen.index("Loop(") :], {"Loop": Loop})
    assert pasted == app.loops[0]
    assert app.invoke({"log": []})["log"] == ["work", "check"] * (limit + 1)


def test_a_fallback_answers_when_the_limit_is_reached() -> None:
    app = bounded(graph(), limit=1, fallback=lambda state: {"log": [f"{len(state['log'])} tries"]})
    assert app.invoke({"log": []})["log"] == ["work", "check", "work", "check", "4 tries"]


def test_the_model_calls_of_a_fallback_are_not_forgotten_by_the_certificate() -> None:
    """A node of the user's, although the engine adds it: nothing says how many calls it makes."""
    made = StateGraph(State)
    made.add_node("work", note("work"), metadata={"loopwright_max_model_calls": 1, "loopwright_max_seconds": 1})
    made.add_edge(START, "work")
    made.add_conditional_edges("work", lambda _: "work", ["work", END])
    assert bounded(made, limit=1).certificate.max_model_calls == 2
    assert bounded(made, limit=1, fallback=note("answer")).certificate.max_model_calls is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"loops": [loop()], "limit": 3}, r"either loops.*or limit"),
        ({"loops": [loop()], "fallback": note("x")}, "nothing leads to the fallback"),
        ({"fallback": note("x")}, "nothing leads to the fallback"),
    ],
)
def test_arguments_that_contradict_each_other_are_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(GraphError, match=says):
        bounded(graph(), **arguments)


def test_a_join_that_goes_back_is_one_loop_with_all_its_sources() -> None:
    made = StateGraph(State)
    for name in "abz":
        made.add_node(name, note(name))
    for edge in ((START, "a"), (START, "z"), ("a", "b"), (["b", "z"], "a")):
        made.add_edge(*edge)  # type: ignore[arg-type]
    app = bounded(made, limit=2)
    assert [(loop.target, loop.sources) for loop in app.loops] == [("a", ("b", "z"))]
    assert app.invoke({"log": []})["stop_reason"] is None  # z runs once, so the join waits for it for ever


def test_a_declared_loop_can_lead_to_the_fallback() -> None:
    app = bounded(graph(), [loop(limit=1, exhausted="fallback")], fallback=note("sorry"))
    assert app.invoke({"log": []})["log"][-1] == "sorry"


def test_a_fallback_beside_a_node_of_that_name_is_refused() -> None:
    made = graph()
    made.add_node("fallback", note("fallback"))
    made.add_edge("work", "fallback")
    with pytest.raises(GraphError, match="has a node 'fallback' already"):
        bounded(made, limit=1, fallback=note("x"))


def test_a_graph_without_cycles_needs_no_loops() -> None:
    made = StateGraph(State)
    made.add_node("work", note("work"))
    made.add_edge(START, "work")
    for app in (bounded(made), bounded(made, limit=3)):
        assert app.loops == ()
        assert app.invoke({"log": []}) == {"log": ["work"], "stop_reason": None}


def test_a_cycle_that_no_loop_covers_is_named() -> None:
    with pytest.raises(UnboundedCycleError) as caught:
        bounded(graph())
    assert caught.value.cycles == (("work", "check"),)
    assert "work -> check -> work" in str(caught.value) and "Loop(name='work'" in str(caught.value)


def test_an_exhausted_route_that_leads_back_into_the_loop_is_rejected_by_name() -> None:
    made = graph()
    made.add_node("retry", note("retry"))
    made.add_edge("retry", "check")
    with pytest.raises(UnboundedCycleError, match="exhausted route of loop 'again' leads back into it") as caught:
        bounded(made, [loop(exhausted="retry")])
    assert set(caught.value.cycles[0]) == {"check", "loop.again", "retry"}


def test_an_error_handler_that_goes_back_cannot_be_bound_and_says_so() -> None:
    made = StateGraph(State)
    made.add_node("first", note("first"))
    made.add_node("work", note("work"), error_handler=lambda _: Command(goto="first"))
    made.nodes[made.nodes["work"].error_handler_node].ends = ("first",)  # type: ignore[index]
    made.add_edge(START, "first")
    made.add_edge("first", "work")
    with pytest.raises(GraphError, match=r"error handler .* leads back to 'first'"):
        choose_loops(made, 1)
    assert not verify(made).bounded


# What a compiled graph had is carried over


def test_saver_store_cache_name_interrupts_and_configuration_are_carried_over() -> None:
    saver, store, cache = InMemorySaver(), InMemoryStore(), InMemoryCache()
    compiled = graph().compile(
        checkpointer=saver,
        store=store,
        cache=cache,
        name="helper",
        interrupt_before=["check"],
        interrupt_after=["work"],
    )
    compiled = compiled.with_config(tags=["mine"], metadata={"who": "me"})
    app = bounded(compiled, [loop()])
    assert (app.checkpointer, app.store, app.cache, app.name) == (saver, store, cache, "helper")
    assert (app.interrupt_before_nodes, app.interrupt_after_nodes) == (["check"], ["work"])
    assert app.config is not None
    assert app.config["tags"] == ["mine"]
    assert app.config["metadata"] == {"who": "me"}


def test_options_that_are_given_win() -> None:
    app = bounded(graph().compile(checkpointer=InMemorySaver(), name="old"), [loop()], checkpointer=None, name="new")
    assert (app.checkpointer, app.name) == (None, "new")


def test_interrupts_before_every_node_leave_the_gates_out() -> None:
    for app in (
        bounded(graph().compile(checkpointer=InMemorySaver(), interrupt_before="*"), [loop(limit=1)]),
        bounded(graph(), [loop(limit=1)], checkpointer=InMemorySaver(), interrupt_before="*"),
    ):
        stops = []
        app.invoke({"log": []}, thread())
        while app.get_state(thread()).next and len(stops) < 20:
            stops.append(app.get_state(thread()).next)
            app.invoke(None, thread())
        assert [name for stop in stops for name in stop if not name.startswith("loop..")] == ["work", "check"] * 2


def test_a_smaller_limit_of_the_compiled_graph_stays() -> None:
    app = bounded(graph().compile().with_config(recursion_limit=3), [loop(limit=5)])
    assert app.invoke({"log": []})["stop_reason"]["loop"] == "recursion_limit"


# It stays a bounded graph


def test_copies_stay_bounded_graphs_with_their_certificate() -> None:
    app = bounded(graph(), [loop()])
    for copy in (
        app.with_config(tags=["x"]),
        app.copy(),
        app.copy({"name": "other"}),
        app.with_config({"metadata": {}}),
    ):
        assert isinstance(copy, BoundedGraph)
        assert (copy.loops, copy.certificate) == (app.loops, app.certificate)
        assert copy.invoke({"log": []})["stop_reason"]["spent"] == 2
    assert app.copy({"name": "other"}).name == "other"


def test_limited_to_lowers_the_step_limit_and_never_lifts_it() -> None:
    app = bounded(graph(), [loop(limit=9)])
    few = app.limited_to(4)
    assert few.invoke({"log": []})["stop_reason"]["limit"] == 4
    assert few.limited_to(1000).invoke({"log": []})["stop_reason"]["limit"] == 4
    assert app.limited_to(1000).invoke({"log": []})["stop_reason"]["loop"] == "again"


# The step limit


def test_the_derived_step_limit_is_enough_and_one_less_is_not() -> None:
    app = bounded(graph(), [loop(limit=3)])
    assert app.config is not None
    enough = app.config["recursion_limit"]
    assert enough == app.certificate.max_supersteps + 1  # type: ignore[operator]
    assert app.invoke({"log": []})["stop_reason"]["loop"] == "again"
    assert app.invoke({"log": []}, {"recursion_limit": enough - 1})["stop_reason"]["loop"] == "recursion_limit"


SMALL = {"recursion_limit": 4}
STOPPED = {
    "loop": "recursion_limit", "outcome": "exhausted", "limit": 4, "spent": 4, "reason": "the step limit was reached", "step": 4
}  # fmt: skip


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_smaller_step_limit_is_an_outcome(mode: str, saved: bool, version: Any) -> None:
    app = bounded(graph(), [loop(limit=9)], checkpointer=InMemorySaver() if saved else None)
    config: Any = thread(**SMALL) if saved else SMALL
    result: Any = (
        app.invoke({"log": []}, config, version=version)
        if mode == "sync"
        else await app.ainvoke({"log": []}, config, version=version)
    )
    final = result if version == "v1" else result.value
    assert final == {"log": ["work", "check", "work"], "stop_reason": STOPPED}
    if saved:
        kept = app.get_state(thread()).values
        assert kept["stop_reason"] == STOPPED and kept["log"] == final["log"]
        again = app.invoke({"log": [], "route": "done"}, thread())
        assert again["stop_reason"] is None


MODES: list[Any] = ["values", "updates", "custom", "messages", "tasks", "debug", "checkpoints"]


def without_ids(chunks: Iterable[Any]) -> list[str]:
    """The chunks as text, without what differs between two runs of the same graph."""
    shown = []
    for chunk in chunks:
        if isinstance(chunk, dict) and "data" in chunk:
            mode, payload = chunk["type"], chunk["data"]
        else:
            mode, payload = chunk[-2] if isinstance(chunk, tuple) and len(chunk) > 1 else "", chunk
        shown.append(f"{mode} {sorted(payload) if isinstance(payload, dict) else type(payload).__name__}")
    return shown


@pytest.mark.parametrize("stream_mode", [*MODES, MODES])
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("saved", [False, True])
async def test_streams_end_at_a_smaller_step_limit_in_every_mode(stream_mode: Any, version: Any, saved: bool) -> None:
    app = bounded(graph(), [loop(limit=9)], checkpointer=InMemorySaver() if saved else None)
    options: dict[str, Any] = {"stream_mode": stream_mode, "version": version, "subgraphs": True}
    config: Any = thread(**SMALL) if saved else SMALL
    sync = [*app.stream({"log": []}, config, **options)]
    config = thread("other", **SMALL) if saved else SMALL
    chunks = [chunk async for chunk in app.astream({"log": []}, config, **options)]
    assert without_ids(chunks) == without_ids(sync)
    modes = [stream_mode] if isinstance(stream_mode, str) else stream_mode
    ends: list[Any] = []
    for chunk in sync:
        mode = chunk["type"] if version == "v2" else modes[0] if isinstance(stream_mode, str) else chunk[1]
        payload = chunk["data"] if version == "v2" else chunk[-1]
        if mode == "values" and payload.get("stop_reason"):
            ends.append(payload)
        if mode == "updates" and "recursion_limit" in payload:
            ends.append(payload["recursion_limit"])
    assert len(ends) == len({"values", "updates"} & set(modes))
    assert all(end["stop_reason"] == STOPPED for end in ends)


@pytest.mark.parametrize("stream_mode", [*MODES, MODES])
@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("subgraphs", [False, True])
async def test_every_stream_mode_runs_to_the_bound(stream_mode: Any, version: Any, subgraphs: bool) -> None:
    app = bounded(graph(), [loop(limit=1)], checkpointer=InMemorySaver())
    options: dict[str, Any] = {"stream_mode": stream_mode, "version": version, "subgraphs": subgraphs}
    sync = [*app.stream({"log": []}, thread(), **options)]
    chunks = [chunk async for chunk in app.astream({"log": []}, thread("other"), **options)]
    # Tasks of one superstep may report their ends in another order.
    assert sorted(without_ids(chunks)) == sorted(without_ids(sync))
    assert app.get_state(thread()).values["stop_reason"]["spent"] == 1
    assert app.get_state(thread("other")).values["stop_reason"]["spent"] == 1
    assert sync or stream_mode == "messages"


def test_the_books_are_kept_out_of_sight() -> None:
    app = bounded(graph(), [loop(limit=1)], checkpointer=InMemorySaver())
    *_, last = app.stream({"log": []}, thread(), stream_mode="values")
    assert set(last) == {"log", "stop_reason"} == set(app.get_state(thread()).values)


def test_a_single_key_that_was_asked_for_is_still_what_comes_back_at_a_step_limit() -> None:
    assert bounded(graph(), [loop(limit=9)]).invoke({"log": []}, SMALL, output_keys="log") == ["work", "check", "work"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_step_limit_is_kept_by_the_saver_whatever_the_durability(durability: Any) -> None:
    app = bounded(graph(), [loop(limit=9)], checkpointer=InMemorySaver())
    app.invoke({"log": []}, thread(**SMALL), durability=durability)
    assert app.get_state(thread()).values == {"log": ["work", "check", "work"], "stop_reason": STOPPED}


def test_a_thread_that_was_named_beforehand_is_found_at_a_step_limit() -> None:
    app = bounded(graph(), [loop(limit=9)], checkpointer=InMemorySaver()).with_config(thread(**SMALL))
    assert app.invoke({"log": []})["stop_reason"] == STOPPED
    assert app.get_state(thread()).values["stop_reason"] == STOPPED


def test_a_fork_that_hits_the_step_limit_keeps_its_own_progress() -> None:
    app = bounded(graph(), [loop(limit=99)], checkpointer=InMemorySaver())
    app.invoke({"log": []}, thread(recursion_limit=9))
    old = next(s for s in app.get_state_history(thread()) if s.next == ("check",) and len(s.values["log"]) == 1)
    final = app.invoke(None, {**old.config, "recursion_limit": 6})
    assert app.get_state(thread()).values == final
    assert len(final["log"]) > 1


async def test_a_recursion_error_from_a_graph_inside_a_node_is_not_swallowed() -> None:
    endless = graph().compile()

    def work(state: State) -> dict[str, Any]:
        return endless.invoke({"log": []}, {"recursion_limit": 3})  # type: ignore[return-value]

    async def awork(state: State) -> dict[str, Any]:
        return await endless.ainvoke({"log": []}, {"recursion_limit": 3})  # type: ignore[return-value]

    for node in (work, awork):
        app = bounded(graph(node), [loop()])
        with pytest.raises(GraphRecursionError):
            await app.ainvoke({"log": []})
    with pytest.raises(GraphRecursionError):
        bounded(graph(work), [loop()]).invoke({"log": []})


# Graphs inside graphs


def line(length: int) -> StateGraph[Any]:
    made = StateGraph(State)
    for place in range(length):
        made.add_node(f"n{place}", note(f"n{place}"))
        made.add_edge(f"n{place - 1}" if place else START, f"n{place}")
    return made


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_bounded_graph_is_a_node_of_another_graph(mode: str) -> None:
    outer = StateGraph(State)
    outer.add_node("inner", bounded(graph(), [loop(limit=1)]))
    outer.add_edge(START, "inner")
    outer.add_conditional_edges("inner", lambda _: "inner", ["inner", END])
    app = bounded(outer, limit=2)
    final = app.invoke({"log": []}) if mode == "sync" else await app.ainvoke({"log": []})
    assert final["stop_reason"]["loop"] == "inner"
    assert app.certificate.max_runs_by_node["inner"] == 3
    assert app.certificate.bounded


def test_the_loops_of_a_subgraph_start_anew_each_time_it_runs() -> None:
    runs: list[str] = []

    def work(_state: State) -> dict[str, Any]:
        runs.append("work")
        return {}

    outer = StateGraph(State)
    outer.add_node("inner", bounded(graph(work), [loop(limit=1)]))
    outer.add_edge(START, "inner")
    outer.add_conditional_edges("inner", lambda _: "inner", ["inner", END])
    bounded(outer, limit=2).invoke({"log": []})
    assert len(runs) == 3 * 2


def test_a_subgraph_that_comes_to_its_own_end_does_not_clear_the_stop_reason() -> None:
    made = graph()
    made.add_node("answer", bounded(line(2), limit=1))
    app = bounded(made, [loop(exhausted="answer")])
    assert app.invoke({"log": []})["stop_reason"]["loop"] == "again"


def test_graphs_deep_inside_get_the_steps_that_they_need() -> None:
    middle = StateGraph(State)
    middle.add_node("deep", line(20).compile())
    middle.add_edge(START, "deep")
    outer = StateGraph(State)
    outer.add_node("middle", middle.compile())
    outer.add_edge(START, "middle")
    outer.add_conditional_edges("middle", lambda _: "middle", ["middle", END])
    assert "n19" in bounded(outer, limit=1).invoke({"log": []})["log"]


def test_a_graph_that_a_node_calls_gets_the_steps_that_it_needs() -> None:
    called = line(20).compile()

    def work(_state: State) -> dict[str, Any]:
        return {"log": called.invoke({"log": []})["log"]}

    assert "n19" in bounded(graph(work), [loop(limit=1)]).invoke({"log": []})["log"]


def test_a_node_that_calls_its_own_graph_gets_langgraph_s_step_limit() -> None:
    holder: dict[str, Any] = {}

    class Worker:
        graph: Any = None

        def work(self, state: State) -> dict[str, Any]:
            return {"log": ["work"]}

    worker = Worker()
    made = graph(worker.work)
    worker.graph = holder["app"] = made.compile()
    app = bounded(holder["app"], [loop()])
    assert "recursion_limit" not in (app.config or {})
    assert app.invoke({"log": []})["stop_reason"]["spent"] == 2


async def test_subgraph_streams_are_marked_with_their_namespace() -> None:
    outer = StateGraph(State)
    outer.add_node("inner", bounded(graph(), [loop(limit=1)]))
    outer.add_edge(START, "inner")
    app = bounded(outer)
    spaces = [space for space, _ in app.stream({"log": []}, stream_mode="updates", subgraphs=True)]
    assert any(space and space[0].startswith("inner:") for space in spaces) and () in spaces
    tail = [space async for space, _ in app.astream({"log": []}, stream_mode="updates", subgraphs=True)]
    assert [bool(space) for space in tail] == [bool(space) for space in spaces]


# People in the loop


def test_an_update_of_the_state_goes_on_as_in_the_plain_graph() -> None:
    plain = graph().compile(checkpointer=InMemorySaver(), interrupt_before=["check"])
    app = bounded(plain, [loop(limit=1)], checkpointer=InMemorySaver())
    for each in (plain, app):
        each.invoke({"log": []}, thread())
        each.update_state(thread(), {"log": ["edited"], "route": "done"})
        assert each.get_state(thread()).next == ("check",)
        assert each.invoke(None, thread())["log"] == ["work", "edited", "check"]


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_an_update_behind_a_gate_keeps_the_granted_pass(mode: str) -> None:
    app = bounded(graph(), [loop(limit=2)], checkpointer=InMemorySaver(), interrupt_before=["work"])
    app.invoke({"log": []}, thread())
    app.invoke(None, thread())
    assert app.get_state(thread()).next == ("work",)
    if mode == "sync":
        app.update_state(thread(), {"log": ["edited"]})
    else:
        await app.aupdate_state(thread(), {"log": ["edited"]})
    assert app.get_state(thread()).next == ("work",)
    while app.get_state(thread()).next:
        final = app.invoke(None, thread())
    assert final["log"] == ["work", "check", "edited", "work", "check", "work", "check"]
    assert final["stop_reason"]["spent"] == 2


def test_an_interrupt_inside_a_loop_is_shown_and_answered() -> None:
    app = bounded(graph(lambda _: {"log": [interrupt("go on?")]}), [loop(limit=1)], checkpointer=InMemorySaver())
    assert app.invoke({"log": []}, thread())["__interrupt__"][0].value == "go on?"
    app.invoke(Command(resume="one"), thread())
    final = app.invoke(Command(resume="two"), thread())
    assert final["log"] == ["one", "check", "two", "check"]


# A graph that we did not write


@tool
def search(query: str) -> str:
    """Search."""
    return f"nothing about {query}"


@pytest.mark.parametrize("limit", [0, 1, 4])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_a_react_agent_with_three_tool_calls_at_once_gets_exactly_its_passes(limit: int, version: Any) -> None:
    model = always(
        lambda messages: AIMessage(
            "", tool_calls=[{"name": "search", "args": {"query": q}, "id": f"{len(messages)}-{q}"} for q in "abc"]
        )
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agent = create_react_agent(model, [search], version=version)
    app = bounded(agent, limit=limit)
    final = app.invoke({"messages": ["find it"]})
    assert len(model.calls) == limit + 1
    # The derived step limit leaves the agent room: it never says that it needs more steps.
    assert [type(message).__name__ for message in final["messages"]] == ["HumanMessage"] + (
        ["AIMessage"] + ["ToolMessage"] * 3
    ) * (limit + 1)
    assert final["stop_reason"]["spent"] == limit
    assert app.certificate.max_runs_by_node["agent"] == limit + 1
