"""A model that is never satisfied, in every way of asking; and a clock that only sleeping moves."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import pytest
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from loopwright.engine import clock
from loopwright.errors import ModelError
from loopwright.models import aask, ask
from loopwright.testing import ManualClock, always_no


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


@pytest.mark.parametrize("method", ["auto", "prompt", "json_schema"])
async def test_a_model_says_no_in_every_way_of_asking(method):
    if method == "prompt":  # the schema is in the text, and the verdict is what the test says
        model = always_no(need_replan=True, reason="more")
        assert ask(model, "?", Replan, method="prompt") == Replan(need_replan=True, reason="more")
        return
    no = always_no()
    assert ask(no, "Is it so?", Grade, method=method).model_dump() == Grade(**NO).model_dump()
    assert (await aask(no, "Is it so?", Grade, method=method)).binary_score == "no"
    assert len(no.calls) == 2


def test_a_choice_without_a_no_is_asked_for():
    model = always_no()
    with pytest.raises(ModelError, match=r"which of \['red', 'green'\] means no in the field 'colour'.*colour='green'"):
        model.with_structured_output(Choice).invoke("?")
    assert always_no(colour="green").with_structured_output(Choice).invoke("?").colour == "green"


def test_offered_tools_are_called_for_ever():
    model = always_no()
    replies = [model.bind_tools([search, grade]).invoke("?") for _ in range(2)]
    assert [reply.tool_calls[0]["name"] for reply in replies] == ["search", "search"]
    assert replies[0].tool_calls[0]["id"] != replies[1].tool_calls[0]["id"]
    chosen = model.bind_tools([search, grade], tool_choice="grade").invoke("?")
    assert (chosen.tool_calls[0]["name"], chosen.tool_calls[0]["args"]) == ("grade", {"score": "no"})


async def test_a_sleep_moves_the_engines_clock_and_takes_no_time():
    with ManualClock(100) as manual:
        with pytest.raises(RuntimeError), ManualClock():
            raise RuntimeError
        clock.sleep(30)
        await clock.asleep(12.5)
        assert clock.now() == manual.now() == 142.5
    clock.sleep(0)
    assert manual.slept == [30, 12.5]
