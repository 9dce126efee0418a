"""Claims held against the evidence, and with them the options of a multiple choice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.answer.claims import (
    Claim,
    ComparisonClaim,
    DistortionClaim,
    LevelClaim,
    SeverityClaim,
    ToolClaim,
    YesNoClaim,
    claim_of,
    kind_names,
    read_option,
    says_cannot_tell,
)
from loopwright.workflows.iqa.answer.fusion import QualityScore, level_of
from loopwright.workflows.iqa.answer.parts import scopes_of
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import SURE
from loopwright.workflows.iqa.measuring.severity import closeness, strength
from loopwright.workflows.iqa.question.question import read_questions
from loopwright.workflows.iqa.question.scales import Threshold
from loopwright.workflows.iqa.question.vocabulary import named_distortions
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerOutput, ReferenceMode
from loopwright.workflows.iqa.tools.registry import all_tools

ABSTAINED = "Detection abstained: "
"""How the executor's note begins when the detector could not tell."""

IMPAIRMENT_LEVEL: dict[Severity, int] = {
    Severity.NONE: 5,
    Severity.SLIGHT: 4,
    Severity.MODERATE: 3,
    Severity.SEVERE: 2,
    Severity.EXTREME: 1,
}
"""Severity of one distortion -> quality level in that respect, as ITU-R BT.500's impairment scale pairs them."""


@dataclass(frozen=True)
class Facts:
    """The evidence, read once for all claims."""

    plan: PlannerOutput
    """What was to be done."""
    evidence: ExecutorOutput
    """What was measured."""
    score: QualityScore | None = None
    """The overall quality, if a tool measured it."""

    @cached_property
    def analysed(self) -> list[tuple[str, DistortionFinding]]:
        """Scope and finding of every analysed distortion, the absent ones too, strongest first."""
        pairs = [(scope, item) for scope, items in self.evidence.distortion_analysis.items() for item in items]
        return sorted(pairs, key=lambda pair: -strength(pair[1]))

    def value(self, tool: str | None = None) -> float | None:
        """A tool's own value, in its own unit; without a tool, the quality, 1 to 5. None if it was not measured."""
        if tool is None:
            return None if self.score is None else self.score.value
        return next((log.raw for log in self.evidence.tool_logs if log.tool == tool and log.raw is not None), None)

    @cached_property
    def present(self) -> list[tuple[str, DistortionFinding]]:
        """Those that are there, strongest first."""
        return [pair for pair in self.analysed if pair[1].severity is not Severity.NONE]

    @cached_property
    def sure(self) -> list[DistortionFinding]:
        """Those that are there and more than a guess, strongest first."""
        return [item for _, item in self.present if item.confidence >= SURE or self._has_reference]

    @property
    def _has_reference(self) -> bool:
        return self.plan.reference_mode is ReferenceMode.FULL

    @property
    def unanalysed(self) -> list[str]:
        """What was detected while the plan had the analysis off, strongest first: present, of unknown severity."""
        if self.analysed or not self.plan.plan.distortion_detection:
            return []
        return list(dict.fromkeys(name for names in self.evidence.distortion_set.values() for name in names))

    @property
    def abstained(self) -> bool:
        """Whether the detector could neither state a distortion nor call the image clean."""
        return any(note.startswith(ABSTAINED) for note in self.evidence.notes)

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
        """A sure finding so strong that the score without a reference contradicts it, on what that score is about."""
        if self.score is None or self.plan.reference_mode is not ReferenceMode.NONE:
            return None
        value, scored = self.score.value, scopes_of(self.evidence)[0]
        there = (item for scope, item in self.present if scope == scored)
        strong = (item for item in there if item.confidence >= SURE and item.severity >= Severity.SEVERE)
        return next((item for item in strong if value - IMPAIRMENT_LEVEL[item.severity] >= 1), None)

    def covers(self, names: tuple[str, ...]) -> bool:
        """Whether the absence of a finding for these names means that there is no such distortion.

        Args:
            names: Canonical names; none stands for every distortion.
        """
        wanted = kind_names(names)
        if self.plan.plan.distortion_detection and self.evidence.distortion_set and not self._open(wanted):
            return True
        return bool(names) and any(item.type in wanted or kind_of(item.type) in wanted for _, item in self.analysed)

    def _open(self, names: frozenset[str]) -> bool:
        """Whether detection left some of these names undecided; an abstention that names no kinds is about them all."""
        undecided = self.evidence.undecided
        if not undecided:
            return self.abstained
        return not names or any(kind_of(name) in undecided for name in names)

    def matching(self, names: tuple[str, ...]) -> list[tuple[float, DistortionFinding]]:
        """The present findings that speak about some names, each with how closely it does (0..1], best first.

        Args:
            names: Canonical names; none stands for every distortion.
        """
        pairs = [(max((closeness(name, item.type) for name in names), default=1.0), item) for _, item in self.present]
        return sorted((p for p in pairs if p[0] > 0), key=lambda pair: -pair[0] * strength(pair[1]))

    def severity(self, names: tuple[str, ...]) -> Severity | None:
        """How strong the strongest distortion of some names is; None if nothing speaks about them."""
        found = self.matching(names)
        if found:
            return max((item.severity for _, item in found), key=lambda severity: severity.rank)
        unknown = any(closeness(name, other) > 0 for other in self.unanalysed for name in names)
        return Severity.NONE if self.covers(names) and not unknown else None


