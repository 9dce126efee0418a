"""The three stages: they do work and never route."""

from loopwright.workflows.iqa.nodes.executor import executor_node
from loopwright.workflows.iqa.nodes.planner import planner_node
from loopwright.workflows.iqa.nodes.summarizer import summarizer_node

__all__ = ["executor_node", "planner_node", "summarizer_node"]
