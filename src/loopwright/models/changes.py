"""What one run does otherwise than its workflow as configured: other chat models, other prompts.

They are context variables, so that runs which go on at the same time do not see each other's: an asyncio task, and a
thread that LangGraph starts for a node, has the values of the run that it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loopwright.models.prompts import Prompt
    from loopwright.models.registry import Assignable

model_changes: ContextVar[Mapping[str, Assignable] | None] = ContextVar("loopwright.model_changes", default=None)
"""Node (or ``default``) -> the chat model that takes the place of the configured one; `ModelRegistry` asks for it."""

prompt_changes: ContextVar[Mapping[str, Prompt] | None] = ContextVar("loopwright.prompt_changes", default=None)
"""Prompt -> what `PromptLibrary.get` gives in place of its newest version; version 0 is a draft that is not kept."""

prompt_in_use: ContextVar[Prompt | None] = ContextVar("loopwright.prompt_in_use", default=None)
"""The prompt that `PromptLibrary.get` gave last in this context: the one that a model is about to be asked with."""
