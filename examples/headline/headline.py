"""A workflow of one's own: a headline for a text, shortened until it fits, a bounded number of times."""

import re
from typing import NotRequired, TypedDict

from langgraph.graph import END, START, StateGraph
from pydantic import Field

from loopwright import BoundedGraph, Loop, bounded
from loopwright.workflows.api import NodeInfo, Outcome, Text, Workflow, WorkflowInput
from loopwright.workflows.runtime import Services


class Headline(WorkflowInput):  # the options, the request's body and the form
    text: Text = Field(title="Text", description="What the headline is for.")
    most: int = Field(default=40, ge=10, le=200, title="Characters", description="The longest headline.")


class State(TypedDict):  # what flows through the graph
    text: str
    most: int
    headline: NotRequired[str]


def draft(state: State) -> dict[str, str]:
    """Take the first sentence."""
    return {"headline": re.split(r"(?<=[.!?])\s", state["text"].strip())[0].rstrip(".")}


def shorten(state: State) -> dict[str, str]:
    """Leave the last word out."""
    return {"headline": state["headline"].rpartition(" ")[0] or state["headline"]}


def check(state: State) -> str:
    """Wish for a shorter one where it is too long; the loop bounds the wish."""
    return "shorten" if len(state["headline"]) > state["most"] else END


class HeadlineWorkflow(Workflow[Services]):
    title = "Headline"
    description = "Writes a headline for a text, and shortens it until it fits."
    Input = Headline
    state_schema = State
    nodes = {"draft": NodeInfo(label="Draft", icon="✏️"), "shorten": NodeInfo(label="Shorten", icon="✂️")}

    def build(self, services: Services) -> BoundedGraph:
        """Wire the graph, and bound its loop."""
        builder = StateGraph(State).add_node(draft).add_node(shorten).add_edge(START, "draft")
        builder.add_conditional_edges("draft", check, ["shorten", END])
        builder.add_conditional_edges("shorten", check, ["shorten", END])
        sources = ("draft", "shorten")
        return bounded(builder, [Loop(name="shorter", target="shorten", sources=sources, limit=5, exhausted=END)])

    def outcome(self, state: State) -> Outcome:
        """A headline that is still too long is a best effort, and says so."""
        fits = len(state["headline"]) <= state["most"]
        return Outcome(answer=state["headline"], status="answered" if fits else "best_effort", quality=float(fits))
