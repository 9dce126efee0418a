"""What was measured, put into words: findings, numbers, and the reasons of an answer."""

import math
from collections.abc import Iterable
from typing import Any

from loopwright.config import shipped
from loopwright.workflows.iqa.answer.verdicts import (
    Facts,
    contradicting,
    mostly_soft,
    quality_score,
    said_soft,
    scope_words,
    scopes_of,
)
from loopwright.workflows.iqa.distortions import Distortion, in_words
from loopwright.workflows.iqa.measuring.detection_parts import place_of
from loopwright.workflows.iqa.measuring.severity import gauge_of
from loopwright.workflows.iqa.question.scales import Threshold
from loopwright.workflows.iqa.schemas import GLOBAL, DistortionFinding
from loopwright.workflows.iqa.tools.registry import get_tool


def capital(sentence: str) -> str:
    """A sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def spoken_names(names: Iterable[str]) -> str:
    """Distortions as they are put into a sentence: "blur, noise or banding"."""
    found = list(dict.fromkeys(names))
    if Distortion.BLURS in found:  # a question about sharpness names both
        found = [name for name in found if name != Distortion.SHARPNESS]
    *others, last = [in_words(name) for name in found] or ["distortion"]
    return f"{', '.join(others)} or {last}" if others else last


def where(facts: Facts) -> str:
    """What was measured, as the end of a sentence: "in the whole image"."""
    return "in " + (" and ".join(map(scope_words, scopes_of(facts.evidence))) or "the image")


def strength_of(item: DistortionFinding) -> str:
    """A finding without its numbers: "severe blur"."""
    return f"{item.severity.value} {in_words(item.type)}"


def listed(items: Iterable[DistortionFinding], facts: Facts, *, number: bool = False) -> str:
    """Findings with what stands behind them: "severe gaussian noise (24.4 of 255 grey levels, 95% sure)"."""
    return "; ".join(f"{strength_of(item)}{_details(item, facts, number=number)}" for item in items)


def _hue(item: DistortionFinding) -> float | None:
    """Where a cast goes, degrees of CIELAB hue; None of anything else."""
    a, b = item.measured.get("cast_a"), item.measured.get("cast_b")
    return None if a is None or b is None else math.degrees(math.atan2(b, a)) % 360


def _apart(hue: float, other: float) -> float:
    return abs((hue - other + 180) % 360 - 180)


def opposes(word: str, text: str, item: DistortionFinding) -> bool:
    """Whether a word, or the one before it, names other colours than a cast leads to: "too warm" if it is bluish."""
    return hue_apart(f"{text.partition(word)[0].split(' ')[-2:-1]}{word}", item) > _OTHER_HUE


def hue_apart(text: str, item: DistortionFinding) -> float:
    """How far a cast leads from the colour that a text names, degrees; 0 where there is no cast or no colour."""
    hue, said = _hue(item), hue_named(text)
    return 0.0 if hue is None or said is None else _apart(hue, said)


def hue_named(text: str) -> int | None:
    """The hue of the first colour that a text names, degrees of CIELAB."""
    return next((angle for name, angle in _HUES.items() if name in text), None)


_HUES: dict[str, int] = shipped("loopwright.workflows.iqa", "data/names.yaml")["hues"]
"""Colour, or what is said of light -> degrees of CIELAB hue."""

_OTHER_HUE = 60
"""Degrees from which two colours are not called by one name."""

_TOWARDS = ("red", "orange", "yellow", "green", "cyan", "blue", "magenta")


def listed_there(items: Iterable[DistortionFinding], facts: Facts, *, number: bool = False) -> str:
    """The same, and where: each by its own place, where only a part of the image is concerned."""
    found = list(items)[:3]
    said = listed(found, facts, number=number)
    if not all(map(place_of, found)):
        return f"{said} {where(facts)}"
    scopes = scopes_of(facts.evidence)
    return said if scopes == [GLOBAL] else f"{said} of {' and '.join(map(scope_words, scopes))}"


def not_blurred(facts: Facts) -> str:
    """What is to be said of an image that is not blurred as a whole but soft in part or in most; empty of any other."""
    soft = said_soft(facts.evidence.notes)
    how = "Soft in most of it" if mostly_soft(facts.evidence.notes) else "Not blurred as a whole"
    return f"{how}: {soft}." if soft else ""


def _details(item: DistortionFinding, facts: Facts, *, number: bool) -> str:
    """The number behind a severity, where it is, and how likely the type is; a reference shows the type."""
    value, gauge, place = item.measured.get("value"), gauge_of(item), place_of(item)
    parts = [f"measured {gauge.said(value) if gauge else f'{value:.3g}'}"] if number and value is not None else []
    parts += [f"{place[0]}, {place[1]:.0%} of the area"] if place else []
    if item.type == "mean shift":
        parts.append("darker" if item.measured.get("mean_shift", 0) < 0 else "brighter")
    if (hue := _hue(item)) is not None:
        parts.append(f"towards {min(_TOWARDS, key=lambda name: _apart(hue, _HUES[name]))}")
    if (angle := item.measured.get("motion_direction")) is not None:
        parts.append(("horizontal", "diagonal", "vertical", "diagonal")[round(angle / 45) % 4])
    if not facts.compared:
        parts.append(f"{item.confidence:.0%} sure")
    return f" ({', '.join(parts)})" if parts else ""


def in_unit(tool: str, value: float) -> str:
    """A tool's own value, with its unit: ``"27.31 dB"``."""
    return f"{value:.4g} {get_tool(tool).unit}".rstrip()


