"""What a pass was wanted for is read from the state where nobody says it."""

from __future__ import annotations

from dataclasses import replace
from operator import itemgetter
from types import SimpleNamespace
from typing import Annotated

import pytest
import shapes
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import StateGraph
from langgraph.graph.message import add_messages
from typing_extensions import TypedDict

from loopwright import Loop, Stall, StateLimit, bounded
from loopwright.engine.events.reasons import wanted, warning
from loopwright.errors import GraphError, LoopDeclarationError
from loopwright.fallbacks import say_what_is_missing


def asks(*calls: tuple[str, dict]) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name} for name, args in calls])


@pytest.mark.parametrize(
    ("state", "changed", "reason"),
    [
        ({"messages": "text"}, (), ""),
        ({"plan": 1}, ("plan", "draft"), "plan, draft changed"),
        ({}, ("a", "b", "c", "d", "e"), "a, b, c, and 2 more keys changed"),
        ({"messages": [AIMessage("no calls")]}, ("draft",), "draft changed"),
        ({"messages": [asks(("old", {})), asks(("read", {"page": 4}))]}, ("messages",), "read(page=4)"),
        ({"messages": [asks(("read", {"page": 4})), ToolMessage("x", tool_call_id="read")]}, (), "read(page=4)"),
        ({"messages": [asks(("a", {}), ("b", {"x": [1]}))]}, (), "a(); b(x=[1])"),
        ({"messages": [asks(*[(name, {}) for name in "abcd"])]}, (), "a(); b(); c(); and 1 more call"),
        ({"messages": [asks(("login", {"user": "me", "password": "hush", "more": {"api_key": "k"}}))]}, (),
         "login(user='me', password='***', more={'api_key': '***'})"),
        (SimpleNamespace(messages=(HumanMessage("q"), asks(("a", {})))), (), "a()"),
        ({"messages": [AIMessageChunk("", tool_call_chunks=[])]}, (), ""),
    ],
)  # fmt: skip
def test_the_reason_is_the_last_calls_or_what_changed(state, changed, reason):
    assert wanted(state, changed) == reason


class State(TypedDict, total=False):
    draft: str
    notes: list[str]
    same: str
    messages: Annotated[list[AnyMessage], add_messages]


def rewriting() -> StateGraph:
    return shapes.graph(
        "START-write write?write write?END",
        schema=State,
        write=lambda state: {"draft": state.get("draft", "") + "x", "notes": [*state.get("notes", []), "n"]},
    )


def test_a_refused_pass_without_messages_says_what_changed_since_the_last_one():
    again = Loop(name="again", target="write", sources=("write",), limit=1)
    assert bounded(rewriting(), [again]).invoke({"same": "text"})["stop_reason"]["reason"] == "draft, notes changed"
    assert bounded(rewriting(), [replace(again, limit=0)]).invoke({})["stop_reason"]["reason"] == ""
    said = replace(again, reason=lambda _: "said")
    assert bounded(rewriting(), [said]).invoke({})["stop_reason"]["reason"] == "said"


def test_an_error_of_a_loops_own_callable_names_the_loop():
    wrong = itemgetter("drafd")
    made = {"reason": wrong, "stall": Stall(key=wrong), "limit": StateLimit(key=wrong, default=1, ceiling=2)}
    for field, given in made.items():
        again = Loop(name="again", target="write", sources=("write",), **{"limit": 1, field: given})
        with pytest.raises(LoopDeclarationError, match=f"its .*{field}.* failed with KeyError: 'drafd'.*: draft,"):
            bounded(rewriting(), [again]).invoke({})


def test_before_its_last_passes_a_model_is_told_how_many_are_left():
    made = shapes.graph(
        "START-model model-look look?model look?END",
        schema=State,
        model=lambda state: {"messages": [asks(("look", {"n": len(state["messages"])}))]},
        look=lambda state: {"messages": [ToolMessage("no", tool_call_id="look")]},
    )
    loop = Loop(name="agent", target="model", sources=("look",), limit=3, warn_at=1)
    plain = shapes.graph("START-write write?write write?END", schema=TypedDict("Plain", {"draft": str})).compile()
    around = shapes.graph("START-agent agent-plain", schema=State, agent=made.compile(), plain=plain)
    answered = bounded(made, limit=3, warn_at=1, fallback=say_what_is_missing()).invoke({"messages": ["go"]})
    assert "Asked: go\n" in answered["messages"][-1].text
    for app in (bounded(made, [loop]), bounded(made, limit=3, warn_at=1), bounded(around, limit=3, warn_at=1)):
        said = app.invoke({"messages": ["go"]})["messages"]
        assert [message.text for message in said if message.type == "human"] == ["go", warning(1), warning(0)]
        assert [each.type for each in said[3:11]] == ["ai", "tool", "human", "ai", "tool", "human", "ai", "tool"]


def test_a_warning_needs_messages():
    made = shapes.graph("START-write write?write write?END", schema=TypedDict("Plain", {"draft": str}))
    with pytest.raises(LoopDeclarationError, match="messages"):
        bounded(made, limit=1, warn_at=1)
    for wrong in ({"limit": 1, "warn_at": -1}, {"warn_at": 1}):
        with pytest.raises(GraphError, match=r"warn_at is -?1: give a whole number, from 0, and a limit"):
            bounded(made, **wrong)
