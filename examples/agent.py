"""A ReAct agent whose search never finds anything: the loop that runs away today.

``loopwright check examples/agent.py`` names the cycle, and how far it runs.
``python examples/agent.py`` runs the same agent, bounded: five passes, and an answer.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from langchain_core.messages import AIMessage, ToolCall
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from loopwright import bounded
from loopwright.testing import always

searches = count(1)


@tool
def search(query: str) -> str:
    """Search the knowledge base."""
    return f"Search {next(searches)}: nothing found."


# A model that never gives up. It is scripted, so that the example needs no key; yours may be any chat model.
model = always(AIMessage("", tool_calls=[ToolCall(name="search", args={"query": "Loopwright"}, id="call")]))


def agent(state: MessagesState) -> dict[str, Any]:
    """Ask the model what to do next."""
    return {"messages": [model.bind_tools([search]).invoke(state["messages"])]}


def apologise(state: MessagesState) -> dict[str, Any]:
    """Answer from what is there when the bound is reached."""
    found = [message.text for message in state["messages"] if message.type == "tool"]
    return {"messages": [AIMessage(f"I searched {len(found)} times and found nothing, so I cannot say.")]}


builder = StateGraph(MessagesState)
builder.add_node("agent", agent)
builder.add_node("tools", ToolNode([search]))
builder.add_edge(START, "agent")
builder.add_conditional_edges("agent", tools_condition)
builder.add_edge("tools", "agent")
app = builder.compile()


def main() -> None:
    """Bound the agent and ask it something."""
    safe = bounded(app, limit=5, fallback=apologise)
    final = safe.invoke({"messages": [("user", "What is Loopwright?")]})
    stop = final["stop_reason"]
    print(f"loop {stop['loop']}: {stop['spent']}/{stop['limit']} passes, then the fallback answers:")
    print(final["messages"][-1].text)
    print(f"known before the run: at most {safe.certificate.max_supersteps} supersteps")


if __name__ == "__main__":
    main()
