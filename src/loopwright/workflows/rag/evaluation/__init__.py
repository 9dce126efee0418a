"""Measuring the workflow on questions whose answers are known: retrieval, answers, citations, and what loops bring."""

from __future__ import annotations

from loopwright.workflows.rag.evaluation.running import aevaluate, evaluate
from loopwright.workflows.rag.evaluation.schemas import (
    Abstention,
    Evaluation,
    Figure,
    LoopGain,
    QuestionOutcome,
)

__all__ = [
    "Abstention",
    "Evaluation",
    "Figure",
    "LoopGain",
    "QuestionOutcome",
    "aevaluate",
    "evaluate",
]
