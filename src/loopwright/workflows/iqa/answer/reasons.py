"""Why an answer is what it is: the evidence in sentences, and as JSON values."""

from __future__ import annotations

from typing import Any

from loopwright.workflows.iqa.answer.fusion import quality_score
from loopwright.workflows.iqa.answer.numbers import in_unit
from loopwright.workflows.iqa.answer.parts import evidence_on, scope_words, scopes_of
from loopwright.workflows.iqa.answer.sufficiency import contradicting
from loopwright.workflows.iqa.answer.verdicts import Facts
from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.schemas import GLOBAL


def reasoning(facts: Facts, *first: str) -> str:
    """The reasons in words: the tools' numbers, the strongest distortions, and what the reader must know.

    Args:
        facts: What was measured.
        first: Sentences to put in front.

    Returns:
        One paragraph.
    """
    evidence = facts.evidence
    scopes = scopes_of(evidence)
    parts = [*first, _scope_sentence(scopes), *_tool_sentences(facts), *_scores_of_parts(facts, scopes)]
    parts += [_finding_sentence(scope, item.explanation) for scope, item in facts.present[: 2 + len(scopes)]]
    if facts.unanalysed:
        parts.append(f"Detected, without analysis: {', '.join(facts.unanalysed)}.")
    elif not facts.present and facts.covers(()):
        parts.append("No distortion was found.")
    elif not facts.present:
        parts += [_finding_sentence(scope, item.explanation) for scope, item in facts.analysed[:3]]
    parts += [f"Tool {log.tool} failed: {log.error}." for log in evidence.tool_logs if log.error]
    parts += evidence.notes
    if evidence.error:
        parts.append(f"The executor failed: {evidence.error}.")
    return " ".join(part if part[-1] in ".!?" else f"{part}." for part in parts if part)


def used_evidence(facts: Facts) -> dict[str, Any]:
    """The items of evidence behind an answer, as JSON-ready values."""
    score = facts.score
    used: dict[str, Any] = {
        "tool": score.tool if score else None,
        "tool_score": round(score.tool_score, 3) if score else None,
        "tool_scores": {name: round(value, 3) for name, value in facts.evidence.quality_scores.items()},
        "distortions": [
            {"scope": scope, "type": item.type, "severity": item.severity.value, "confidence": item.confidence}
            for scope, item in facts.present
        ],
        "opinion": {str(level): p for level, p in score.opinion.items()} if score and score.opinion else None,
    }
    regions = facts.evidence.regions
    return {**used, "regions": {scope: list(box) for scope, box in regions.items()}} if regions else used


def _scope_sentence(scopes: list[str]) -> str:
    return f"Measured on {' and '.join(map(scope_words, scopes))}." if scopes else ""


def _scores_of_parts(facts: Facts, scopes: list[str]) -> list[str]:
    """The score of every part, where there are several; the answer's is that of the first."""
    if len(scopes) < 2:
        return []
    scores = {scope: quality_score(evidence_on(facts.evidence, scope)) for scope in scopes}
    said = [f"{scope_words(scope)} {score.value:.2f} ({score.tool})" for scope, score in scores.items() if score]
    return [f"By part: {', '.join(said)}."] if said else []


def _finding_sentence(scope: str, explanation: str) -> str:
    return explanation if scope == GLOBAL else f"In {scope_words(scope)}: {explanation}"


def _tool_sentences(facts: Facts) -> list[str]:
    score, evidence = facts.score, facts.evidence
    if score is None:
        return [_no_score(facts)]
    log = next((log for log in evidence.tool_logs if log.tool == score.tool and log.score is not None), None)
    own = f"{score.tool} gives a score of {score.tool_score:.2f}"
    if log and log.raw is not None:
        own = f"{score.tool} measures {in_unit(log.tool, log.raw)}, a score of {score.tool_score:.2f}"
    sentences = [f"{own} on the scale of 1 (bad) to 5 (excellent)."]
    if overlooked := facts.overlooked:
        sentences.append(f"{score.tool} is weak at {' and '.join(overlooked)}, so the score may be too good.")
    if (found := facts.too_good) is not None:
        sentences.append(
            f"That is better than {found.severity.value} {in_words(found.type)} ({found.confidence:.0%} sure) allows, "
            f"which was measured: rely on the measurement."
        )
    if score.opinion:
        sentences.append(f"Weighed with the chat model's opinion, that makes {score.value:.2f}: {score.level}.")
    others = [f"{name} {value:.2f}" for name, value in score.baselines.items() if name != score.tool]
    if others:
        sentences.append(f"The other tools alone: {', '.join(others)}.")
    opposed = contradicting(evidence)
    if opposed:
        verb = "contradicts" if len(opposed) == 1 else "contradict"
        sentences.append(
            f"{' and '.join(opposed)} {verb} {evidence.primary_tool} by more than their calibration errors."
        )
    return sentences


def _no_score(facts: Facts) -> str:
    if not facts.plan.plan.tool_execution:
        return "The plan ran no quality tool, so there is no score."
    return "No quality tool gave a score."
