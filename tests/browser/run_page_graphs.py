"""Workflows on which the tests of the run's page look at the mechanical retry, at failures and at long runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from typing_extensions import TypedDict

from loopwright.engine import Loop, NodePolicy, add_node, bounded
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.user_graph import UserGraph

ROUNDS = 400


class Mechanical(AssistantWorkflow):
    """The assistant with the mechanical retry in the reflection's place, beside the other one."""

    name = "mechanical"
    title = "Assistant without reflection"


class Parcel(TypedDict, total=False):
    address: str
    label: str
    sent: bool


def parcel() -> UserGraph:
    """A graph whose second node fails twice and then succeeds; an address with the word nowhere fails for good."""
    failed: Counter[str] = Counter()

    def weigh(state: Parcel) -> dict[str, Any]:
        """Begin."""
        return {"label": f"to {state['address']}"}

    def send(state: Parcel) -> dict[str, Any]:
        """Send it, at the third attempt."""
        failed[state["address"]] += 1
        if failed[state["address"]] % 3 or "nowhere" in state["address"]:
            raise ConnectionError(f"nobody answers at {state['address']}")
        return {"sent": True}

    builder = StateGraph(Parcel)
    builder.add_node(weigh)
    add_node(builder, "send", send, NodePolicy(retries=2, initial_wait=0.05))
    builder.add_edge(START, "weigh")
    builder.add_edge("weigh", "send")
    builder.add_edge("send", END)
    return UserGraph("parcel", bounded(builder, []), title="Parcel", description="Sends something, with retries.")


class Permit(TypedDict, total=False):
    parcel: str
    allowed: bool
    address: dict[str, Any]


ADDRESS = {
    "type": "object",
    "properties": {
        "street": {"type": "string", "title": "Street", "minLength": 1},
        "boxes": {"type": "integer", "title": "Boxes", "minimum": 1},
        "speed": {"enum": ["slow", "fast"], "title": "Speed"},
    },
    "required": ["street", "boxes", "speed"],
}


def permit() -> UserGraph:
    """A graph that asks a person twice, by buttons and by a form, and once more where there are many boxes."""

    def ask(state: Permit) -> dict[str, Any]:
        """Ask whether it may be sent."""
        asked = {"question": f"May I **send** {state['parcel']}?", "price": 12.5, "options": ["yes", "no"]}
        return {"allowed": interrupt(asked) == "yes"}

    def locate(state: Permit) -> dict[str, Any]:
        """Ask where to."""
        return {"address": interrupt({"message": "Where does it go?", "schema": ADDRESS})}

    def ship(state: Permit) -> dict[str, Any]:
        return {}

    builder = StateGraph(Permit)
    for node in (ask, locate, ship):
        builder.add_node(node)
    builder.add_edge(START, "ask")
    builder.add_conditional_edges(
        "ask", lambda state: "locate" if state["allowed"] else "__end__", ["locate", "__end__"]
    )
    builder.add_conditional_edges(
        "locate", lambda state: "ask" if state["address"]["boxes"] > 5 else "ship", ["ask", "ship"]
    )
    builder.add_edge("ship", END)
    again = Loop(
        name="again", target="ask", sources=("locate",), limit=2, exhausted="ship", reason=lambda _: "many boxes"
    )
    return UserGraph("permit", bounded(builder, [again]), title="Permit", description="Asks before it sends.")


class Laps(TypedDict, total=False):
    rounds: int
    done: int
    note: str


def laps() -> UserGraph:
    """A graph that goes round as often as it is told: about 14 events a round."""

    def start(state: Laps) -> dict[str, Any]:
        return {"done": 0}

    def run(state: Laps) -> dict[str, Any]:
        return {"note": f"round {state['done'] + 1}"}

    def rest(state: Laps) -> dict[str, Any]:
        return {"note": ""}

    def count(state: Laps) -> dict[str, Any]:
        return {"done": state["done"] + 1}

    builder = StateGraph(Laps)
    for node in (start, run, rest, count):
        builder.add_node(node)
    for source, target in ((START, "start"), ("start", "run"), ("run", "rest"), ("rest", "count")):
        builder.add_edge(source, target)
    builder.add_conditional_edges(
        "count", lambda state: "run" if state["done"] < state["rounds"] else "__end__", ["run", "__end__"]
    )
    lap = Loop(name="lap", target="run", sources=("count",), limit=ROUNDS, exhausted="__end__", reason=lambda _: "more")
    return UserGraph("laps", bounded(builder, [lap]), title="Laps", description="Goes round and round.")
