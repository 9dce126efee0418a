"""A real chat model on this machine, asked through the registry as a provider would be."""

from __future__ import annotations

from typing import Literal

import pytest
from local_chat import local_chat
from pydantic import BaseModel

from loopwright.models import ModelRegistry, allow_model_requests, ask

PROMPT = """Choose the tool for a question: calculator (arithmetic), web (news), documents (rules of our company).

"What is 12 times 9?" -> {{"tool": "calculator"}}
"What does our leave policy say?" -> {{"tool": "documents"}}
"Who won the match yesterday?" -> {{"tool": "web"}}
"How much is a third of 600?" -> {{"tool": "calculator"}}
"May I take my dog to the office?" -> {{"tool": "documents"}}

"{question}" ->"""


class Route(BaseModel):
    """Where a question goes."""

    tool: Literal["calculator", "web", "documents"]


@pytest.mark.slow
def test_a_local_model_gives_structured_replies() -> None:
    with allow_model_requests():
        model = ModelRegistry({"router": {"model": local_chat(), "timeout": 120}}).chat("router")
        assert model is not None
        tools = [
            ask(model, PROMPT.format(question=question), Route).tool
            for question in ("What is 431 plus 77?", "What does our travel policy say?")
        ]
    assert tools == ["calculator", "documents"]
