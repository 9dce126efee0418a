"""What is remembered of people: profiles and conversations, each person's apart and deletable."""

from __future__ import annotations

from loopwright.workflows.assistant.memory.keeping import Memory, open_memory

__all__ = ["Memory", "open_memory"]
