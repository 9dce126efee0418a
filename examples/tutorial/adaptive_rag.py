"""Adaptive RAG: route, retrieve, grade, rewrite, generate, check. Here neither grader ever says yes to its question."""

from __future__ import annotations

from typing import Any, Literal

from langgraph.graph import END, START, StateGraph
from showing import show_certificate, show_parts, show_run, show_today
from typing_extensions import TypedDict

from loopwright import Loop, Stall, bounded, fallbacks, normalised

INDEX = ("LangGraph stops a graph at its recursion limit.", "A router names the next node.")
WEB = ("Agents loop when nothing tells them to stop.",)
NOT_IN_THE_INDEX = {"question": "Why do agents loop forever?"}
IN_THE_INDEX = {"question": "Where does LangGraph stop?"}


class State(TypedDict, total=False):
    """What is asked, found and answered."""

    question: str
    query: str
    documents: list[str]
    draft: str
    answer: str


def words(text: str) -> set[str]:
    """The words of a text that are long enough to mean something."""
    return {word for word in normalised(text).split() if len(word) > 3}


def route(state: State) -> Literal["retrieve", "web_search"]:
    """Ask the web about today, and the index about all else."""
    return "web_search" if "today" in state["question"] else "retrieve"


def retrieve(state: State) -> State:
    """Find documents that share a word with the query."""
    query = words(state.get("query") or state["question"])
    return {"documents": [document for document in INDEX if query & words(document)]}


def web_search(state: State) -> State:
    """Find something on the web."""
    return {"documents": [*WEB]}


def grade_documents(state: State) -> Literal["generate", "rewrite_query"]:
    """Go on with documents that speak of the question's subject."""
    return "generate" if state["documents"] else "rewrite_query"


def rewrite_query(state: State) -> State:
    """Ask in other words, as a model does: the second rewrite is the first one with other commas."""
    question = state["question"]
    first = f"{question.rstrip('?')}, in detail"
    return {"query": first if state.get("query") != first else f"{question} In detail!"}


def generate(state: State) -> State:
    """Write a draft from the documents, with a flourish of its own."""
    return {"draft": f"{state['documents'][0]} This is beyond doubt."}


def check_answer(state: State) -> Literal["generate", "rewrite_query", "publish"]:
    """Publish what the documents support and what answers the question."""
    if state["draft"] not in " ".join(state["documents"]):
        return "generate"  # it says more than they do
    return "publish" if words(state["question"]) & words(state["draft"]) else "rewrite_query"


def publish(state: State) -> State:
    """Give the draft as the answer."""
    return {"answer": state["draft"]}


def build() -> StateGraph[State]:
    """The graph as everybody writes it."""
    builder = StateGraph(State)
    builder.add_node("retrieve", retrieve)
    builder.add_node("web_search", web_search)
    builder.add_node("rewrite_query", rewrite_query)
    builder.add_node("generate", generate)
    builder.add_node("publish", publish)
    builder.add_conditional_edges(START, route)
    builder.add_conditional_edges("retrieve", grade_documents)
    builder.add_edge("rewrite_query", "retrieve")
    builder.add_edge("web_search", "generate")
    builder.add_conditional_edges("generate", check_answer)
    builder.add_edge("publish", END)
    return builder


app = build().compile()


def today() -> None:
    """Show both ways in which the graph runs away."""
    show_today(app, NOT_IN_THE_INDEX)
    show_today(app, IN_THE_INDEX)


def answer(state: dict[str, Any]) -> str:
    """What the user reads."""
    return state["answer"]


def with_a_limit() -> None:
    """Bound every cycle, and answer when a bound is reached."""
    safe = bounded(app, limit=3, fallback=fallbacks.say_what_is_missing(question="question", to="answer"))
    show_certificate(safe)
    show_run(safe, NOT_IN_THE_INDEX, answer)
    show_run(safe, IN_THE_INDEX, answer)


search_again = Loop(
    name="search again",
    target="rewrite_query",
    sources=("retrieve",),
    limit=3,
    exhausted="web_search",  # the index does not have it: ask the web
    reason=lambda state: "no document in the index is relevant",
    stall=Stall(key=lambda state: normalised(state.get("query") or state["question"]), name="same query", remembers=3),
)
improve = Loop(
    name="improve",
    target="rewrite_query",
    sources=("generate",),
    limit=1,
    exhausted="give_up",
    reason=lambda state: "the draft does not answer the question",
)
write_again = Loop(
    name="write again",
    target="generate",
    sources=("generate",),
    limit=2,
    exhausted="give_up",
    scope="improve",  # new documents, new attempts
    reason=lambda state: "the draft says more than the documents",
)


def with_loops() -> None:
    """Declare the three loops, each with the route that a good engineer would take."""
    builder = build()
    builder.add_node("give_up", fallbacks.say_what_is_missing(question="question", to="answer"))
    safe = bounded(builder, [search_again, improve, write_again])
    show_certificate(safe)
    show_run(safe, NOT_IN_THE_INDEX, answer)


def main() -> None:
    """Show the graph today, with a limit, and with declared loops."""
    show_parts({"today": today, "limit": with_a_limit, "loops": with_loops})


if __name__ == "__main__":
    main()
