"""Workflows on which the tests of the run's page look at the mechanical retry, at failures and at long runs."""

import asyncio
import operator
from collections import Counter
from typing import Annotated, Any, NotRequired

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send, interrupt
from shapes import graph, loop
from typing_extensions import TypedDict

from loopwright.engine import NodePolicy, Retry, bounded
from loopwright.engine.events.schema import emit
from loopwright.testing import ScriptedChatModel
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

    retrying = {"action": send, "policy": NodePolicy(retries=[Retry(on=OSError, retries=2, initial_wait=0.05)])}
    made = graph("START-weigh weigh-send send-END", Parcel, weigh=weigh, send=retrying)
    return UserGraph("parcel", bounded(made, []))


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

    routes = {
        "ask": lambda state: "locate" if state["allowed"] else END,
        "locate": lambda state: "ask" if state["address"]["boxes"] > 5 else "ship",
    }
    edges = "START-ask ask?locate ask?END locate?ask locate?ship ship-END"
    made = graph(edges, Permit, routes, ask=ask, locate=locate, ship=lambda _: {})
    again = loop("again", "locate", "ask", 2, "ship", reason=lambda _: "many boxes")
    return UserGraph("permit", bounded(made, [again]))


class Laps(TypedDict, total=False):
    rounds: int
    done: int
    note: str


def laps() -> UserGraph:
    """A graph that goes round as often as it is told: about 14 events a round."""

    nodes = {
        "start": lambda _: {"done": 0},
        "run": lambda state: {"note": f"round {state['done'] + 1}"},
        "rest": lambda _: {"note": ""},
        "count": lambda state: {"done": state["done"] + 1},
    }
    more = {"count": lambda state: "run" if state["done"] < state["rounds"] else END}
    made = graph("START-start start-run run-rest rest-count count?run count?END", Laps, more, **nodes)
    lap = loop("lap", "count", "run", ROUNDS, reason=lambda _: "more")
    return UserGraph("laps", bounded(made, [lap]))


class Talk(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    repeat: NotRequired[int]


def parrot() -> UserGraph:
    """A graph whose model repeats the question; with the word slowly a word at a time, with broken not at all."""
    model = ScriptedChatModel(lambda messages: str(messages[-1].text), repeat_last=True)

    async def answer(state: Talk) -> dict[str, Any]:
        """Repeat."""
        question = " ".join([str(state["messages"][-1].text)] * (state.get("repeat") or 1))
        if "broken" in question:
            raise ValueError("the beak is broken")
        if "slowly" not in question:
            return {"messages": [await model.ainvoke(question)]}
        for word in question.split(" "):
            emit({"type": "text", "node": "answer", "text": word + " "})
            await asyncio.sleep(0.1)
        return {"messages": [AIMessage(question)]}

    made = graph("START-answer", Talk, answer=answer)
    return UserGraph("parrot", bounded(made))


class Given(TypedDict, total=False):
    topic: str
    size: int


class Desk(Given, total=False):
    sections: list[str]
    notes: Annotated[list[str], operator.add]
    facts: Annotated[list[str], operator.add]
    draft: str
    score: float
    rounds: int
    ballast: str
    allowed: bool


class Search(TypedDict, total=False):
    topic: str
    tries: int
    facts: Annotated[list[str], operator.add]


def _search() -> Any:
    """A graph with a cycle of its own, for a node of the desk."""

    def look(state: Search) -> dict[str, Any]:
        tries = state.get("tries", 0) + 1
        return {"tries": tries, "facts": [f"fact {tries}"]}

    more = {"judge": lambda state: "look" if state["tries"] < 3 else END}
    return graph("START-look look-judge judge?look judge?END", Search, more, look=look, judge=lambda _: {}).compile()


def desk() -> UserGraph:
    """A graph as somebody else would write it, bounded by nobody: twelve nodes, parallel ones, a graph inside one, six
    workers by ``Send``, a model that streams, a question to a person, and a value of any size."""

    async def note(state: Desk) -> dict[str, Any]:
        await asyncio.sleep(0.02)
        return {"notes": ["noted"]}

    def plan(state: Desk) -> dict[str, Any]:
        return {"sections": [f"section {number}" for number in range(6)]}

    async def work(state: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.01 * state["number"])
        return {"notes": [state["section"]]}

    async def write(state: Desk) -> dict[str, Any]:
        words = f"All that is known of {state['topic']}, in words that come one by one, as a model says them."
        model = GenericFakeChatModel(messages=iter([AIMessage(words)]))
        text = ""
        async for chunk in model.astream("write"):
            text += str(chunk.content)
            await asyncio.sleep(0.01)
        return {"draft": text, "rounds": state.get("rounds", 0) + 1}

    def grade(state: Desk) -> dict[str, Any]:
        return {"score": 0.3 + 0.2 * state["rounds"]}

    def ballast(state: Desk) -> dict[str, Any]:
        return {"ballast": "x" * state.get("size", 0)}

    def ask(state: Desk) -> dict[str, Any]:
        fields = {"ok": {"type": "boolean", "title": "Publish it"}}
        schema = {"type": "object", "properties": fields, "required": ["ok"]}
        return {"allowed": interrupt({"question": f"Is **{state['topic']}** good?", "schema": schema})["ok"]}

    nodes = {
        "left": note, "right": note, "research": _search(), "plan": plan, "work": work, "write": write, "grade": grade,
        "ballast": ballast, "ask": ask, **dict.fromkeys(("intake", "publish", "archive"), lambda _: {}),
    }  # fmt: skip
    routes: dict[str, Any] = {
        "plan": lambda state: [
            Send("work", {"section": name, "number": at}) for at, name in enumerate(state["sections"])
        ],
        "grade": lambda state: "write" if state["score"] < 0.8 else "ballast",
        "ask": lambda state: "publish" if state["allowed"] else "archive",
    }
    edges = (
        "START-intake intake-left intake-right left+right-research research-plan plan?work work-write write-grade "
        "grade?write grade?ballast ballast-ask ask?publish ask?archive publish-END archive-END"
    )
    builder = graph(edges, StateGraph(Desk, input_schema=Given), routes, **nodes)
    return UserGraph("desk", builder.compile())
