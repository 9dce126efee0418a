"""The facts: the evidence, read once for every answer, with one quality score; and how they are put into words.

The answer is the primary tool's score: no mean of tools agreed better with people on types that it had not seen. A chat
model's opinion is weighed with it. Every tool's own score stays beside the answer as a baseline.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from loopwright.config import shipped
from loopwright.workflows.iqa.distortions import Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, is_sure
from loopwright.workflows.iqa.measuring.detection_parts import place_of
from loopwright.workflows.iqa.measuring.severity import closeness, gauge_of, nearness, strength
from loopwright.workflows.iqa.measuring.softness import Softness
from loopwright.workflows.iqa.question.scales import Threshold
from loopwright.workflows.iqa.schemas import GLOBAL, DistortionFinding, ExecutorOutput, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.tools.registry import all_tools, calibrations, get_tool

LEVEL_NAMES: dict[int, str] = {1: "Bad", 2: "Poor", 3: "Fair", 4: "Good", 5: "Excellent"}
"""Quality level -> its name, as in the five-point scale of ITU-R BT.500."""


@dataclass(frozen=True, slots=True)
class QualityScore:
    """The quality, and what it was made of."""

    value: float
    """From 1 (bad) to 5 (excellent)."""
    tool: str
    """The tool whose score it is, or that the opinion was weighed against."""
    tool_score: float
    """The score of that tool, 1..5."""
    opinion: dict[int, float] | None = None
    """The chat model's probability of each level, if it took part."""

    @property
    def level(self) -> str:
        """The name of the nearest level."""
        return level_name(self.value)


def level_of(score: float) -> int:
    """The quality level, 1 to 5, nearest to a score; one halfway between two takes the upper."""
    return min(5, max(1, math.floor(score + 0.5)))


def level_name(score: float) -> str:
    """The name of the quality level nearest to a score."""
    return LEVEL_NAMES[level_of(score)]


def weigh_opinion(tool_score: float, probabilities: Mapping[int, float]) -> float:
    """The quality, 1..5, by a chat model's opinion weighed against the tools' score.

    ``q = sum(a_c p_c c) / sum(a_c p_c)`` over the levels c = 1..5 with ``a_c = exp(-(q_tools - c)^2)``: the rule of
    AgenticIQA (arXiv 2509.26006) with the division that makes it a mean, so that q lies within the levels that the
    model holds possible.

    Args:
        tool_score: The tools' score, 1..5.
        probabilities: The model's probability of each level 1..5, not negative and not all 0; they need not sum to 1.
            They must be its own statement: one rounded level is no distribution.
    """
    weights = {c: math.exp(-((tool_score - c) ** 2)) * p for c, p in probabilities.items()}
    return sum(weight * c for c, weight in weights.items()) / sum(weights.values())


def quality_score(evidence: ExecutorOutput, opinion: Mapping[int, float] | None = None) -> QualityScore | None:
    """The score that answers a question about overall quality.

    Args:
        evidence: What was measured.
        opinion: A chat model's probability of each level, if it gave one for each.

    Returns:
        The primary tool's score, weighed with the opinion if there is one;
        where the primary tool gave none, that of the first selected tool that did. None if no tool gave a score (an
        opinion alone is not measured), or if the image does not lie on the reference that it was compared with.
    """
    scores = {} if evidence.apart else evidence.quality_scores
    order = (evidence.primary_tool, *evidence.selected_tools, *scores)
    tool = next((name for name in order if name in scores), None)
    if tool is None:
        return None
    own = scores[tool]
    value = own if opinion is None else weigh_opinion(own, opinion)
    return QualityScore(value, tool, own, None if opinion is None else dict(opinion))


def recognised(findings: Iterable[DistortionFinding]) -> str | None:
    """The strongest distortion that is surely there, or None."""
    sure = [item for item in findings if item.severity is not Severity.NONE and item.confidence >= SURE]
    return max(sure, key=strength).type if sure else None


def contradicting(evidence: ExecutorOutput) -> list[str]:
    """The tools that differ from the primary one by more than both calibration errors, the most different first."""
    # A tool that nobody calibrated contradicts none.
    known, primary = calibrations(), evidence.primary_tool
    scores = {name: score for name, score in evidence.quality_scores.items() if name in known}
    if primary is None or primary not in scores:
        return []
    apart = {name: abs(score - scores[primary]) for name, score in scores.items() if name != primary}
    opposed = [name for name in apart if apart[name] > known[primary].error + known[name].error]
    return sorted(opposed, key=lambda name: -apart[name])