def judge(claim: Claim, facts: Facts, topic: tuple[str, ...] = (), *, nearest: bool = False) -> float | None:
    """Hold a claim against the evidence.

    Args:
        claim: What is stated.
        facts: What was measured.
        topic: The distortions that the question is about, for claims about a strength or level alone.
        nearest: Whether a claim of a level or strength up to one away counts too, the less the farther it is: for
            options, among which the nearest is the answer.

    Returns:
        Above 0 if the evidence bears it out, the more the better; 0 if the evidence speaks against it; None if nothing
        was measured about it.
    """
    match claim:
        case DistortionClaim():
            return _distortion(claim, facts)
        case LevelClaim():
            return _level(claim, facts, topic, nearest)
        case SeverityClaim():
            severity = facts.severity(topic)
            if severity is None or severity is claim.severity:
                return None if severity is None else 1.0
            return 0.25 if nearest and abs(severity.rank - claim.severity.rank) == 1 else 0.0
        case ComparisonClaim():
            relation = compare(facts)
            return None if relation is None else float(relation == claim.image_is)
        case ToolClaim():
            return _tool(claim, facts)
        case Threshold():
            value = facts.value(claim.tool)
            return None if value is None else float(claim.holds(value))
        case YesNoClaim():
            return None


def compare(facts: Facts) -> str | None:
    """Whether the image is "worse" than its reference or the "same"; None without a comparison.

    The reference is taken as pristine, so a difference is a loss: nothing here can call an image better than it.
    """
    if facts.plan.reference_mode is not ReferenceMode.FULL:
        return None
    if facts.present or facts.unanalysed:
        return "worse"
    if facts.score is not None:
        return "same" if level_of(facts.score.tool_score) == 5 else "worse"
    return "same" if facts.covers(()) else None


def _distortion(claim: DistortionClaim, facts: Facts) -> float | None:
    found = facts.matching(claim.names)
    for position, other in enumerate(facts.unanalysed):
        near = max((closeness(name, other) for name in claim.names), default=1.0)
        if near > 0 and claim.severity is None:
            return near / (1 + position) if claim.present else 0.0
    if not found:
        known = facts.covers(claim.names)
        return (float(not claim.present)) if known else None
    if not claim.present:
        return float(all(finding.severity <= claim.tolerated for _, finding in found))
    near, finding = found[0]
    if claim.severity is not None and claim.severity is not finding.severity:
        return 0.0
    return near * strength(finding)


def _level(claim: LevelClaim, facts: Facts, topic: tuple[str, ...], nearest: bool) -> float | None:
    """Nearness of the closest claimed level; of two equally near claims the narrower is better."""
    if topic:
        severity = facts.severity(topic)
        value = None if severity is None else float(IMPAIRMENT_LEVEL[severity])
    else:
        value = None if facts.score is None else facts.score.value
    if value is None:
        return None
    if not nearest:
        return float(level_of(value) in claim.levels)
    distance = min(abs(value - level) for level in claim.levels)
    return 1.01 - distance - 0.001 * len(claim.levels) if distance <= 1 else 0.0


