"""Writing the answer, with or without a chat model, and judging it."""

from __future__ import annotations

from loopwright.workflows.assistant.answer.evaluating import EvaluationReply, evaluate_answer, evaluation_of
from loopwright.workflows.assistant.answer.listing import Known, chosen, list_answer
from loopwright.workflows.assistant.answer.offering import offered, shown_hits
from loopwright.workflows.assistant.answer.references import mark, referenced, without_strangers

__all__ = [
    "EvaluationReply",
    "Known",
    "chosen",
    "evaluate_answer",
    "evaluation_of",
    "list_answer",
    "mark",
    "offered",
    "referenced",
    "shown_hits",
    "without_strangers",
]