def scope_words(scope: str) -> str:
    """A scope as it is put into a sentence."""
    if scope == GLOBAL:
        return "the whole image"
    return scope if scope.startswith(("the ", "a ", "an ")) else f"the {scope}"


def scopes_of(evidence: ExecutorOutput) -> list[str]:
    """The scopes that some evidence is about, in the order in which they were measured."""
    logs = [log.region for log in evidence.tool_logs]
    return list(dict.fromkeys([*logs, *evidence.distortion_set, *evidence.distortion_analysis, *evidence.regions]))


SOFT_IN_PART = "Soft in part: "
"""How the executor's note about a soft part begins."""


def soft_note(part: Softness) -> str:
    """What was measured about a soft part, and what it may mean: two sentences, without the last full stop."""
    spread = part.place in ("spread over the image", "nearly everywhere")
    where = part.place if spread else f"mostly {part.place}"
    # Below half a pixel the number says nothing: a pixel is as sharp as it gets.
    edges = f"by {part.sharpest:.1f} pixels" if part.sharpest >= 0.5 else "by less than half a pixel"
    return (
        f"{SOFT_IN_PART}its sharpest parts are sharp (edges blurred {edges}), while about "
        f"{part.share:.0%} of what can be judged is soft, {where}. That may be wanted (shallow depth of field, motion, "
        "a smooth surface) or a fault; the picture alone cannot tell"
    )


def said_soft(notes: list[str]) -> str:
    """What the notes say about a soft part, without what it may mean; empty if they say nothing about one."""
    said = (note.removeprefix(SOFT_IN_PART) for note in notes if note.startswith(SOFT_IN_PART))
    return next(said, "").partition(". ")[0]


def mostly_soft(notes: list[str]) -> bool:
    """Whether most of what can be judged is soft, so that its sharpest parts are beside the point."""
    share = re.search(r"(\d+)%", said_soft(notes))
    return share is not None and int(share[1]) >= _MOST


_MOST = 65
"""Percent of an image from which its softness is not beside the point; a sharp photograph coded as JPEG of quality 30
has 59."""


UNABLE = "Unable to determine"
"""The answer where the evidence bears nothing out."""

ABSTAINED = "Detection abstained: "
"""How the executor's note begins when the detector could not tell."""

IMPAIRMENT_LEVEL = {severity: 5 - severity.rank for severity in Severity}
"""Severity of one distortion -> quality level in that respect, as ITU-R BT.500's impairment scale pairs them."""

_STRUCTURE = (Distortion.COMPRESSION, Distortion.NOISE, Distortion.BLURS, Distortion.SPATIAL)
EVIDENT = 0.9
"""Confidence from which a finding is weighed against the score."""


