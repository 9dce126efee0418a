"""The evidence, read once for every answer: one quality score out of the tools' scores, and parts put into words.

A chat model's opinion is weighed with the score.

The answer is the primary tool's score: no mean of tools agreed better with people on types that it had not seen.
Every tool's own score stays beside the answer as a baseline.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from loopwright.workflows.iqa.distortions import Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE, is_sure
from loopwright.workflows.iqa.measuring.severity import closeness, nearness, strength
from loopwright.workflows.iqa.measuring.softness import Softness
from loopwright.workflows.iqa.schemas import GLOBAL, DistortionFinding, ExecutorOutput, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.tools.calibration import calibrations
from loopwright.workflows.iqa.tools.registry import all_tools

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
