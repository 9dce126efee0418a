"""An image-quality agent that explains itself.

A planner reads the question, an executor measures, a summarizer answers from the evidence, and where the evidence is
not enough it asks for another plan, a bounded number of times::

    START -> planner -> executor -> summarizer -> planner (loop `replan`) | END

The loop ``replan`` goes from the summarizer back to the planner, ``max_replan_iterations`` times (2), never more often
than ``langgraph.max_iterations`` (10). When that is used up, the run ends with its last answer and a ``stop_reason``.
A new plan that asks for the same work as the last one ends the loop as well.

Without a chat model, everything runs on rules and measurements.
"""

from __future__ import annotations

from loopwright.errors import PlannerError
from loopwright.workflows.iqa.config import IQAConfig
from loopwright.workflows.iqa.graph import build_graph
from loopwright.workflows.iqa.nodes import executor_node, planner_node, summarizer_node
from loopwright.workflows.iqa.pipeline import (
    arun_pipeline,
    astream_pipeline,
    run_pipeline,
    stream_pipeline,
    trace_pipeline,
    visualize_graph,
)
from loopwright.workflows.iqa.routes import decide_next_node
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerInput, PlannerOutput, SummarizerOutput
from loopwright.workflows.iqa.services import Services
from loopwright.workflows.iqa.state import AgenticIQAState

__all__ = [
    "AgenticIQAState",
    "ExecutorOutput",
    "IQAConfig",
    "PlannerError",
    "PlannerInput",
    "PlannerOutput",
    "Services",
    "SummarizerOutput",
    "arun_pipeline",
    "astream_pipeline",
    "build_graph",
    "decide_next_node",
    "executor_node",
    "planner_node",
    "run_pipeline",
    "stream_pipeline",
    "summarizer_node",
    "trace_pipeline",
    "visualize_graph",
]
