"""Fallbacks answer from what is there, name the bound that was reached, and leave a history that providers accept."""

from dataclasses import dataclass
from dataclasses import field as make_field
from typing import Annotated, Any

import agent
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.graph import MessagesState
from langgraph.graph.message import add_messages
from pydantic import BaseModel, Field
from shapes import graph

from loopwright import bounded, fallbacks
from loopwright.errors import GraphError
from loopwright.models import with_fallback
from loopwright.testing import ScriptedChatModel


def call(number: int, name: str = "search", **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args or {"query": "loops"}, "id": f"call {number}"}


def stop(**changes: Any) -> dict[str, Any]:
    return {"loop": "agent", "outcome": "exhausted", "limit": 5, "spent": 5, "reason": "", "step": 9,
            **changes}  # fmt: skip


OPEN = [
    HumanMessage("earlier"),
    AIMessage("an old answer"),
    HumanMessage("What is a loop?"),
    AIMessage("Let me look.", tool_calls=[call(1)]),
    ToolMessage("nothing", tool_call_id="call 1"),
    AIMessage("", tool_calls=[call(2), call(3, "read", page=4)]),
    ToolMessage("nothing", tool_call_id="call 2"),
]


@pytest.mark.parametrize(
    ("stop_reason", "words"),
    [
        (None, ""),
        (stop(), "the limit of 5 passes was reached in loop 'agent'"),
        (stop(loop="recursion_limit", limit=25, spent=25), "the limit of 25 supersteps was reached"),
        (stop(outcome="stalled", spent=2), "no progress was made in loop 'agent' after 2 passes"),
        (stop(outcome="over_budget", resource="tokens", limit=1000.0, spent=1200.0),
         "the budget of 1,000 tokens was spent (1,200 used)"),
        (stop(outcome="over_budget", resource="money", limit=3.0, spent=0.0, why="no price is known for it"),
         "the budget of 3 of money counts as spent: no price is known for it"),
        ([stop(loop="a", limit=2), stop(loop="b", limit=3)],
         "the limit of 2 passes was reached in loop 'a'; the limit of 3 passes was reached in loop 'b'"),
    ],
)  # fmt: skip
def test_every_bound_has_its_words(stop_reason, words):
    assert fallbacks.bound_reached(stop_reason) == words


def test_only_calls_of_the_last_ai_message_without_an_answer_are_closed():
    (closed,) = fallbacks.close_tool_calls(OPEN, stop())
    assert closed.content == "not run: the limit of 5 passes was reached in loop 'agent'"
    assert (closed.tool_call_id, closed.name, closed.status) == ("call 3", "read", "error")
    assert fallbacks.close_tool_calls([*OPEN, closed], stop()) == []
    assert fallbacks.close_tool_calls([HumanMessage("hello")]) == []


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"draft": type("Array", (list,), {"__bool__": None})([1, 2])}, "[1, 2]"),  # which is neither true nor false
        ({"draft": "D", "final": "F", "messages": OPEN}, "F"),
        ({"draft": "D", "final": "", "messages": OPEN}, "D"),
        ({"draft": AIMessage("said")}, "said"),
        ({"draft": ["one", "two"]}, '["one", "two"]'),
        ({"draft": [{(1, "a"): {2.5}}]}, '[{"1,a": [2.5]}]'),
        ({"messages": OPEN}, "Let me look."),
    ],
)
def test_best_effort_takes_the_last_that_is_not_empty_and_says_so(state, text):
    node = fallbacks.best_effort("draft", "final", to="answer")
    answer = node.invoke({**state, "stop_reason": stop()})["answer"]
    assert answer == (
        f"{text}\n\n(The best answer so far, not a finished one: the limit of 5 passes was reached in loop 'agent'.)"
    )


def test_best_effort_without_anything_says_that_there_is_no_answer():
    node = fallbacks.best_effort("draft")
    state = {"messages": [HumanMessage("old"), AIMessage("old answer"), HumanMessage("q")], "stop_reason": stop()}
    told = "There is no answer yet: the limit of 5 passes was reached in loop 'agent'."
    assert [message.text for message in node.invoke(state)["messages"]] == [told]


def test_it_says_what_was_asked_tried_not_run_and_missing():
    update = fallbacks.say_what_is_missing().invoke({"messages": OPEN, "stop_reason": stop(reason="no page fits")})
    closed, answer = update["messages"]
    assert closed.tool_call_id == "call 3"
    assert answer.text == (
        "I stopped before I had an answer: the limit of 5 passes was reached in loop 'agent'.\n"
        "Asked: What is a loop?\n"
        "Tried: search(query='loops') 2 times; 5 passes of loop 'agent'.\n"
        "Not run: read(page=4).\n"
        "Not found out: no page fits"
    )


def test_a_budget_of_the_whole_run_is_not_what_was_not_found_out():
    spent = stop(loop="run", outcome="over_budget", resource="tokens", reason="5 of 5 tokens spent")
    update = fallbacks.say_what_is_missing().invoke({"messages": OPEN, "stop_reason": spent})
    assert update["messages"][-1].text.endswith("Not found out: the answer to the question")


