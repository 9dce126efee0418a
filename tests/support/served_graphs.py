"""Three graphs of a user's, as the text of a file: a chat, a loop, and a question to a person."""

GRAPHS = """
from typing_extensions import TypedDict
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from loopwright import Loop, bounded
from loopwright.testing import ScriptedChatModel

model = ScriptedChatModel(*[lambda messages: f"I heard {len(messages)} messages, the last was {messages[-1].text}"] * 99)

def answer(state: MessagesState):
    get_stream_writer()({"thinking": state["messages"][-1].text})
    return {"messages": [model.invoke(state["messages"])]}

chat = StateGraph(MessagesState)
chat.add_node("answer", answer)
chat.add_edge(START, "answer")

class Draft(TypedDict, total=False):
    topic: str
    drafts: int

def write(state: Draft):
    if state["topic"] == "fire":
        raise RuntimeError("the paper burns")
    if state["topic"] == "torn":
        return [Command(update={"topic": each}) for each in "ab"]
    return {"drafts": state.get("drafts", 0) + 1}

writing = StateGraph(Draft)
writing.add_node("write", write)
writing.add_edge(START, "write")
writing.add_conditional_edges("write", lambda state: "write", ["write", END])
drafts = bounded(writing, [Loop(name="better", target="write", sources=("write",), limit=2)])

def ask(state: Draft):
    return {"topic": interrupt({"question": "really?"})}

asking = StateGraph(Draft)
asking.add_node("ask", ask)
asking.add_edge(START, "ask")
"""
