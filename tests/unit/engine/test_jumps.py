"""Jumps that nobody declared: what the proof does not know is refused while the graph runs, and what it can read is not."""

from __future__ import annotations

import importlib
import logging
import operator
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import shapes
from langchain_core.messages import AIMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send
from shapes import HERE, State

from loopwright.engine.bounds import bounded
from loopwright.engine.gate import is_engine_node
from loopwright.engine.loop import Loop
from loopwright.engine.proof.verify import verify
from loopwright.errors import UndeclaredJumpError


def test_a_jump_that_a_tool_makes_is_found_and_bounded() -> None:
    @tool
    def again(tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Go round."""
        return Command(goto="ask")

    def ask(_state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("", tool_calls=[{"name": "again", "args": {}, "id": "1"}])]}

    tools = ToolNode([again])
    for wrapped in (tools, tools.with_fallbacks([tools]), tools.with_config(tags=["x"]).with_fallbacks([tools])):
        made = shapes.graph("START-ask ask-tools", schema=MessagesState, ask=ask, tools=wrapped)
        assert not verify(made).bounded
        assert bounded(made, limit=2).invoke({"messages": []})["stop_reason"]["spent"] == 2


def secret(_state: State) -> Any:
    return __import__("langgraph.types").types.__dict__["Command"](**{"goto": "first"})


HIDDEN = {"Command": Command}


def hidden(_state: State) -> Any:
    return HIDDEN["Com" + "mand"](goto="work", update={"log": ["work"]})


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_jump_that_no_source_shows_is_refused_by_name_when_it_is_made(mode: str) -> None:
    app = bounded(shapes.graph("START-first first-second", second=secret))
    with pytest.raises(UndeclaredJumpError, match=r"node 'second' went to 'first'.*destinations=") as caught:
        app.invoke({"log": []}) if mode == "sync" else await app.ainvoke({"log": []})
    assert (caught.value.sender, caught.value.target) == ("node 'second'", "first")
    declared = shapes.graph("START-first first-second", second={"action": secret, "destinations": ("first", END)})
    assert bounded(declared, limit=1).invoke({"log": []})["log"] == ["first", "first"]  # the fix that it names works


def test_a_class_that_a_dictionary_hands_over_is_seen_too() -> None:
    assert not verify(shapes.graph("START-work", work=hidden)).bounded


def test_a_node_that_hands_on_what_it_is_given_may_go_anywhere() -> None:
    def hands_on(state: Any) -> Any:
        return state if isinstance(state, Command) else {"log": ["seen"]}

    starts = shapes.jump(Send("hand", Command(goto="end")))
    made = shapes.graph("START-start hand-END end-END", start=starts, hand=hands_on)
    assert bounded(made, limit=3).invoke({"log": []})["log"] == ["end"]


@pytest.mark.parametrize("key", ["loop_ledger", "loop_spent", "loop_visited"])
@pytest.mark.parametrize("as_command", [False, True])
def test_no_node_can_start_its_own_books_anew(key: str, as_command: bool, caplog: pytest.LogCaptureFixture) -> None:
    update = {"log": ["work"], key: {"": {}}}
    made = shapes.graph(
        "START-work work?work work?END", work=lambda _: Command(update=update) if as_command else update
    )
    with caplog.at_level(logging.WARNING):
        final = bounded(made, [Loop(name="again", target="work", sources=("work",), limit=2)]).invoke({"log": []})
    assert final["log"] == ["work"] * 3
    assert f"node 'work' wrote to {key!r}" in caplog.text


def test_streams_show_no_gate_and_results_no_key_of_ours_until_a_bound_is_reached() -> None:
    def build() -> StateGraph[Any]:
        again = {"work": lambda s: "work" if len(s["log"]) < 3 else END}
        return shapes.graph("START-work work?work work?END", routes=again)

    app, usual = bounded(build(), limit=5), build().compile()
    kept = [each.copy({"checkpointer": InMemorySaver()}) for each in (app, usual)]
    ended = [(each.invoke({"log": []}, HERE), [*each.get_state_history(HERE)][-1].tasks[0].result) for each in kept]
    assert ended[0] == ended[1]
    for mode in ("values", "updates"):
        assert [*app.stream({"log": []}, stream_mode=mode)] == [*usual.stream({"log": []}, stream_mode=mode)]
    assert "'name': 'loop." not in str([*app.stream({"log": []}, stream_mode=["tasks", "debug"])])
    assert app.get_output_jsonschema() == usual.get_output_jsonschema()
    assert app.get_input_jsonschema() == usual.get_input_jsonschema()
    assert app.get_graph().draw_mermaid() == usual.get_graph().draw_mermaid()
    assert any(is_engine_node(node) for node in app.nodes)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_state_without_keys_can_be_bounded_too(mode: str) -> None:
    made = shapes.graph("START-work", schema=Annotated[list, operator.add], work=lambda _: ["work"])
    assert bounded(made).invoke(["given"]) == ["given", "work"]
    made.add_conditional_edges("work", lambda _: "work", ["work", END])
    app = bounded(made, limit=2, checkpointer=InMemorySaver())
    final = app.invoke(["given"], HERE) if mode == "sync" else await app.ainvoke(["given"], HERE)
    assert final == ["given", "work", "work", "work"]
    assert app.get_state(HERE).values == final
    app.update_state(HERE, ["said"], as_node="work")
    assert app.get_state(HERE).values == [*final, "said"]
    assert [*app.stream(["again"], HERE, stream_mode="updates")] == [{"work": ["work"]}] * 3


@pytest.mark.parametrize("how", ["limit", "loops"])
def test_the_nodes_of_a_graph_inside_are_watched_too(how: str) -> None:
    outer = shapes.graph("START-inner", inner=shapes.graph("START-first first-second", second=secret).compile())
    app = bounded(outer, limit=1) if how == "limit" else bounded(outer)
    with pytest.raises(UndeclaredJumpError, match=r"node 'second' went to 'first'"):
        app.invoke({"log": []})


MODULES = {
    "apart": "from langgraph.types import Command\ndef decide(state): return Command(goto='a', update={'log': ['b']})\n",
    "chosen": "NEXT = 'END'\n",
    "ways_out": "EXITS = {'x': '__end__'}\n",
    "inside": (
        "from langgraph.graph import START, StateGraph\nfrom langgraph.types import Command\nfrom shapes import State\n"
        "def jump(state): return Command(goto='a', graph=Command.PARENT)\n"
        "inner = StateGraph(State).add_node('j', jump).add_edge(START, 'j').compile()\n"
    ),
}
"""What a graph's own files hold besides it."""

ACROSS = {
    "a function imported in the node": ("def b(state):\n    from apart import decide\n    return decide(state)", False),
    "a module imported in the node": ("def b(state):\n    import apart\n    return apart.decide(state)", False),
    "a graph imported in the node": (
        "def b(state):\n    from inside import inner\n    inner.invoke({'log': []})\n    return {'log': []}",
        False,
    ),
    "a graph made in the node": (
        "def out(state):\n    return Command(goto='a', **{'graph': Command.PARENT})\n"
        "def make():\n    return StateGraph(State).add_node('j', out).add_edge(START, 'j').compile()\n"
        "def b(state):\n    make().invoke({'log': []})\n    return {'log': []}",
        False,
    ),
    "a ParentCommand that is raised": (
        "from langgraph.errors import ParentCommand\n"
        "def leave(to):\n    raise ParentCommand(Command(graph='b', goto=to))\n"
        "def b(state):\n    leave('a')\n    return {'log': []}",
        False,
    ),
    "a module that is not loaded": ("def b(state):\n    from later import decide\n    return decide(state)", False),
    "a package that is not there": ("def b(state):\n    import nowhere\n    return {'log': []}", True),
    "an attribute that a node sets": (
        "import chosen\ndef a(state):\n    chosen.NEXT = 'a'\n    return {'log': ['a']}\n"
        "def b(state):\n    return Command(goto=chosen.NEXT)",
        False,
    ),
    "a table that nothing changes": (
        "import ways_out\ndef b(state):\n    return Command(goto=ways_out.EXITS['x'])",
        True,
    ),
}


@pytest.mark.parametrize("case", ACROSS)
def test_what_lies_in_other_files_counts_too(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, bounded_so = ACROSS[case]
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "later.py").write_text(MODULES["apart"])
    for name, text in MODULES.items():
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        importlib.import_module(name)
    (tmp_path / "made.py").write_text(f"from langgraph.types import Command\ndef a(state): return {{}}\n{source}\n")
    monkeypatch.delitem(sys.modules, "made", raising=False)
    nodes = vars(importlib.import_module("made"))
    assert verify(shapes.graph("START-a a-b", a=nodes["a"], b=nodes["b"])).bounded is bounded_so
