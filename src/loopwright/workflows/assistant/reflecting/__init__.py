"""Thinking again after a poor search: whether to, and what to search next."""

from __future__ import annotations

from loopwright.workflows.assistant.reflecting.reflection import reflect, shown_search
from loopwright.workflows.assistant.reflecting.relaxing import relaxed
from loopwright.workflows.assistant.reflecting.replies import ReflectionReply, reflection_of
from loopwright.workflows.assistant.reflecting.wishes import wish_after

__all__ = ["ReflectionReply", "reflect", "reflection_of", "relaxed", "shown_search", "wish_after"]
