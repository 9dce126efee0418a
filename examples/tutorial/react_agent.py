"""A ReAct agent: a model calls tools until it has the answer. Here the search never finds it."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, ToolCall
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from showing import show_certificate, show_parts, show_run, show_today

from loopwright import Budget, Loop, Stall, bounded, fallbacks, normalised
from loopwright.testing import ScriptedChatModel

QUESTION = {"messages": [("user", "When was Loopwright 9 released?")]}
QUERIES = ("Loopwright 9 release", "release date of Loopwright 9", "loopwright 9: release?")


def search(query: str) -> str:
    """Search the web."""
    return "No results."


def search_again(messages: list[AnyMessage]) -> AIMessage:
    """Do what a model without an answer does: search again, in words that are hardly new."""
    searches = sum(message.type == "tool" for message in messages)
    query = QUERIES[searches % len(QUERIES)]
    return AIMessage("", tool_calls=[ToolCall(name="search", args={"query": query}, id=f"call {searches}")])


model = ScriptedChatModel(search_again, repeat_last=True).bind_tools([search])  # yours may be any chat model


def agent(state: MessagesState) -> dict[str, Any]:
    """Ask the model what to do next."""
    return {"messages": [model.invoke(state["messages"])]}


def build() -> StateGraph[MessagesState]:
    """The graph as everybody writes it."""
    builder = StateGraph(MessagesState)
    builder.add_node("agent", agent)
    builder.add_node("tools", ToolNode([search]))
    builder.add_edge(START, "agent")
    builder.add_conditional_edges("agent", tools_condition)
    builder.add_edge("tools", "agent")
    return builder


app = build().compile()


def last_answer(state: dict[str, Any]) -> str:
    """What the user reads."""
    return state["messages"][-1].text


def with_a_limit() -> None:
    """Bound every cycle, and answer when a bound is reached."""
    safe = bounded(app, limit=5, fallback=fallbacks.say_what_is_missing())
    show_certificate(safe)
    show_run(safe, QUESTION, last_answer)


def last_query(state: MessagesState) -> str:
    """What was searched for last."""
    calls = [call for message in state["messages"] for call in getattr(message, "tool_calls", [])]
    return calls[-1]["args"]["query"]


look_again = Loop(
    name="look again",
    target="agent",
    sources=("tools",),
    limit=8,
    exhausted="give_up",
    reason=lambda state: f"nothing found for {last_query(state)!r}",
    stall=Stall(key=lambda state: normalised(last_query(state)), name="same query", remembers=8),
)


def with_loops() -> None:
    """Declare the loop, and what a run may spend."""
    builder = build()
    builder.add_node("give_up", fallbacks.say_what_is_missing())
    safe = bounded(builder, [look_again], budget=Budget(model_calls=12, seconds=60, exhausted="give_up"))
    show_certificate(safe)
    show_run(safe, QUESTION, last_answer)


def main() -> None:
    """Show the graph today, with a limit, and with a declared loop."""
    show_parts({"today": lambda: show_today(app, QUESTION), "limit": with_a_limit, "loops": with_loops})


if __name__ == "__main__":
    main()
