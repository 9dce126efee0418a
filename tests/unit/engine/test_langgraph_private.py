"""What the engine takes from LangGraph that LangGraph does not promise: each test fails if that changes."""

from __future__ import annotations

from typing import Any

import pytest
import shapes
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.runnables import RunnableConfig
from langgraph.channels import LastValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import RunControl
from langgraph.types import Command, Send, interrupt
from shapes import HERE, State

from loopwright.engine import langgraph_private as private


def graph(node: Any, schema: Any = State) -> StateGraph[Any]:
    return shapes.graph("START-node", schema=schema, node=node)


def endless() -> Any:
    made = graph(lambda _s: {"log": ["node"]})
    made.add_edge("node", "node")
    return made.compile()


def test_a_saver_that_is_lent_keeps_the_run_of_a_graph_without_one() -> None:
    app, saver = graph(lambda _s: {"log": ["done"]}).compile(), InMemorySaver()
    app.invoke({"log": []}, {"configurable": {"thread_id": "t", private.LENT_SAVER: saver}})
    saved = saver.get_tuple(HERE)
    assert saved is not None and saved.checkpoint["channel_values"]["log"] == ["done"]


def test_langgraph_lends_its_saver_under_the_same_key() -> None:
    seen, saver = list[Any](), InMemorySaver()
    made = graph(lambda _s, config: seen.append(config["configurable"].get(private.LENT_SAVER)))
    made.compile(checkpointer=saver).invoke({"log": []}, HERE)
    assert seen == [saver]


def test_a_graph_inside_a_task_goes_on_where_it_is_said_to_resume() -> None:
    """With a new input that it would begin with otherwise."""
    ran: list[str] = []
    made = shapes.graph(
        "START-first first-second",
        first=lambda _s: ran.append("first") or {"log": ["first"]},
        second=lambda _s: ran.append("second") or {"log": ["second"]},
    )
    app = made.compile(checkpointer=InMemorySaver(), interrupt_before=["second"])
    app.invoke({"log": []}, HERE)
    final = app.invoke({"log": ["anew"]}, {"configurable": {"thread_id": "t", private.RESUMING: True}})
    assert (ran, final["log"]) == (["first", "second"], ["first", "second"])


@pytest.mark.parametrize("update", [{"log": ["a"]}, [("log", ["a"])], None])
def test_the_update_of_a_command_is_read_as_langgraph_reads_it(update: Any) -> None:
    assert [*private.updates_of(Command(update=update))] == ([("log", ["a"])] if update else [])


def test_a_task_has_an_id_and_hears_who_asks_for_an_end() -> None:
    seen: list[RunnableConfig] = []
    control = RunControl()
    graph(lambda _s, config: seen.append(config)).compile().invoke({"log": []}, control=control)
    assert seen[0].get("configurable", {}).get(private.TASK)
    assert private.control_around(seen[0]) is control


def test_graphs_that_a_task_calls_are_counted_and_one_that_is_settled_is_not() -> None:
    spaces: list[str] = []
    tell: Any = lambda _s, config: spaces.append(config["configurable"]["checkpoint_ns"].rpartition("|")[0])  # noqa: E731
    inner = graph(tell).compile()

    def call(_state: State, config: RunnableConfig) -> None:
        inner.invoke({"log": []}, config)  # the first
        settled = private.with_own_namespace(config)  # the second
        inner.invoke({"log": []}, settled)
        inner.invoke({"log": []}, settled)  # the second again

    graph(call).compile(checkpointer=InMemorySaver()).invoke({"log": []}, HERE)
    first, second, again = spaces
    assert first != second == again
    assert second == f"{first}|1"


def test_outside_of_a_task_there_is_nothing_to_settle() -> None:
    assert private.with_own_namespace(HERE) == HERE


def test_an_error_handler_runs_in_a_namespace_of_its_own() -> None:
    spaces: list[str] = []

    def handle(_state: State, config: RunnableConfig) -> Command[Any]:
        spaces.append(config.get("configurable", {})["checkpoint_ns"])
        return Command(goto=END)

    fails = {"action": lambda _s: 1 / 0, "error_handler": handle}
    shapes.graph("START-node", node=fails).compile().invoke({"log": []})
    assert [part.startswith(private.ERROR_HANDLER) for part in spaces[0].split("|")] == [False, True]


