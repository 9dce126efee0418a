"""The state that flows through the graph."""

# No "from __future__ import annotations" here: with it, Python 3.11 does not see NotRequired.
from typing import NotRequired, TypedDict

from loopwright.engine.ledger import StopReason
from loopwright.workflows.iqa.question.asked import Question
from loopwright.workflows.iqa.schemas import Box, ExecutorOutput, PlannerOutput, SummarizerOutput


class AgenticIQAInput(TypedDict):
    """What a caller gives; narrower than the full state."""

    query: str
    """The user's question."""
    image_path: str
    """The image in question."""
    reference_path: NotRequired[str | None]
    """The pristine image, if there is one."""
    region: NotRequired[Box | None]
    """Left, top, width, height in pixels, if only a part is asked about."""
    iteration_count: NotRequired[int]
    """0 at the start; from then on the number of replans that happened, written by the gate alone."""
    max_replan_iterations: NotRequired[int]
    """How many replans are allowed; 0 switches replanning off."""
    replan_history: NotRequired[list[str]]
    """``"[Iteration i] reason"`` for each replan, the last ten, written by the gate alone."""
    sample_id: NotRequired[str]
    """Names the run's checkpoint."""


class AgenticIQAState(AgenticIQAInput):
    """The whole state: the input and what the stages add."""

    plan: NotRequired[PlannerOutput]
    """The current plan; a replan overwrites it."""
    questions: NotRequired[list[Question]]
    """What is asked, where a chat model filled it; else the rules read it from the query."""
    executor_evidence: NotRequired[ExecutorOutput]
    """The current evidence; a replan overwrites it."""
    summarizer_result: NotRequired[SummarizerOutput]
    """The current answer; each pass overwrites it."""
    stop_reason: NotRequired[StopReason | list[StopReason] | None]
    """Which loop reached its bound or stalled, or None if none did; see `loopwright.engine.gate.StopReason`."""
    error: NotRequired[str | None]
    """What went wrong last; None again once a later pass succeeds."""
