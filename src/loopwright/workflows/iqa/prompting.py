"""The prompts that stages ask their chat models with."""

from __future__ import annotations

from functools import cache

from loopwright.models import PromptLibrary


@cache
def prompts() -> PromptLibrary:
    """The prompts of this workflow."""
    return PromptLibrary.of_package("loopwright.workflows.iqa")
