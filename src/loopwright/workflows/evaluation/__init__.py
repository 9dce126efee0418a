"""Questions with known answers, for every workflow: figures with intervals, and what each loop brings."""

from __future__ import annotations

from loopwright.workflows.evaluation.evaluation import aevaluate, evaluate, gain_of, without_loop
from loopwright.workflows.evaluation.figures import Figure, mean_figure
from loopwright.workflows.evaluation.questions import Expected, Question, read_questions
from loopwright.workflows.evaluation.results import EvaluatedAnswer, Evaluation, LoopGain
from loopwright.workflows.evaluation.scores import answer_scores, citation_scores, scores_of

__all__ = [
    "EvaluatedAnswer",
    "Evaluation",
    "Expected",
    "Figure",
    "LoopGain",
    "Question",
    "aevaluate",
    "answer_scores",
    "citation_scores",
    "evaluate",
    "gain_of",
    "mean_figure",
    "read_questions",
    "scores_of",
    "without_loop",
]
