"""Self-RAG: retrieve, write, criticise, and write again. Here the critic is never satisfied."""

from __future__ import annotations

from typing import Any, Literal

from langchain_core.messages import AnyMessage
from langgraph.graph import END, START, StateGraph
from showing import show_certificate, show_parts, show_run, show_today
from typing_extensions import TypedDict

from loopwright import Budget, Loop, Plateau, bounded, fallbacks
from loopwright.testing import ScriptedChatModel

QUESTION = {"question": "What ends a LangGraph loop?"}
PASSAGES = ("A LangGraph loop ends when its router leaves it.", "LangGraph raises an error at its recursion limit.")
ENOUGH = 0.9


class State(TypedDict, total=False):
    """What was read, written and judged."""

    question: str
    query: str
    passages: list[str]
    draft: str
    score: float
    best: str
    best_score: float
    answer: str


def words(text: str) -> set[str]:
    """The words of a text that are long enough to mean something."""
    return {word.strip(".?,").casefold() for word in text.split() if len(word) > 3}


def retrieve(state: State) -> State:
    """Find passages that share a word with the query."""
    query = words(state.get("query") or state["question"])
    return {"passages": [passage for passage in PASSAGES if query & words(passage)]}


def rewrite(state: State) -> State:
    """Ask in other words."""
    return {"query": f"{state['question']} In other words?"}


def is_relevant(state: State) -> Literal["write", "rewrite"]:
    """Write if something was found."""
    return "write" if state["passages"] else "rewrite"


def is_good(state: State) -> Literal["write", "__end__"]:
    """End with a draft that the critic likes."""
    return END if state["score"] >= ENOUGH else "write"


def next_draft(messages: list[AnyMessage]) -> str:
    """What the writer replies."""
    number = int(str(messages[-1].text).split()[-1])
    return f"Draft {number + 1}"


def score_of_draft(messages: list[AnyMessage]) -> str:
    """What the critic replies: it likes the second draft best, and none enough."""
    number = int(str(messages[-1].text).split()[-1])
    return {1: "0.4", 2: "0.7"}.get(number, "0.6")


writer = ScriptedChatModel(next_draft, repeat_last=True)  # yours may be any chat models
critic = ScriptedChatModel(score_of_draft, repeat_last=True)


def write(state: State) -> State:
    """Write a draft, or the next one."""
    return {"draft": writer.invoke(f"{state['question']} {state['passages']} Improve {state.get('draft', 0)}").text}


def criticise(state: State) -> State:
    """Score the draft, and keep the best one."""
    score = float(critic.invoke(f"From 0 to 1, how well is this supported? {state['draft']}").text)
    is_better = score > state.get("best_score", 0)
    return {"score": score, "best": state["draft"], "best_score": score} if is_better else {"score": score}


def build() -> StateGraph[State]:
    """The graph as everybody writes it."""
    builder = StateGraph(State)
    builder.add_node("retrieve", retrieve)
    builder.add_node("rewrite", rewrite)
    builder.add_node("write", write)
    builder.add_node("criticise", criticise)
    builder.add_edge(START, "retrieve")
    builder.add_conditional_edges("retrieve", is_relevant)
    builder.add_edge("rewrite", "retrieve")
    builder.add_edge("write", "criticise")
    builder.add_conditional_edges("criticise", is_good)
    return builder


app = build().compile()


def answer(state: dict[str, Any]) -> str:
    """What the user reads."""
    return state["answer"]


def with_a_limit() -> None:
    """Bound every cycle, and answer when a bound is reached."""
    safe = bounded(app, limit=5, fallback=fallbacks.best_effort("best", to="answer"))
    show_certificate(safe)
    show_run(safe, QUESTION, answer)


search = Loop(name="search", target="rewrite", sources=("retrieve",), limit=2, exhausted="nothing_found")
revise = Loop(
    name="revise",
    target="write",
    sources=("criticise",),
    limit=6,
    exhausted="best_draft",
    reason=lambda state: f"the draft scores {state['score']} of {ENOUGH}",
    stall=Plateau(key=lambda state: state["score"], epsilon=0.01, passes=2),
    budget=Budget(model_calls=10, tokens=20_000),
)


def with_loops() -> None:
    """Declare both loops, each with a fallback of its own."""
    builder = build()
    builder.add_node("best_draft", fallbacks.best_effort("best", to="answer"))
    builder.add_node("nothing_found", fallbacks.say_what_is_missing(question="question", to="answer"))
    safe = bounded(builder, [search, revise])
    show_certificate(safe)
    show_run(safe, QUESTION, answer)


def main() -> None:
    """Show the graph today, with a limit, and with declared loops."""
    show_parts({"today": lambda: show_today(app, QUESTION), "limit": with_a_limit, "loops": with_loops})


if __name__ == "__main__":
    main()
