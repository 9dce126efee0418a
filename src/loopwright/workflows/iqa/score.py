"""How right an answer about a picture is, where that is known."""

from __future__ import annotations

from loopwright.workflows.api import Outcome
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import answer_scores

EXPECTED = ("score",)
"""What a question's ``expected`` may hold for this workflow: people's score, 1 (bad) to 5 (excellent)."""


def score(expected: Expected, outcome: Outcome) -> dict[str, float | None]:
    """What can be said of an answer about a picture.

    Args:
        expected: What is expected; an answer is the final one, without its reasons.
        outcome: What came.

    Returns:
        ``em``, ``f1`` and ``contains`` of the final answer; ``within_half``: whether the score is at most half a level
        from people's.
    """
    answered = outcome.details.get("summarizer_result") or {}
    scores: dict[str, float | None] = {}
    if expected.answers is not None and answered:
        scores |= answer_scores(str(answered.get("final_answer", "")), expected.answers)
    if (people := expected.own.get("score")) is not None:
        given = answered.get("quality_score")
        scores["within_half"] = float(given is not None and abs(given - people) <= 1 / 2)
    return scores