def test_a_jump_is_repeated_for_an_update_in_the_name_of_who_jumped() -> None:
    said = Command(goto=["ask", Send("ask", {"log": ["sent"]})], update={"log": ["node"]})
    made = graph(lambda _s, config: private.obey(said, config))
    made.add_node("ask", lambda state: {"log": [interrupt("well?"), *state["log"][:1]]})
    for bare, ahead in ((False, ()), (True, ("ask", "ask"))):
        app = made.compile(checkpointer=InMemorySaver())
        if bare:
            private.run_bare(app, "node")
        app.invoke({"log": []}, HERE)
        assert sorted(app.get_state(HERE).next) == ["ask", "ask"]
        app.update_state(HERE, {"log": ["updated"]})
        assert (app.get_state(HERE).values["log"], app.get_state(HERE).next) == (["node", "updated"], ahead)


def test_an_update_in_a_nodes_name_may_say_where_to_go_and_what_only_the_compiled_graph_keeps() -> None:
    app = graph(lambda _s: {}).compile(checkpointer=(saver := InMemorySaver()))
    app.channels["hidden"] = LastValue(str, "hidden")
    private.obey_updates(app, "node", private.obey)
    app.update_state(HERE, Command(update={"hidden": "kept"}, goto=["node"]), as_node="node")
    saved = saver.get_tuple(HERE)
    assert saved is not None and saved.checkpoint["channel_values"]["hidden"] == "kept"
    assert (app.get_state(HERE).values, app.get_state(HERE).next) == ({"log": []}, ("node",))


async def test_a_bare_node_writes_by_itself_in_no_run_of_its_own() -> None:
    seen: list[str] = []

    class Listening(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, **about: Any) -> None:
            seen.append((about.get("metadata") or {}).get("langgraph_node", ""))

    def node(_state: State, config: RunnableConfig) -> Command[Any]:
        said = Command(goto=["end", END], update={"log": [str(config["metadata"]["langgraph_step"])]})
        return private.obey(said, config)

    made = graph(node)
    made.add_node("end", lambda _s: {"log": ["end"]})
    app = made.compile()
    private.run_bare(app, "node")
    private.write_with(app, START, lambda *_: {"log": ["begun"]})
    assert app.invoke({"log": []}, {"callbacks": [Listening()]})["log"] == ["begun", "1", "end"]
    assert (await app.ainvoke({"log": []}))["log"] == ["begun", "1", "end"]
    assert {*seen} == {"", "end"}


def test_what_a_node_returns_is_changed_and_an_update_in_its_name() -> None:
    app = graph(lambda _s: ["node"]).compile(checkpointer=InMemorySaver())
    private.change_result(app, "node", lambda result: {"log": result})
    app.invoke({"log": []}, HERE)
    app.update_state(HERE, ["updated"], as_node="node")
    assert app.get_state(HERE).values["log"] == ["node", "updated"]


def test_the_step_limit_of_a_graph_inside_a_node_is_told_apart() -> None:
    with pytest.raises(GraphRecursionError) as own:
        endless().invoke({"log": []}, {"recursion_limit": 3})
    with pytest.raises(GraphRecursionError) as inner:
        graph(lambda state: endless().invoke(state, {"recursion_limit": 3})).compile().invoke({"log": []})
    assert private.is_of_this_graph(own.value)
    assert not private.is_of_this_graph(inner.value)


def test_a_node_its_router_and_the_entry_can_write_beside_what_they_return() -> None:
    def node(_state: Any, config: RunnableConfig) -> State:
        private.write_beside(config, {"log": ["by the node"]})
        return {}

    def route(_state: Any, config: RunnableConfig) -> str:
        private.write_beside(config, {"log": ["by the router"]})
        return END

    made = graph(node)
    made.add_conditional_edges("node", route, [END])
    app = made.compile(checkpointer=InMemorySaver())
    private.write_with(app, START, lambda config, _: {"log": [f"at the entry of {private.read(config, ['log'])}"]})
    private.write_with(app, "node", lambda *_: {"log": ["behind the node"]})
    written = ["given", "at the entry of {'log': []}", "by the node", "behind the node", "by the router"]
    assert app.invoke({"log": ["given"]}, HERE)["log"] == written
    app.update_state(HERE, {"log": ["updated"]}, as_node="node")  # what a node notes, an update in its name notes too
    assert app.get_state(HERE).values["log"] == [*written, "updated", "behind the node", "by the router"]