def test_calls_with_one_id_and_calls_that_cannot_be_read_are_told_apart_and_no_summary_is_the_question():
    again = AIMessage("", tool_calls=[{**call(1), "id": "call_0"}])
    unread = AIMessage("", invalid_tool_calls=[{"name": "read", "args": "{", "id": "i", "error": None}])
    told = HumanMessage("So far nothing.", additional_kwargs={"lc_source": "summarization"})
    history = [told, again, ToolMessage("nothing", tool_call_id="call_0"), again, unread]
    closed, answer = fallbacks.say_what_is_missing().invoke({"messages": history, "stop_reason": stop()})["messages"]
    assert (closed.tool_call_id, closed.name) == ("i", "read")
    assert answer.text.splitlines()[1:3] == [
        "Tried: search(query='loops') 2 times; 5 passes of loop 'agent'.", "Not run: read('{')."
    ]  # fmt: skip


def test_a_state_without_messages_needs_a_key_for_the_answer():
    with pytest.raises(GraphError, match=r"the state has no 'messages'.*to='answer'"):
        fallbacks.say_what_is_missing().invoke({"stop_reason": stop()})
    with pytest.raises(GraphError, match=r"gave 'No\.', and the state has no 'messages': give an update"):
        bounded(graph("START-a a?a"), limit=0, fallback=lambda _: "No.").invoke({})


@pytest.mark.parametrize(
    ("keys", "to", "unknown"), [(["drft"], "text", "drft"), (["plan"], "txt", "txt"), (["plan"], None, "messages")]
)
def test_an_unknown_state_key_is_an_error_before_anything_runs(keys, to, unknown):
    made = graph("START-work work?work work?END")
    with pytest.raises(GraphError, match=f"node 'fallback' names an unknown state key '{unknown}'.*Known: .*text"):
        bounded(made, limit=2, fallback=fallbacks.best_effort(*keys, to=to))


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_the_model_is_asked_once_without_tools_and_with_every_call_closed(asynchronous):
    model = ScriptedChatModel("A loop goes round.")
    chosen = with_fallback(model, ScriptedChatModel()) if asynchronous else model
    bound = chosen.bind_tools([agent.search], tool_choice="any")
    node = fallbacks.answer_without_tools(bound.with_retry().with_fallbacks([bound]) if asynchronous else bound)
    state = {"messages": OPEN, "stop_reason": stop()}
    update = await node.ainvoke(state) if asynchronous else node.invoke(state)
    (asked,) = model.calls
    assert asked.kwargs == {}
    assert [message.type for message in asked.messages[-3:]] == ["tool", "tool", "human"]
    assert asked.messages[-2].tool_call_id == "call 3"
    assert asked.text == (
        "No more tools can be used: the limit of 5 passes was reached in loop 'agent'. "
        "Answer now from what is above, and say what could not be found out."
    )
    assert [(message.type, message.text) for message in update["messages"]] == [
        ("tool", "not run: the limit of 5 passes was reached in loop 'agent'"), ("ai", "A loop goes round."),
    ]  # fmt: skip


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (RuntimeError("no connection"), "RuntimeError: no connection"),
        (AIMessage("", tool_calls=[call(9)]), "ValueError: its reply has no text"),
    ],
)
async def test_a_failing_model_is_replaced_by_what_is_missing_and_said_so(reply, problem, asynchronous, caplog):
    node = fallbacks.answer_without_tools(ScriptedChatModel(reply), question="question", to="answer")
    state = {"question": "Why?", "stop_reason": stop()}
    update = await node.ainvoke(state) if asynchronous else node.invoke(state)
    assert update["answer"].splitlines() == [
        "I stopped before I had an answer: the limit of 5 passes was reached in loop 'agent'.",
        "Asked: Why?",
        "Tried: 5 passes of loop 'agent'.",
        "Not found out: the answer to the question",
        f"The model gave no last answer: {problem}",
    ]
    assert problem in caplog.text


def test_the_question_of_a_state_without_messages_is_asked():
    model = ScriptedChatModel("Because.")
    node = fallbacks.answer_without_tools(model, question="question", to="answer", instruction="Finish ({bound}).")
    assert node.invoke({"question": "Why?"}) == {"answer": "Because."}
    assert [message.text for message in model.calls[0].messages] == ["Why?", "Finish (this is the last step)."]


class Model(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = Field(default_factory=list)
    answer: str = ""


@dataclass
class Data:
    messages: Annotated[list[AnyMessage], add_messages] = make_field(default_factory=list)
    answer: str = ""


ASK = {"messages": [("user", "Well?")]}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("schema", [MessagesState, Model, Data])
async def test_every_kind_of_state_shows_the_fallback_its_stop_reason(schema, compiled):
    working = {"messages": [AIMessage("working")]}
    builder = graph("START-work work?work work?END", schema, work=lambda state: working)
    app = bounded(builder.compile() if compiled else builder, limit=2, fallback=fallbacks.best_effort())
    for final in (app.invoke(ASK), await app.ainvoke(ASK)):
        assert final["messages"][-1].text == (
            "working\n\n(The best answer so far, not a finished one: the limit of 2 passes was reached in loop 'work'.)"
        )
