"""What a question or an option states about an image, read from its words. `verdicts` holds it against the evidence."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from loopwright.workflows.iqa.distortions import SUBTYPES, Distortion, Severity
from loopwright.workflows.iqa.query.terms import named_distortions
from loopwright.workflows.iqa.query.thresholds import Threshold, read_threshold
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
_ABSENT: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"\b(sharp|in focus|(well|properly) focus+ed|crisp|clear|detailed)\b"), (Distortion.BLURS.value,)),
    (re.compile(r"\bnoiseless\b"), (Distortion.NOISE.value,)),
    (
        re.compile(r"\b((well|properly|correctly) (exposed|lit)|(correct|good|proper) exposure)\b"),
        (Distortion.BRIGHTNESS.value,),
    ),
    (re.compile(r"\b(natural|accurate|true|correct|neutral) colou?rs?\b"), (Distortion.COLOR.value,)),
    (re.compile(r"\buncompressed\b"), (Distortion.COMPRESSION.value,)),
)
"""Words of praise -> the distortions that they deny."""
_CLEAN = re.compile(r"\b(clean|spotless)\b")
_PRAISED = re.compile(
    r"\b(?:(?P<passable>acceptable|tolerable|ok|okay|fine|good|enough|sufficient)|correct|right|proper|natural"
    r"|realistic|accurate|true|neutral|transparent|invisible|imperceptible|negligible|balanced)"
    r"(?: enough)?(?: (?:for|to|in|at|on|here|now|overall)\b[^.?!,;]*)?\W*$"
)
"""Praise that ends a question; after a distortion's name ("is the noise acceptable?") it asks for its absence."""

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
_YES_NO = re.compile(
    r"^\W*((is|are|does|do|did|has|have|was|were|should)(n't)?\b|(can|could|will|would|may|might) (?!you\b)"
    r"|can you see\b|any\b)"
)
_ABOUT_STRENGTH = re.compile(r"\b(sever|strong|how much|intens|degree|level of)")


def says_cannot_tell(option: str) -> bool:
    """Whether an option is the way out: "cannot tell", "none of the above", "unsure"."""
    return bool(_CANNOT_TELL.search(option.lower()))


def asks_comparison(question: str) -> bool:
    """Whether a question compares the image with another."""
    return bool(_COMPARING.search(question.lower()))


def asks_yes_no(question: str) -> bool:
    """Whether the last sentence of a question can be answered with yes or no."""
    last = [part for part in re.split(r"[.?!]\s*", question.strip().lower()) if part.strip()][-1:]
    return bool(last and _YES_NO.match(last[0]) and not re.search(r"\bor\b", last[0]))


def read_question(question: str) -> Claim | None:
    """What a yes-or-no question would state if it were a statement: "Is the car sharp?" states that nothing blurs it.

    Args:
        question: The question.

    Returns:
        The claim, or None if its words are not understood.
    """
    # "Isn't it sharp?" asks whether it is sharp.
    text = re.sub(r"^(\W*(?:is|are|was|were|does|do|has|have))n't\b", r"\1", question.lower())
    if threshold := read_threshold(text):
        return threshold
    if asks_comparison(text) and (compared := _comparison(text, question=True)):
        return compared
    claim = _praised(text) or _distortion(text)
    if claim is not None:
        return claim
    # "Good" in a question is a threshold; as an option it is one of five levels.
    match = re.search(r"\b(bad|poor|low|good|high|great|excellent|acceptable|usable)\b", text)
    if match is None:
        return None
    thresholds = {"bad": 1, "poor": 1, "low": 1, "excellent": 5, "acceptable": 3, "usable": 3}
    first = thresholds.get(match[1], 4)
    wanted = frozenset({1, 2}) if first == 1 else frozenset(range(first, 6))
    return LevelClaim(frozenset(range(1, 6)) - wanted if _NEGATED.search(text) else wanted)


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
    denied = tuple(name for pattern, names in _ABSENT if pattern.search(text) for name in names)
    if denied:
        return DistortionClaim(denied, present=negated)
    names = tuple(named_distortions(text))
    if names:
        words = re.findall(r"[a-z]+", re.sub(r"\b(low|high) contrast\b", "", text))
        strengths = [_severity(word.removesuffix("ly")) for word in words]
        severity = next((s for s in strengths if s is not None and s is not Severity.NONE), None)
        return DistortionClaim(names, present=not negated, severity=None if negated else severity)
    return DistortionClaim((), present=not negated) if _ANY.search(text) else None


def _praised(text: str) -> DistortionClaim | None:
    """That there is little or none of what is praised ("is the noise acceptable?"); None where nothing named is."""
    praise = _PRAISED.search(text)
    names = tuple(named_distortions(text[: praise.start()])) if praise else ()
    if praise is None or not names:
        return None
    tolerated = Severity.SLIGHT if praise["passable"] else Severity.NONE
    return DistortionClaim(names, present=bool(_NEGATED.search(text)), tolerated=tolerated)


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
