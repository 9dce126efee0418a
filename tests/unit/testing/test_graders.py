"""A grader that is never satisfied, in each shape that graders have; with it a bounded graph ends at its bound."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

import pytest
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from loopwright import bounded
from loopwright.errors import ModelError
from loopwright.models import aask, ask
from loopwright.testing import AlwaysNo


class State(TypedDict, total=False):
    grade: str
    answer: str


class Relevance(StrEnum):
    GOOD = "fully relevant"
    BAD = "not_relevant"


class Detail(BaseModel):
    grounded: bool
    note: str | None = "fine"


class Grade(BaseModel):
    binary_score: Literal["yes", "no"]
    useful: bool = True
    relevance: Relevance
    confidence: float = Field(ge=0.1, le=1)
    points: int = Field(gt=2)
    detail: Detail
    comments: list[str] = Field(min_length=1)
    found: list[str] = ["something"]
    colour: Literal["red", "green"] = "red"


NO = {
    "binary_score": "no", "useful": False, "relevance": Relevance.BAD, "confidence": 0.1, "points": 3,
    "detail": Detail(grounded=False, note=None), "comments": ["no"], "found": [], "colour": "red",
}  # fmt: skip


class Choice(BaseModel):
    colour: Literal["red", "green"]


class Replan(BaseModel):
    need_replan: bool
    reason: str


@tool
def search(query: str) -> str:
    """Look something up."""
    return query


@tool
def grade(score: Literal["yes", "no"]) -> str:
    """Grade."""
    return score


def rag(decide: Any, grader: Any) -> StateGraph[State]:
    builder = StateGraph(State)
    builder.add_node("retrieve", lambda state: {})
    builder.add_node("grade", grader)
    builder.add_node("generate", lambda state: {"answer": "done"})
    builder.add_edge(START, "retrieve")
    builder.add_edge("retrieve", "grade")
    builder.add_conditional_edges("grade", decide)
    builder.add_edge("generate", END)
    return builder


def test_a_router_that_always_goes_round_needs_no_path_map():
    no = AlwaysNo()
    app = bounded(rag(no.router("retrieve", "generate"), lambda state: {}), limit=3)
    assert app.certificate.bounded
    assert app.invoke({})["stop_reason"]["spent"] == 3
    assert no.asked == 4


@pytest.mark.parametrize("method", ["auto", "prompt", "json_schema"])
async def test_a_model_says_no_in_every_way_of_asking(method):
    if method == "prompt":  # the schema is in the text, and the verdict is what the test says
        model = AlwaysNo().model(need_replan=True, reason="more")
        assert ask(model, "?", Replan, method="prompt") == Replan(need_replan=True, reason="more")
        return
    no = AlwaysNo()
    assert ask(no.model(), "Is it so?", Grade, method=method).model_dump() == Grade(**NO).model_dump()
    assert (await aask(no.model(), "Is it so?", Grade, method=method)).binary_score == "no"
    assert no.asked == 2


def test_a_choice_without_a_no_is_asked_for():
    model = AlwaysNo().model()
    with pytest.raises(ModelError, match=r"which of \['red', 'green'\] means no in the field 'colour'.*colour='green'"):
        model.with_structured_output(Choice).invoke("?")
    assert AlwaysNo().model(colour="green").with_structured_output(Choice).invoke("?").colour == "green"


def test_offered_tools_are_called_for_ever():
    no = AlwaysNo()
    model = no.model()
    replies = [model.bind_tools([search, grade]).invoke("?") for _ in range(2)]
    assert [reply.tool_calls[0]["name"] for reply in replies] == ["search", "search"]
    assert replies[0].tool_calls[0]["id"] != replies[1].tool_calls[0]["id"]
    chosen = model.bind_tools([search, grade], tool_choice="grade").invoke("?")
    assert (chosen.tool_calls[0]["name"], chosen.tool_calls[0]["args"]) == ("grade", {"score": "no"})
