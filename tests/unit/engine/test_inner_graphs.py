"""Graphs inside graphs: bounded in one line, as nodes, in closures of functions and in tools; and advice that works."""

from __future__ import annotations

import operator
import re
from collections import UserDict, namedtuple
from typing import Annotated, Any, TypedDict

import pytest
import shapes
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.graph import END, MessagesState
from langgraph.prebuilt import ToolNode
from shapes import State

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Loop
from loopwright.errors import UnboundedCycleError


def worker(name: str = "work") -> Any:
    """A graph that never ends by itself."""
    return shapes.graph(f"START-{name} {name}?{name} {name}?END").compile()


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_limit_bounds_graphs_that_are_nodes(mode: str) -> None:
    made = shapes.graph("START-one one-two", one=worker(), two=worker())
    app = bounded(made, limit=2, fallback=shapes.note("fallback"))  # nothing of its own goes round
    final = app.invoke({"log": []}) if mode == "sync" else await app.ainvoke({"log": []})
    # "one" hands its whole log on, and "two" starts from it.
    assert final["log"].count("work") <= 3 * 4
    assert final["stop_reason"]["loop"] == "work"
    assert app.certificate.bounded and app.certificate.max_node_runs is not None


def test_a_limit_bounds_graphs_that_a_function_holds() -> None:
    inner: Any = UserDict(team=namedtuple("Team", "worker")(worker()))  # as deep agents keep their subagents

    def call(_state: State) -> dict[str, Any]:
        inner.data["called"] = ["end"]
        return {"log": inner["team"].worker.invoke({"log": []})["log"]}

    made = shapes.graph("START-call call-end", call=call, end=lambda _: {"log": inner.data["called"]})
    assert bounded(made, limit=2).invoke({"log": []})["log"] == ["work"] * 3 + ["end"]
    assert type(inner["team"].worker).__name__ == "CompiledStateGraph"  # the original is as it was


def test_a_limit_bounds_graphs_that_a_functions_defaults_hold() -> None:
    held: Any = worker().with_retry()
    app = bounded(shapes.graph("START-call", call=lambda _, *, inner=held: inner.invoke({"log": []})), limit=2)
    assert app.invoke({"log": []})["log"] == ["work"] * 3
    assert "call calls 1 graph(s) inside" in "; ".join(app.certificate.assumptions)


HELD: Any = None


def test_a_warning_names_a_graph_that_no_limit_reaches(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(globals(), "HELD", worker())
    made = shapes.graph("START-call", call=lambda _state: HELD.invoke({"log": []}))
    bounded(made, limit=2)
    assert "'call' calls graph" in caplog.text
    caplog.clear()
    monkeypatch.setitem(globals(), "HELD", bounded(worker(), limit=1))
    assert bounded(made, limit=2).invoke({"log": []})["log"] == ["work"] * 2 and "calls graph" not in caplog.text


def test_a_limit_bounds_graphs_that_a_tool_holds() -> None:
    inner = worker()
    calls = iter([AIMessage("", tool_calls=[{"name": "ask_worker", "args": {}, "id": "1"}])])

    @tool
    def ask_worker() -> str:
        """Let the worker work."""
        return " ".join(inner.invoke({"log": []})["log"])

    nodes: Any = {"model": lambda _: {"messages": [next(calls)]}, "tools": ToolNode([ask_worker])}
    made = shapes.graph("START-model model-tools", MessagesState, **nodes)
    assert bounded(made, limit=2).invoke({"messages": []})["messages"][-1].content == "work work work"


def test_a_graph_that_holds_itself_is_left_alone() -> None:
    held: list[Any] = []

    def call(state: State) -> dict[str, Any]:
        return {"log": held[0].invoke({"log": ["deeper"]})["log"]} if not state["log"] else {}

    held.append(shapes.graph("START-call", call=call).compile())
    assert bounded(held[0], limit=2).invoke({"log": []})["log"] == ["deeper"]


def test_the_loops_that_an_error_advises_bound_the_graph_when_they_are_pasted() -> None:
    outer = shapes.graph("START-lead lead-worker worker-lead", worker=worker())
    with pytest.raises(UnboundedCycleError) as caught:
        bounded(outer)
    pasted = [eval(source, {"Loop": Loop}) for source in re.findall(r"Loop\(.*?limit=5[^)]*\)", str(caught.value))]
    assert {loop.target for loop in pasted} == {"lead"}
    with pytest.raises(UnboundedCycleError, match=r"worker/work.*give a limit for every cycle"):
        bounded(outer, pasted)
    app = bounded(outer, pasted, limit=2)
    assert app.certificate.bounded
    assert app.invoke({"log": []})["stop_reason"]["loop"] == "lead"


def test_a_limit_bounds_what_the_loops_leave() -> None:
    made = shapes.graph("START-a a-b b-a b-c c-b")
    app = bounded(made, [Loop(name="b", target="a", sources=("b",), limit=3)], limit=1)
    assert {loop.name: (loop.target, loop.limit) for loop in app.loops} == {"b": ("a", 3), "b 2": ("b", 1)}


def test_what_functions_count_in_one_cell_beside_a_graph_they_go_on_to_count_together() -> None:
    tries = 0
    inner = shapes.graph("START-work work-check check?work check?END", check=lambda _: {"log": ["check"]}).compile()

    def work(state: State) -> dict[str, Any]:
        nonlocal tries
        tries += 1
        return inner.invoke({**state, "log": ["end"]}) and {"log": ["work"]}

    more = {"work": lambda _: END if tries >= 3 else "work"}
    final = bounded(shapes.graph("START-work work?work work?END", routes=more, work=work), limit=20).invoke({"log": []})
    assert (tries, final["log"], "stop_reason" in final) == (3, ["work"] * 3, False)


def test_messages_of_a_clients_own_stay_among_their_like() -> None:
    state: Any = TypedDict("state", {"messages": Annotated[list[Any], operator.add]})
    said = {"role": "assistant", "content": "working"}
    inner = shapes.graph("START-work work?work work?END", state, work=lambda _: {"messages": [said]}).compile()
    assert bounded(shapes.graph("START-inner", state, inner=inner), limit=1).invoke({})["messages"] == [said, said]
    assert bounded(inner, limit=0, fallback=lambda _: said).invoke({})["messages"] == [said, said]


def test_a_graphs_method_as_a_node_is_a_graph_inside() -> None:
    made = shapes.graph("START-inner", inner=shapes.graph("START-work work-check check-work").compile().invoke)
    assert bounded(made, limit=2).invoke({"log": []})["stop_reason"]["outcome"] == "exhausted"