@dataclass(frozen=True)
class Facts:
    """The evidence."""

    plan: PlannerOutput
    """What was to be done."""
    evidence: ExecutorOutput
    """What was measured."""
    score: QualityScore | None = None
    """The overall quality, if a tool measured it."""

    @cached_property
    def analysed(self) -> list[tuple[str, DistortionFinding]]:
        """Scope and finding of every analysed distortion, the absent too, but no doubtful ones, strongest first."""
        pairs = [(scope, item) for scope, items in self.evidence.distortion_analysis.items() for item in items]
        return sorted((pair for pair in pairs if pair[1].confidence), key=lambda pair: -strength(pair[1]))

    def value(self, tool: str | None = None) -> float | None:
        """A tool's own value, in its own unit; without a tool, the quality, 1 to 5. None if it was not measured."""
        if tool is None:
            return None if self.score is None else self.score.value
        return next((log.raw for log in self.evidence.tool_logs if log.tool == tool and log.raw is not None), None)

    @property
    def abstained(self) -> str:
        """Why detection could not tell, in words; empty if it could."""
        told = (note.removeprefix(ABSTAINED) for note in self.evidence.notes if note.startswith(ABSTAINED))
        return next(told, "")

    @cached_property
    def present(self) -> list[tuple[str, DistortionFinding]]:
        """Those that are there, strongest first."""
        return [pair for pair in self.analysed if pair[1].severity is not Severity.NONE]

    @property
    def compared(self) -> bool:
        """Whether the image was held against a reference on which it lies."""
        return self.plan.reference_mode is ReferenceMode.FULL and not self.evidence.apart

    @cached_property
    def sure(self) -> list[DistortionFinding]:
        """Those that are there and more than a guess, strongest first."""
        return [item for _, item in self.present if is_sure(item)]

    @property
    def unanalysed(self) -> list[str]:
        """What was detected while the plan had the analysis off, strongest first: present, of unknown severity."""
        if self.analysed or not self.plan.plan.distortion_detection:
            return []
        return list(dict.fromkeys(name for names in self.evidence.distortion_set.values() for name in names))

    @property
    def overlooked(self) -> list[str]:
        """The kinds of tone and colour among the present distortions that the score's tool ranks unlike people."""
        tool = None if self.score is None else self.score.tool
        strengths = next((known.strengths for known in all_tools() if known.name == tool), frozenset(Distortion))
        tone = (Distortion.BRIGHTNESS, Distortion.CONTRAST, Distortion.COLOR)
        kinds = dict.fromkeys(kind_of(item.type) for _, item in self.present)
        return [kind.value for kind in kinds if kind in tone and kind not in strengths]

    @property
    def too_good(self) -> DistortionFinding | None:
        """A finding of structure so sure and strong that the score without a reference contradicts it.

        Tone and colour do not count: of 500 photographs with such findings people's scores bear the tool out.
        """
        if self.score is None or self.plan.reference_mode is not ReferenceMode.NONE:
            return None
        value, scored = self.score.tool_score, scopes_of(self.evidence)[0]
        there = (item for scope, item in self.present if scope == scored and kind_of(item.type) in _STRUCTURE)
        strong = (item for item in there if item.confidence >= EVIDENT and item.severity >= Severity.SEVERE)
        return next((item for item in strong if value - IMPAIRMENT_LEVEL[item.severity] >= 1), None)

    def covers(self, names: tuple[str, ...]) -> bool:
        """Whether no finding for these canonical names (none for every one) means that there is no such distortion."""
        if self.plan.plan.distortion_detection and self.evidence.distortion_set and not self._open(names):
            return True
        return any(closeness(name, item.type) > 0 for name in names for _, item in self.analysed)

    def untold(self, names: Sequence[str]) -> str:
        """Why it cannot be told whether there is any of some distortions, if none was found; empty if it can."""
        if self.covers((*names,)):
            return ""
        about = (*(in_words(name).casefold() for name in names), "needs at least")
        said = (note for note in self.evidence.notes if not note.startswith(ABSTAINED))
        notes = (note for note in said if any(word in note.casefold() for word in about))
        return next(notes, self.abstained or "nothing was measured that the question is about").rstrip(".")

    def _open(self, names: tuple[str, ...]) -> bool:
        """Whether detection left some of these names undecided; an abstention that names no kinds is about them all."""
        undecided = self.evidence.undecided
        if not undecided:
            return bool(self.abstained)
        return not names or any(closeness(name, kind) > 0 for name in names for kind in undecided)

    def matching(self, names: tuple[str, ...]) -> list[tuple[float, DistortionFinding]]:
        """The present findings that speak about some names, each with how closely it does (0..1], best first.

        Args:
            names: Canonical names; none stands for every distortion.
        """
        pairs = [(max((nearness(name, item) for name in names), default=1.0), item) for _, item in self.present]
        return sorted((p for p in pairs if p[0] > 0), key=lambda pair: -pair[0] * strength(pair[1]))

    def severity(self, names: tuple[str, ...]) -> Severity | None:
        """How strong the strongest distortion of some names is; None if nothing speaks about them."""
        found = self.matching(names)
        if found:
            return max(item.severity for _, item in found)
        unknown = any(closeness(name, other) > 0 for other in self.unanalysed for name in names)
        return Severity.NONE if self.covers(names) and not unknown else None


def compare(facts: Facts) -> str | None:
    """Whether the image is "worse" than its reference or the "same"; None without a comparison.

    The reference is taken as pristine, so a difference is a loss: nothing here can call an image better than it.
    """
    if not facts.compared:
        return None
    if facts.present or facts.unanalysed or facts.evidence.otherwise:
        return "worse"
    if facts.score is not None:
        return "same" if level_of(facts.score.tool_score) == 5 else "worse"
    return "same" if facts.covers(()) else None


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
