"""How right an answer about a picture is, where that is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from loopwright.workflows.api import Outcome
from loopwright.workflows.evaluation.questions import Expected
from loopwright.workflows.evaluation.scores import answer_scores
from loopwright.workflows.iqa.answer.fusion import recognised
from loopwright.workflows.iqa.distortions import parse_distortion
from loopwright.workflows.iqa.measuring.severity import SAME_THING, closeness
from loopwright.workflows.iqa.schemas import ExecutorOutput

EXPECTED = ("score", "distortion")
"""What a question's ``expected`` may hold for this workflow: people's score, 1 (bad) to 5 (excellent), and the type of
distortion, or ``none``."""


def score(expected: Expected, outcome: Outcome) -> dict[str, float | None]:
    """What can be said of an answer about a picture.

    Returns:
        ``em``, ``f1`` and ``contains`` of the final answer; ``within_half``: whether the score is at most half a level
        from people's; ``distortion``: whether the strongest one that was surely found is the expected one, or none is.
    """
    answered = outcome.details.get("summarizer_result") or {}
    scores: dict[str, float | None] = {}
    if expected.answers is not None and answered:
        scores |= answer_scores(str(answered.get("final_answer", "")), expected.answers)
    if (people := expected.own.get("score")) is not None:
        given = answered.get("quality_score")
        scores["within_half"] = float(given is not None and abs(given - people) <= 1 / 2)
    if (wanted := expected.own.get("distortion")) is not None:
        scores["distortion"] = float(_is_found(str(wanted), outcome))
    return scores


def rated(expected: Expected, outcome: Outcome) -> tuple[float, Mapping[str, float]] | None:
    """People's score, and beside it that of the answer and of every tool that ran."""
    people = expected.own.get("score")
    scores: dict[str, Any] = {"answer" if name == "quality_score" else name: n for name, n in outcome.scores.items()}
    return None if people is None else (float(people), scores)


def _is_found(wanted: str, outcome: Outcome) -> bool:
    evidence = outcome.details.get("executor_evidence")
    if evidence is None:
        return False
    analysis = ExecutorOutput.model_validate(evidence).distortion_analysis
    found = recognised(item for items in analysis.values() for item in items)
    if wanted == "none" or found is None:
        return wanted == "none" and found is None
    return closeness(parse_distortion(wanted), found) >= SAME_THING
