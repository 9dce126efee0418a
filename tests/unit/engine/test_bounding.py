"""A bounded graph is used like any compiled graph, and every limit is an outcome."""

from __future__ import annotations

from typing import Any

import pytest
import shapes
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, StateGraph
from langgraph.store.memory import InMemoryStore
from numpy import int64
from shapes import HERE, note

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Loop, StateLimit
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError, UnboundedCycleError


def graph(work: Any = None) -> StateGraph[Any]:
    """``work -> check -> work ...``, for ever unless ``route`` says done."""
    made = shapes.graph("START-work work-check", work=work or note("work"))
    made.add_conditional_edges("check", lambda state: state.get("route", "again"), {"again": "work", "done": END})
    return made


def loop(**fields: Any) -> Loop:
    return Loop(**{"name": "again", "target": "work", "sources": ("check",), "limit": 2, **fields})


def test_a_fallback_that_nothing_leads_to_is_refused_or_said_to_be_unused(caplog: Any) -> None:
    for loops in (), [loop()]:
        with pytest.raises(GraphError, match="nothing leads to the fallback"):
            bounded(graph(), loops, fallback=note("x"))
    for inner, said in ((shapes.graph("START-work"), 0), (graph(), 1)):
        bounded(shapes.graph("START-inner", inner=inner.compile()), limit=1, fallback=note("x"))
        assert len(caplog.records) == said


def test_a_node_may_be_called_as_the_scope_of_a_loop() -> None:
    made = shapes.graph("START-run run-run")
    assert bounded(made, limit=2).invoke({"log": []})["log"] == ["run"] * 3
    with pytest.raises(UnboundedCycleError, match="name='run again'"):
        verify(made).require()


def test_a_limit_may_be_a_number_of_numpy() -> None:
    for limited in ({"limit": int64(2)}, {"loops": loop(limit=StateLimit(key="most", default=9, ceiling=9))}):
        assert bounded(graph(), **limited).invoke({"log": [], "most": int64(2)})["stop_reason"]["limit"] == 2


def test_saver_store_cache_name_interrupts_and_configuration_are_carried_over() -> None:
    saver, store, cache = InMemorySaver(), InMemoryStore(), InMemoryCache()
    options: Any = {"interrupt_before": ["check"], "interrupt_after": ["work"], "name": "helper"}
    compiled = graph().compile(checkpointer=saver, store=store, cache=cache, **options)
    app = bounded(compiled.with_config(tags=["mine"], metadata={"who": "me"}), [loop()])
    assert (app.checkpointer, app.store, app.cache, app.name) == (saver, store, cache, "helper")
    assert (app.interrupt_before_nodes, app.interrupt_after_nodes) == (["check"], ["work"])
    assert app.config is not None and app.config["tags"] == ["mine"]
    assert app.config["metadata"] == {"who": "me"}


def test_interrupts_before_every_node_leave_the_gates_out() -> None:
    for app in (
        bounded(graph().compile(checkpointer=InMemorySaver(), interrupt_before="*"), [loop(limit=1)]),
        bounded(graph(), [loop(limit=1)], checkpointer=InMemorySaver(), interrupt_before="*"),
    ):
        stops = []
        app.invoke({"log": []}, HERE)
        while app.get_state(HERE).next and len(stops) < 20:
            stops.append(app.get_state(HERE).next)
            app.invoke(None, HERE)
        assert [name for stop in stops for name in stop if not name.startswith("loop..")] == ["work", "check"] * 2


def test_a_limit_in_the_configuration_lowers_the_step_limit_and_never_lifts_it() -> None:
    app = bounded(graph(), [loop(limit=9)])
    assert app.with_config(recursion_limit=4).invoke({"log": []})["stop_reason"]["limit"] == 4
    assert app.with_config(recursion_limit=1000).invoke({"log": []})["stop_reason"]["loop"] == "again"


SMALL = {"recursion_limit": 4}
STOPPED = {
    "loop": "recursion_limit", "outcome": "exhausted", "limit": 4, "spent": 4, "reason": "the step limit was reached", "step": 4
}  # fmt: skip


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_smaller_step_limit_is_an_outcome(mode: str, saved: bool, version: Any) -> None:
    app = bounded(graph(), [loop(limit=9)], checkpointer=InMemorySaver() if saved else None)
    given: Any = ({"log": []}, {**HERE, **SMALL} if saved else SMALL)
    result: Any = app.invoke(*given, version=version) if mode == "sync" else await app.ainvoke(*given, version=version)
    final = result if version == "v1" else result.value
    assert final == {"log": ["work", "check", "work"], "stop_reason": STOPPED}
    if saved:
        kept = app.get_state(HERE).values
        assert kept["stop_reason"] == STOPPED and kept["log"] == final["log"]
        assert app.invoke({"log": [], "route": "done"}, HERE).get("stop_reason") is None


async def test_a_recursion_error_from_a_graph_inside_a_node_is_not_swallowed() -> None:
    endless = graph().compile()
    app = bounded(graph(lambda _: endless.invoke({"log": []}, {"recursion_limit": 3})), [loop()])
    with pytest.raises(GraphRecursionError):
        await app.ainvoke({"log": []})
    with pytest.raises(GraphRecursionError):
        app.invoke({"log": []})


def test_graphs_deep_inside_get_the_steps_that_they_need() -> None:
    line = shapes.graph("START-n0 " + " ".join(f"n{place}-n{place + 1}" for place in range(19)))
    middle = shapes.graph("START-deep", deep=line.compile())
    outer = shapes.graph("START-middle middle?middle middle?END", middle=middle.compile())
    assert "n19" in bounded(outer, limit=1).invoke({"log": []})["log"]
