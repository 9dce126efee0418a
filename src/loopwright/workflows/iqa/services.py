"""What the stages need besides the state."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from loopwright.models import PromptLibrary
from loopwright.workflows import runtime
from loopwright.workflows.iqa.config import IQAConfig


@dataclass
class Services(runtime.Services[IQAConfig]):
    """The configuration and the models; made once per graph."""

    config: IQAConfig = field(default_factory=IQAConfig)
    """The configuration."""


@cache
def prompts() -> PromptLibrary:
    """The prompts of this workflow."""
    return PromptLibrary.of_package("loopwright.workflows.iqa")
