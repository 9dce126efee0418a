"""Writing the answer, with or without a chat model, and judging it."""

from __future__ import annotations

from loopwright.workflows.assistant.answering.acknowledging import acknowledgment
from loopwright.workflows.assistant.answering.evaluating import evaluate_answer
from loopwright.workflows.assistant.answering.fitting import fit_of
from loopwright.workflows.assistant.answering.listing import list_answer
from loopwright.workflows.assistant.answering.models import EvaluationReply, evaluation_of
from loopwright.workflows.assistant.answering.offering import offered
from loopwright.workflows.assistant.answering.prompting import shown_hits
from loopwright.workflows.assistant.answering.references import mark, referenced, without_strangers

__all__ = [
    "EvaluationReply",
    "acknowledgment",
    "evaluate_answer",
    "evaluation_of",
    "fit_of",
    "list_answer",
    "mark",
    "offered",
    "referenced",
    "shown_hits",
    "without_strangers",
]