def values(tools: Iterable[str], facts: Facts) -> str:
    """What some tools measured, in their own units: ``"PSNR is 27.31 dB, SSIM is 0.8123"``."""
    measured = [(name, facts.value(name)) for name in tools]
    return ", ".join(
        f"{name} could not be measured" if value is None else f"{name} is {in_unit(name, value)}"
        for name, value in measured
    )


def held_against(claim: Threshold, facts: Facts) -> str:
    """A measured value and the threshold: ``"the quality is fair (3.2 of 5), above 3"``."""
    value = facts.value(claim.tool)
    if claim.tool:
        said = values([claim.tool], facts)
    else:
        said = f"the quality is {facts.score.level.lower()} ({value:.2f} of 5)" if facts.score else "there is no score"
    if claim.scale is not None and value is not None:
        said, value = f"the quality is {claim.scale.at(value)}", claim.scale.value(value)
    side = "exactly" if value == claim.number else ("above" if (value or 0) > claim.number else "below")
    return f"{said}, {side} {claim.number:g},"


def reasoning(facts: Facts, *first: str) -> str:
    """The reasons in words: the tools' numbers, the strongest distortions, and what the reader must know."""
    evidence = facts.evidence
    scopes = scopes_of(evidence)
    parts = [*first, f"Measured on {' and '.join(map(scope_words, scopes))}." if scopes else ""]
    parts += [*_tool_sentences(facts), *_scores_of_parts(facts, scopes)]
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
    return sentences(parts)


def sentences(parts: Iterable[str]) -> str:
    """Parts, with or without a full stop, as sentences one after the other."""
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


def _scores_of_parts(facts: Facts, scopes: list[str]) -> list[str]:
    """The score of every part, where there are several; the answer's is that of the first."""
    if len(scopes) < 2:
        return []
    scores = {scope: quality_score(facts.evidence.on(scope)) for scope in scopes}
    said = [f"{scope_words(scope)} {score.value:.2f} ({score.tool})" for scope, score in scores.items() if score]
    return [f"By part: {', '.join(said)}."] if said else []


def _finding_sentence(scope: str, explanation: str) -> str:
    return explanation if scope == GLOBAL else f"In {scope_words(scope)}: {explanation}"


def _tool_sentences(facts: Facts) -> list[str]:
    score, evidence = facts.score, facts.evidence
    if score is None:
        ran = facts.plan.plan.tool_execution
        return ["No quality tool gave a score." if ran else "The plan ran no quality tool, so there is no score."]
    log = next((log for log in evidence.tool_logs if log.tool == score.tool and log.score is not None), None)
    own = f"{score.tool} gives a score of {score.tool_score:.2f}"
    if log and log.raw is not None:
        own = f"{score.tool} measures {in_unit(log.tool, log.raw)}, a score of {score.tool_score:.2f}"
    said = [f"{own} on the scale of 1 (bad) to 5 (excellent)."]
    if overlooked := facts.overlooked:
        said.append(f"{score.tool} is weak at {' and '.join(overlooked)}, so the score may be too good.")
    if (found := facts.too_good) is not None:
        said.append(
            f"That is better than {found.severity.value} {in_words(found.type)} ({found.confidence:.0%} sure) allows, "
            f"which was measured; weighed together, that makes {score.value:.2f}."
        )
    if score.opinion:
        said.append(f"Weighed with the chat model's opinion, that makes {score.value:.2f}: {score.level}.")
    others = [f"{name} {value:.2f}" for name, value in evidence.quality_scores.items() if name != score.tool]
    if others:
        said.append(f"The other tools alone: {', '.join(others)}.")
    opposed = contradicting(evidence)
    if opposed:
        verb = "contradicts" if len(opposed) == 1 else "contradict"
        said.append(f"{' and '.join(opposed)} {verb} {evidence.primary_tool} by more than their calibration errors.")
    return said
