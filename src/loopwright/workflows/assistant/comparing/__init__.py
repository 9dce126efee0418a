"""Does it help to think again? Every question against its counterfactuals, and labelled questions in every mode."""

from __future__ import annotations

from loopwright.workflows.assistant.comparing.comparing import acompare, compare
from loopwright.workflows.assistant.comparing.evaluating import aevaluate, evaluate
from loopwright.workflows.assistant.comparing.labels import Label, judged_tables, read_labels, record_id
from loopwright.workflows.assistant.comparing.metrics import difference, ndcg_at, recall_at
from loopwright.workflows.assistant.comparing.schemas import (
    PLACES,
    AssistantEvaluation,
    Comparison,
    QuestionOutcome,
    Variant,
    Way,
)
from loopwright.workflows.assistant.comparing.wide import wide_plan
from loopwright.workflows.figures import Figure, mean_figure

__all__ = [
    "PLACES",
    "AssistantEvaluation",
    "Comparison",
    "Figure",
    "Label",
    "QuestionOutcome",
    "Variant",
    "Way",
    "acompare",
    "aevaluate",
    "compare",
    "difference",
    "evaluate",
    "judged_tables",
    "mean_figure",
    "ndcg_at",
    "read_labels",
    "recall_at",
    "record_id",
    "wide_plan",
]
