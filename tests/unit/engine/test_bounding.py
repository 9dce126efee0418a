"""A bounded graph is used like any compiled graph, and every limit is an outcome."""

from __future__ import annotations

import asyncio
import logging
import operator
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import create_react_agent
from langgraph.store.memory import InMemoryStore
from typing_extensions import TypedDict

from loopwright.engine.bounds import bounded
from loopwright.engine.budget.budget import Budget
from loopwright.engine.loop import Loop
from loopwright.errors import GraphError


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


def test_a_fallback_beside_a_node_of_that_name_is_refused() -> None:
    made = graph()
    made.add_node("fallback", note("fallback"))
    made.add_edge("work", "fallback")
    with pytest.raises(GraphError, match="has a node 'fallback' already"):
        bounded(made, limit=1, fallback=note("x"))


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


# It stays a bounded graph


def test_limited_to_lowers_the_step_limit_and_never_lifts_it() -> None:
    app = bounded(graph(), [loop(limit=9)])
    few = app.limited_to(4)
    assert few.invoke({"log": []})["stop_reason"]["limit"] == 4
    assert few.limited_to(1000).invoke({"log": []})["stop_reason"]["limit"] == 4
    assert app.limited_to(1000).invoke({"log": []})["stop_reason"]["loop"] == "again"


# The step limit


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
        assert again.get("stop_reason") is None


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


def test_a_single_key_that_was_asked_for_is_still_what_comes_back_at_a_step_limit() -> None:
    assert bounded(graph(), [loop(limit=9)]).invoke({"log": []}, SMALL, output_keys="log") == ["work", "check", "work"]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_step_limit_is_kept_by_the_saver_whatever_the_durability(durability: Any) -> None:
    app = bounded(graph(), [loop(limit=9)], checkpointer=InMemorySaver())
    app.invoke({"log": []}, thread(**SMALL), durability=durability)
    assert app.get_state(thread()).values == {"log": ["work", "check", "work"], "stop_reason": STOPPED}


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


def test_graphs_deep_inside_get_the_steps_that_they_need() -> None:
    middle = StateGraph(State)
    middle.add_node("deep", line(20).compile())
    middle.add_edge(START, "deep")
    outer = StateGraph(State)
    outer.add_node("middle", middle.compile())
    outer.add_edge(START, "middle")
    outer.add_conditional_edges("middle", lambda _: "middle", ["middle", END])
    assert "n19" in bounded(outer, limit=1).invoke({"log": []})["log"]


# People in the loop


def test_an_update_of_the_state_goes_on_as_in_the_plain_graph() -> None:
    plain = graph().compile(checkpointer=InMemorySaver(), interrupt_before=["check"])
    app = bounded(plain, [loop(limit=1)], checkpointer=InMemorySaver())
    for each in (plain, app):
        each.invoke({"log": []}, thread())
        each.update_state(thread(), {"log": ["edited"], "route": "done"})
        assert each.get_state(thread()).next == ("check",)
        assert each.invoke(None, thread())["log"] == ["work", "edited", "check"]


# A graph that we did not write


@pytest.mark.parametrize("given", [None, 50, 90])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_what_a_node_calls_inherits_the_step_limit_that_plain_langgraph_hands_on(mode: str, given: int | None) -> None:
    """The limit that follows from the proof is the graph's own: graphs that a node makes may take more steps."""
    seen: list[Any] = []

    def work(_state: State, config: RunnableConfig) -> dict[str, Any]:
        seen.append(config.get("recursion_limit"))
        return {"log": line(60).compile().invoke({"log": []})["log"]}

    def ended(app: Any) -> Any:
        config: Any = {"recursion_limit": given} if given else None
        try:
            result = (
                asyncio.run(app.ainvoke({"log": []}, config)) if mode == "async" else app.invoke({"log": []}, config)
            )
        except GraphRecursionError as error:
            return str(error)
        return result["log"]

    made = graph(work)
    made.branches.clear()
    assert ended(bounded(made, budget=Budget(seconds=600))) == ended(made.compile())
    assert seen[0] == seen[1]


class Editor:
    """Makes the graphs that it calls, as gpt-researcher's editor does."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def team(self) -> Any:
        return self.make()

    def work(self, _state: State) -> Any:
        return self.team().invoke({"log": []})


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: graph().compile(), True),
        (lambda: create_react_agent("openai:none", []), True),
        (lambda: bounded(graph(), limit=1), False),
        (lambda: note("nothing"), False),
    ],
)
def test_a_graph_that_a_node_makes_while_it_runs_is_named(make: Callable[[], Any], named: bool) -> None:
    said = " ".join(bounded(graph(Editor(make).work), limit=1).certificate.assumptions)
    assert ("work makes a graph while it runs (in " in said) == named, said
