"""The configuration of the image-quality workflow: the engine's sections and its own."""

from typing import ClassVar

from pydantic import Field, PositiveFloat

from loopwright.config import PipelineSection, Section
from loopwright.workflows.sections import WorkflowConfig


class TimeoutSection(Section):
    """Seconds for one attempt of each stage."""

    planner: PositiveFloat = 60.0
    """Seconds for the planner."""
    executor: PositiveFloat = 300.0
    """Seconds for the executor."""
    summarizer: PositiveFloat = 60.0
    """Seconds for the summarizer."""


class IQAPipelineSection(PipelineSection):
    """How the three stages run."""

    timeout: TimeoutSection = TimeoutSection()
    """Seconds for one attempt of each stage."""


class ToolsSection(Section):
    """How quality tools are chosen and run."""

    limit: int = Field(default=3, ge=1)
    """How many tools are chosen, the primary one included."""
    timeout: PositiveFloat = 30.0
    """Seconds for one tool on one image."""
    max_pixels: int = Field(default=100_000_000, ge=1)
    """The largest image that is decoded, in pixels."""


class IQASection(Section):
    """What the image-quality workflow itself is told."""

    max_replan_iterations: int = Field(default=2, ge=0)
    """Replans per run where the caller does not say; 0 switches replanning off."""
    tools: ToolsSection = ToolsSection()
    """How quality tools are chosen and run."""
    repairs: int = Field(default=2, ge=0)
    """How often a chat model may correct a reply that breaks its schema."""


class IQAConfig(WorkflowConfig):
    """Everything that `build_graph` and `run_pipeline` can be told."""

    pipeline: IQAPipelineSection = IQAPipelineSection()  # type: ignore[assignment]  # narrower: the stages are known
    """How the three stages run."""
    iqa: IQASection = IQASection()
    """What the workflow itself is told."""

    model_nodes: ClassVar[tuple[str, ...]] = ("planner", "executor", "summarizer")
