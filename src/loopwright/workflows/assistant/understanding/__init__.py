"""What a question asks for, and the first plan of searches for it."""

from __future__ import annotations

from loopwright.workflows.assistant.understanding.planning import plan
from loopwright.workflows.assistant.understanding.understanding import understand

__all__ = ["plan", "understand"]
