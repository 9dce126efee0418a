"""The evidence, read once for every answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from loopwright.workflows.iqa.answer.fusion import QualityScore, level_of
from loopwright.workflows.iqa.answer.parts import scopes_of
from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, Severity, in_words, kind_of
from loopwright.workflows.iqa.measuring.detection import is_sure
from loopwright.workflows.iqa.measuring.severity import closeness, nearness, strength
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.tools.registry import all_tools

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
        wanted = _with_kinds(names)
        if self.plan.plan.distortion_detection and self.evidence.distortion_set and not self._open(wanted):
            return True
        return bool(names) and any(item.type in wanted or kind_of(item.type) in wanted for _, item in self.analysed)

    def untold(self, names: Sequence[str]) -> str:
        """Why it cannot be told whether there is any of some distortions, if none was found; empty if it can."""
        if self.covers((*names,)):
            return ""
        about = (*(in_words(name).casefold() for name in names), "needs at least")
        said = (note for note in self.evidence.notes if not note.startswith(ABSTAINED))
        notes = (note for note in said if any(word in note.casefold() for word in about))
        return next(notes, self.abstained or "nothing was measured that the question is about").rstrip(".")

    def _open(self, names: frozenset[str]) -> bool:
        """Whether detection left some of these names undecided; an abstention that names no kinds is about them all."""
        undecided = self.evidence.undecided
        if not undecided:
            return bool(self.abstained)
        return not names or any(kind_of(name) in undecided for name in names)

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


def _with_kinds(names: tuple[str, ...]) -> frozenset[str]:
    """The names with every sub-type of the kinds among them, and blur for "sharpness", which blur takes away."""
    kinds = {name for name in names if name not in SUBTYPES}
    if Distortion.SHARPNESS in kinds:
        kinds.add(Distortion.BLURS)
    return frozenset({*names, *kinds, *(sub for sub, kind in SUBTYPES.items() if kind in kinds)})
