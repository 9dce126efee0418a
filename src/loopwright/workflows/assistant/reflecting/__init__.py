"""Thinking again after a poor search: whether to, and what to search next."""

from __future__ import annotations

from loopwright.workflows.assistant.reflecting.plans import relaxed, wish_after
from loopwright.workflows.assistant.reflecting.reflection import reflect, shown_search
from loopwright.workflows.assistant.reflecting.replies import ReflectionReply, reflection_of

__all__ = ["ReflectionReply", "reflect", "reflection_of", "relaxed", "shown_search", "wish_after"]
