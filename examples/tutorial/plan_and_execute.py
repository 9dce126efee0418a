"""Plan and execute: plan, do it step by step, and plan anew when a step fails. Here the last step always does."""

from __future__ import annotations

import operator
from typing import Annotated, Any, Literal

from langgraph.graph import END, START, StateGraph
from showing import show_certificate, show_parts, show_run, show_today
from typing_extensions import TypedDict

from loopwright import Loop, Stall, StateLimit, bounded, fallbacks

TASK = {"task": "Book the cheapest train to Lyon."}
LAST_STEPS = ("book it by card", "book it by bank transfer")


class State(TypedDict, total=False):
    """What is planned, and what came of it."""

    task: str
    plan: list[str]
    done: int  # steps of the plan that succeeded
    failure: str | None
    log: Annotated[list[str], operator.add]
    answer: str


def planner(state: State) -> State:
    """Make a plan; after a failure, one that avoids it. It forgets what failed before that."""
    last = LAST_STEPS[1] if state.get("failure") == f"{LAST_STEPS[0]}: refused" else LAST_STEPS[0]
    return {"plan": ["find the trains", "compare the prices", last], "done": 0, "failure": None}


def execute(state: State) -> State:
    """Do the next step of the plan."""
    step = state["plan"][state["done"]]
    if step in LAST_STEPS:
        return {"failure": f"{step}: refused", "log": [f"{step}: refused"]}
    return {"done": state["done"] + 1, "log": [f"{step}: done"]}


def review(state: State) -> Literal["execute", "planner", "respond"]:
    """Decide whether to go on, to plan anew, or to answer."""
    if state["failure"]:
        return "planner"
    return "execute" if state["done"] < len(state["plan"]) else "respond"


def respond(state: State) -> State:
    """Say what came of the task; also when it was not finished."""
    return {"answer": f"Not finished: {state['failure']}" if state["failure"] else "Booked."}


builder = StateGraph(State)
builder.add_node("planner", planner)
builder.add_node("execute", execute)
builder.add_node("respond", respond)
builder.add_edge(START, "planner")
builder.add_edge("planner", "execute")
builder.add_conditional_edges("execute", review)
builder.add_edge("respond", END)
app = builder.compile()


def answer(state: dict[str, Any]) -> str:
    """What the user reads."""
    return state["answer"]


def with_a_limit() -> None:
    """Bound every cycle, and answer when a bound is reached."""
    safe = bounded(app, limit=5, fallback=fallbacks.say_what_is_missing(question="task", to="answer"))
    show_certificate(safe)
    show_run(safe, TASK, answer)


replan = Loop(
    name="replan",
    target="planner",
    sources=("execute",),
    limit=4,
    exhausted="respond",
    reason=lambda state: state["failure"],
    stall=Stall(key=lambda state: state["plan"], name="same plan", remembers=4),
)
next_step = Loop(
    name="next step",
    target="execute",
    sources=("execute",),
    limit=StateLimit(key=lambda state: len(state["plan"]) - 1, default=5, ceiling=9),
    exhausted="respond",
    scope="replan",  # every plan has its own count of steps
)


def with_loops() -> None:
    """Declare both loops, one inside the other."""
    safe = bounded(app, [replan, next_step])
    show_certificate(safe)
    show_run(safe, TASK, answer)


def main() -> None:
    """Show the graph today, with a limit, and with declared loops."""
    show_parts({"today": lambda: show_today(app, TASK), "limit": with_a_limit, "loops": with_loops})


if __name__ == "__main__":
    main()
