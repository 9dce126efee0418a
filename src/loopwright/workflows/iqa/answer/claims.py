"""What a question or an option states about an image, read from its words. `verdicts` holds it against the evidence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, Severity
from loopwright.workflows.iqa.question.question import Operation, Question
from loopwright.workflows.iqa.question.scales import Threshold
from loopwright.workflows.iqa.question.vocabulary import named_distortions, spans, spoken
from loopwright.workflows.iqa.tools.registry import embedded_tool


@dataclass(frozen=True, slots=True)
class DistortionClaim:
    """The image has, or has not, one of some distortions."""

    names: tuple[str, ...]
    """Canonical names, any of which will do; empty for any distortion at all."""
    present: bool = True
    """False where the claim is that it has none of them, as "sharp" says of blur."""
    severity: Severity | None = None
    """The strength that is claimed, if one is."""
    tolerated: Severity = Severity.NONE
    """The strongest that a claim of absence allows: "acceptable" allows slight."""


@dataclass(frozen=True, slots=True)
class LevelClaim:
    """The overall quality is one of some levels."""

    levels: frozenset[int]
    """From 1 (bad) to 5 (excellent)."""


@dataclass(frozen=True, slots=True)
class SeverityClaim:
    """What the question is about has this strength."""

    severity: Severity
    """The strength."""


@dataclass(frozen=True, slots=True)
class ComparisonClaim:
    """The image is worse than, better than, or the same as its reference."""

    image_is: Literal["worse", "better", "same"]
    """How the image in question does."""


@dataclass(frozen=True, slots=True)
class ToolClaim:
    """This tool is the one that suits."""

    tool: str
    """Its registered name."""


@dataclass(frozen=True, slots=True)
class YesNoClaim:
    """What the question asks is so, or is not."""

    yes: bool
    """Whether it is so."""


Claim = DistortionClaim | LevelClaim | SeverityClaim | ComparisonClaim | ToolClaim | YesNoClaim | Threshold
"""Anything that can be held against the evidence."""

_CANNOT_TELL = re.compile(
    r"\b(can ?not|can't|unable|unsure|not sure|uncertain|unclear|don't know|impossible to|not enough|undetermined|"
    r"none of (the|these|those)|neither|unknown)\b|^\W*(none|other|n/?a)\W*$"
)
_NOTHING = re.compile(
    r"^\W*(none|nothing|no (visible |obvious )?(distortions?|art[ie]facts?|problems?|issues?|degradations?))\W*$"
)
_NEGATED = re.compile(r"\b(no|not|without|never|less|free (of|from))\b|n't\b|\bfree\W*$|-free\b")
_ANY = re.compile(
    r"\b(distort(ed|ions?)|degrad(ed|ations?)|damaged?|art[ie]facts?|wrong|problems?|issues?|defects?|flaws?)\b"
)
_PRISTINE = re.compile(r"\b(pristine|undistorted|undamaged|flawless)\b")
_CLEAN = re.compile(r"\b(clean|spotless)\b")
_LEVELS: dict[str, frozenset[int]] = {
    "bad": frozenset({1}),
    "terrible": frozenset({1}),
    "awful": frozenset({1}),
    "very poor": frozenset({1}),
    "poor": frozenset({2}),
    "fair": frozenset({3}),
    "average": frozenset({3}),
    "acceptable": frozenset({3, 4, 5}),
    "usable": frozenset({3, 4, 5}),
    "good": frozenset({4}),
    "great": frozenset({4, 5}),
    "excellent": frozenset({5}),
    "perfect": frozenset({5}),
    "low": frozenset({1, 2}),
    "medium": frozenset({3}),
    "high": frozenset({4, 5}),
}
_LEVEL_TEXT = re.compile(rf"^\W*({'|'.join(sorted(_LEVELS, key=len, reverse=True))})(?: quality)?\W*$")
_SCORING = re.compile(r"\b(quality|rate|rating|score|scale)\b")
_COMPARING = re.compile(
    r"\b(worse|better|compare|compared|comparison|versus|vs|differ|different|same as|identical|indistinguishable"
    r"|than (?:the|its|my) (?:reference|original|source)|(?:any|visible|noticeable) differences?)\b"
)
_REFERENCE = re.compile(r"\b(reference|original|pristine)\b")
_IMAGE = re.compile(r"\b(distorted|test|given|this|assessed|degraded|image in question)\b")
_ABOUT_STRENGTH = re.compile(r"\b(sever|strong|how much|intens|degree|level of)")


def says_cannot_tell(option: str) -> bool:
    """Whether an option is the way out: "cannot tell", "none of the above", "unsure"."""
    return bool(_CANNOT_TELL.search(option.lower()))


def asks_comparison(question: str) -> bool:
    """Whether a question compares the image with another."""
    return bool(_COMPARING.search(question.lower()))


def claim_of(questions: Iterable[Question]) -> Claim | None:
    """What a yes-or-no question would state if it were a statement: "Is the car sharp?" states that nothing blurs it.

    Args:
        questions: What is asked; the first one that states anything counts.

    Returns:
        The claim, or None if its words are not understood.
    """
    return next((claim for asked in questions if (claim := _claim_of(asked))), None)


def _claim_of(question: Question) -> Claim | None:
    if question.threshold is not None:
        return question.threshold
    if question.operation is Operation.RELATE:
        return _comparison(question.text, question=True)
    if question.terms:
        tolerated = Severity.SLIGHT if question.terms[0].absent or question.tolerant else Severity.NONE
        return DistortionClaim(question.names, present=not question.terms[0].absent, tolerated=tolerated)
    if question.good is None:
        return None
    if re.search(
        r"\b(?:distort|degrad|damag|art[ie]fact|wrong|problem|issue|defect|flaw|clean|pristine)", question.text
    ):
        return DistortionClaim((), present=not question.good)
    # "Good" in a question is a threshold; as an option it is one of five levels.
    lowest = 3 if re.search(r"\b(?:accept|usab|ok|okay|fine|suitable)", question.text) else 4
    levels = frozenset(range(lowest, 6)) if question.good else frozenset({1, 2})
    return LevelClaim(levels)


def read_option(option: str, question: str) -> Claim | None:
    """What an option states, given the question that it answers.

    Args:
        option: The option's text, without its letter.
        question: The question, without the options.

    Returns:
        The claim, or None if its words are not understood.
    """
    text, asked = option.strip().lower(), question.lower()
    yes_no = re.match(r"^(yes|no)\W*($|[,.;:!(])", text)
    if yes_no:
        return YesNoClaim(yes_no[1] == "yes")
    tool = embedded_tool(option)
    if tool is not None:
        return ToolClaim(tool.name)
    if asks_comparison(asked) or (asks_comparison(text) and _REFERENCE.search(text)):
        return _comparison(text, question=False, asked=asked)
    strength = _severity(text)
    if strength is not None and (_ABOUT_STRENGTH.search(asked) or named_distortions(asked)):
        return SeverityClaim(strength)
    level = _level(text, asked)
    if level is not None:
        return level
    return _distortion(text) or (SeverityClaim(strength) if strength is not None else None)


def read_statement(clause: str) -> DistortionClaim | None:
    """What a clause of prose states about distortions; None if it names none."""
    text = clause.strip().lower()
    # "A clear blur" is no clear image.
    return _distortion(re.sub(r"\b(?:clear|detailed)\b", " ", text) if named_distortions(text) else text)


def _severity(text: str) -> Severity | None:
    try:
        return Severity(text.strip(" .!"))
    except ValueError:
        return None


def _level(text: str, asked: str) -> LevelClaim | None:
    match = _LEVEL_TEXT.match(text)
    if match:
        return LevelClaim(_LEVELS[match[1]])
    number = re.match(r"^([1-5])(?:\s*(?:stars?|/\s*5|out of 5))?$", text)
    return LevelClaim(frozenset({int(number[1])})) if number and _SCORING.search(asked) else None


def _distortion(text: str) -> DistortionClaim | None:
    if _NOTHING.match(text) or _PRISTINE.search(text):
        return DistortionClaim((), present=False)
    negated = bool(_NEGATED.search(text))
    if _CLEAN.search(text):
        return DistortionClaim((), present=negated)
    denied = tuple(span.key for span in spans(spoken(text)) if span.section == "praise")
    if denied and not any(span.section == "faults" for span in spans(spoken(text))):
        return DistortionClaim(denied, present=negated)
    names = tuple(named_distortions(text))
    if names:
        words = re.findall(r"[a-z]+", re.sub(r"\b(low|high) contrast\b", "", text))
        strengths = [_severity(word.removesuffix("ly")) for word in words]
        severity = next((s for s in strengths if s is not None and s is not Severity.NONE), None)
        return DistortionClaim(names, present=not negated, severity=None if negated else severity)
    return DistortionClaim((), present=not negated) if _ANY.search(text) else None


def _comparison(text: str, *, question: bool, asked: str = "") -> ComparisonClaim | None:
    """A statement about the image and its reference; "the reference" as an option answers "which is better".

    The reference is pristine, so an image that differs from it is worse.
    """
    reverse: dict[str, Literal["worse", "better", "same"]] = {"worse": "better", "better": "worse", "same": "same"}
    relation = re.search(
        r"\b(worse|better|same|identical|indistinguishable|equal|equally|different|differs?|differences?)\b", text
    )
    if relation:
        word = relation[1]
        said = "same" if word in ("same", "identical", "indistinguishable", "equal", "equally") else word
        if said in ("worse", "better"):
            subject = text[: relation.start()]
            about_reference = bool(_REFERENCE.search(subject))
            return ComparisonClaim(reverse[said] if about_reference else said)  # type: ignore[index,arg-type]
        return ComparisonClaim("same") if said == "same" else ComparisonClaim("worse")
    if question:
        return None
    wanted: Literal["worse", "better"] = "worse" if "worse" in asked else "better"
    if _REFERENCE.search(text):
        return ComparisonClaim("worse" if wanted == "better" else "better")
    return ComparisonClaim(wanted) if _IMAGE.search(text) else None


def kind_names(names: tuple[str, ...]) -> frozenset[str]:
    """The names with every sub-type of the kinds among them, and blur for "sharpness", which blur takes away."""
    kinds = {name for name in names if name not in SUBTYPES}
    if Distortion.SHARPNESS in kinds:
        kinds.add(Distortion.BLURS)
    return frozenset({*names, *kinds, *(sub for sub, kind in SUBTYPES.items() if kind in kinds)})