def _tool(claim: ToolClaim, facts: Facts) -> float | None:
    evidence = facts.evidence
    if claim.tool == evidence.primary_tool:
        return 2.0
    if claim.tool in evidence.selected_tools:
        return 1 / (1 + evidence.selected_tools.index(claim.tool))
    return 0.0 if evidence.selected_tools else None


UNABLE = "Unable to determine"
"""The answer where the evidence bears nothing out."""

_ABSENT_ONE = re.compile(r"\b(not|n't|except|absent|isn't|aren't|doesn't|free (of|from))\b", re.IGNORECASE)
_WEAKEST = re.compile(r"\b(least|weakest|lowest|mildest)\b", re.IGNORECASE)
_LETTER = re.compile(r"^\W*(?:(?:option|answer|choice)\s*:?\s*)?\(?\s*([A-Za-z])\s*(?:[).:,]|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen, and why."""

    letter: str | None
    """The option's letter; None if the evidence bears none out and none says that it cannot be told."""
    why: str
    """One sentence."""


def choose(stem: str, options: dict[str, str], facts: Facts) -> Choice:
    """Choose the option that the evidence bears out best.

    Where no option is borne out, or two are borne out alike, nothing is guessed: the option that says "cannot tell" is
    chosen if there is one, else none.

    Args:
        stem: The question without its options.
        options: Letter -> text.
        facts: What was measured.

    Returns:
        The choice.
    """
    claims = {letter: read_option(text, stem) for letter, text in options.items()}
    topic = tuple(named_distortions(stem))
    support = {letter: _support(claim, stem, facts, topic) for letter, claim in claims.items() if claim}
    known = {letter: value for letter, value in support.items() if value is not None}
    letter = _pick(stem, claims, known)
    if letter is not None:
        return Choice(letter, f"The evidence bears out {letter} ({options[letter]}).")
    why = "The evidence bears out none of the options." if known else "Nothing was measured that the options are about."
    if len([value for value in known.values() if value > 0]) > 1:
        why = "The evidence does not tell the options apart."
    way_out = next((letter for letter, text in options.items() if says_cannot_tell(text)), None)
    if way_out is not None:
        return Choice(way_out, f"{why} {way_out} ({options[way_out]}) says so.")
    return Choice(None, why)


def _support(claim: Claim, stem: str, facts: Facts, topic: tuple[str, ...]) -> float | None:
    if not isinstance(claim, YesNoClaim):
        return judge(claim, facts, topic, nearest=True)
    asked = claim_of(read_questions(stem))
    truth = None if asked is None else judge(asked, facts, topic if isinstance(asked, DistortionClaim) else ())
    return None if truth is None else float((truth > 0) is claim.yes)


def _pick(stem: str, claims: dict[str, Claim | None], known: dict[str, float]) -> str | None:
    """The letter with the best support, if it is alone there; turned round for "which is not", "which is least"."""
    about_distortions = all(isinstance(claims[letter], DistortionClaim) for letter in known)
    if known and about_distortions and _ABSENT_ONE.search(stem):
        absent = [letter for letter, value in known.items() if value == 0]
        return absent[0] if len(absent) == 1 and len(known) > 1 else None
    borne_out = {letter: value for letter, value in known.items() if value > 0}
    if not borne_out:
        return None
    weakest = about_distortions and bool(_WEAKEST.search(stem))
    best = min(borne_out.values()) if weakest else max(borne_out.values())
    letters = [letter for letter, value in borne_out.items() if abs(value - best) < 1e-9]
    return letters[0] if len(letters) == 1 else None


def parse_choice(reply: str, options: dict[str, str]) -> str:
    """The option that a reply names.

    Args:
        reply: A letter in any of the forms "B", "b.", "(B) blur", "Option B", or an option's whole text.
        options: Letter -> text.

    Returns:
        The letter, or `UNABLE` if the reply says that.

    Raises:
        UnknownNameError: If it names no option: a letter outside of them is an error, not a guess.
    """
    words = reply.strip()
    if words.rstrip(".").casefold() == UNABLE.casefold():
        return UNABLE
    for letter, text in options.items():
        if words.rstrip(".").casefold() == text.casefold():
            return letter
    match = _LETTER.match(words)
    if match and match[1].upper() in options:
        return match[1].upper()
    raise UnknownNameError("option", reply, [f"{letter} ({text})" for letter, text in options.items()])
