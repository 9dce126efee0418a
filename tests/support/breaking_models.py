"""A chat model that breaks off while it writes."""

from collections.abc import AsyncIterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import ConfigDict


class BreakingModel(BaseChatModel):
    """Writes its words one at a time, and in its first calls raises an error after some of them."""

    text: str
    error: Exception = ConnectionError("the line is dead, key=sk-secret")
    failing: int = 1
    after: int = 3
    calls: int = 0

    model_config = ConfigDict(arbitrary_types_allowed=True)

    @property
    def _llm_type(self) -> str:
        return "breaking"

    def _generate(self, *_arguments: Any, **_options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.text))])

    async def _astream(self, *_arguments: Any, **_options: Any) -> AsyncIterator[ChatGenerationChunk]:
        self.calls += 1
        for place, word in enumerate(self.text.split(" ")):
            if place == self.after and self.calls <= self.failing:
                raise self.error
            yield ChatGenerationChunk(message=AIMessageChunk(f" {word}" if place else word))
