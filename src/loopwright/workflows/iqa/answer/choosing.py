"""What an option states about an image, held against the evidence; and the option that is borne out."""

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from loopwright.config import shipped
from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.answer.facts import (
    IMPAIRMENT_LEVEL,
    UNABLE,
    Facts,
    compare,
    hue_apart,
    hue_named,
    opposes,
)
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of, severity_named
from loopwright.workflows.iqa.measuring.severity import closeness, strength
from loopwright.workflows.iqa.question.vocabulary import named_distortions, spans, spoken
from loopwright.workflows.iqa.tools.registry import find_tool


class Stated(NamedTuple):
    """That an image has, or has not, one of some distortions."""

    names: tuple[str, ...]
    """Canonical names, any of which will do; empty for any distortion at all."""
    present: bool = True
    """False where it is stated that there is none of them, as "sharp" says of blur."""
    severity: Severity | None = None
    """The strength that is stated, if one is."""


_CANNOT_TELL = re.compile(
    r"\b(can ?not|can't|unable|unsure|not sure|uncertain|unclear|don't know|impossible to|not enough|undetermined|"
    r"none of (the|these|those)|neither|unknown)\b|^\W*(none|other|n/?a)\W*$"
)
_NOTHING = re.compile(
    r"^\W*((?:none|nothing|nichts|keins|rien|aucun|nada|ningun[oa]|niente|nessun[oa])( (of|davon|de)\b.*)?"
    r"|no (visible |obvious )?(distortions?|art[ie]facts?|problems?|issues?|degradations?))\W*$"
)
_NEGATED = re.compile(r"\b(no|not|without|never|less|free (of|from))\b|n't\b|\bfree\W*$|-free\b")
_NONE_OF = r"\b(?:with(?:out| no)|(?<!with )no|free (?:of|from))\b"
_ANY = re.compile(
    r"\b(distort(ed|ions?)|degrad(ed|ations?)|damaged?|art[ie]facts?|wrong|problems?|issues?|defects?|flaws?)\b"
)
_PRISTINE = re.compile(r"\b(pristine|undistorted|undamaged|flawless)\b")
_CLEAN = re.compile(r"\b(clean|spotless)\b")
_LEVELS: dict[str, list[int]] = shipped("loopwright.workflows.iqa", "data/names.yaml")["options"]
"""Word of an option -> the quality levels that it may mean."""
_LEVEL_TEXT = re.compile(rf"^\W*({'|'.join(sorted(_LEVELS, key=len, reverse=True))})(?: quality)?\W*$")
_SCORING = re.compile(r"\b(quality|rate|rating|score|scale)\b")
_COMPARING = re.compile(
    r"\b(worse|better|compare|compared|comparison|versus|vs|differ|different|same as|identical|indistinguishable"
    r"|than (?:the|its|my) (?:reference|original|source)|(?:any|visible|noticeable) differences?)\b"
)
_RELATION = re.compile(
    r"\b(?:(worse|better)|(same|identical|indistinguishable|equal|equally)|(different|differs?|differences?))\b"
)
_REFERENCE = re.compile(r"\b(reference|original|pristine)\b")
_IMAGE = re.compile(r"\b(distorted|test|given|this|assessed|degraded|image in question)\b")
_ABOUT_STRENGTH = re.compile(r"\b(sever|strong|how much|intens|degree|level of)")
_ABSENT_ONE = re.compile(
    r"\b(?:which|what)\b(?:(?!\bwhy\b)[^.?!,])*?(?:\bnot|n't|\bfree (?:of|from))\b(?!.*\bright\b)|\babsent\b|\bexcept\b"
    r"|\bnot (?:present|there|visible|found)\b"
)
_WEAKEST = re.compile(r"\b(least|weakest|lowest|mildest)\b", re.IGNORECASE)
_LETTER = re.compile(r"^\W*(?:(?:option|answer|choice)\s*:?\s*)?\(?\s*([A-Za-z1-9])\s*(?:[).:,]|$)", re.IGNORECASE)


class _Support(NamedTuple):
    value: float | None
    """Above 0 if the evidence bears an option out, the more the better; 0 if it speaks against it; None if unknown."""
    of_distortions: bool = False


def choose(
    stem: str, options: dict[str, str], facts: Facts, truth: Callable[[], bool | None]
) -> tuple[str | None, str]:
    """Choose the option that the evidence bears out best.

    Where no option is borne out, or two are borne out alike, nothing is guessed: the option that says "cannot tell" is
    chosen if there is one, else none.

    Args:
        stem: The question without its options.
        options: Letter -> text.
        facts: What was measured.
        truth: Whether what the question asks is so, for options that say yes or no.

    Returns:
        The option's letter, or None if the evidence bears none out and none says that it cannot be told; and why.
    """
    support = {letter: _support(text, stem, facts, truth) for letter, text in options.items()}
    known = {letter: each for letter, each in support.items() if each.value is not None}
    letter = _pick(stem, known)
    if letter is not None:
        return letter, f"The evidence bears out {letter} ({options[letter]})."
    why = "The evidence bears out none of the options." if known else "Nothing was measured that the options are about."
    if sum((each.value or 0) > 0 for each in known.values()) > 1:
        why = "The evidence does not tell the options apart."
    way_out = next((letter for letter, text in options.items() if _CANNOT_TELL.search(text.lower())), None)
    if way_out is not None:
        return way_out, f"{why} {way_out} ({options[way_out]}) says so."
    return None, why


def _pick(stem: str, known: dict[str, _Support]) -> str | None:
    """The letter with the best support, if it is alone there; turned round for "which is not", "which is least"."""
    values = {letter: each.value or 0.0 for letter, each in known.items()}
    about_distortions = all(each.of_distortions for each in known.values())
    if known and about_distortions and _asks_for_absent(stem):
        absent = [letter for letter, value in values.items() if value == 0]
        return absent[0] if len(absent) == 1 and len(known) > 1 else None
    borne_out = {letter: value for letter, value in values.items() if value > 0}
    if not borne_out:
        return None
    weakest = about_distortions and bool(_WEAKEST.search(stem))
    best = min(borne_out.values()) if weakest else max(borne_out.values())
    letters = [letter for letter, value in borne_out.items() if abs(value - best) < 1e-9]
    return letters[0] if len(letters) == 1 else None


def _asks_for_absent(stem: str) -> bool:
    """Whether what does not hold is sought; "which makes it not sharp?" and "what is not right?" seek a fault."""
    text = spoken(stem)
    said = _ABSENT_ONE.search(text)
    after = () if said is None else spans(text[said.end() :])
    return said is not None and not any(span.section in ("good", "praise") for span in after)


def _support(option: str, stem: str, facts: Facts, truth: Callable[[], bool | None]) -> _Support:
    text, asked, topic = option.strip().lower(), stem.lower(), tuple(named_distortions(stem))
    if yes_no := re.match(r"^(yes|no)\W*($|[,.;:!(])", text):
        holds = truth()
        return _Support(None if holds is None else float(holds is (yes_no[1] == "yes")))
    if tool := find_tool(option):
        # The primary one suits best, and the others in their order.
        order = [facts.evidence.primary_tool, *facts.evidence.selected_tools]
        other = 0.0 if facts.evidence.selected_tools else None
        return _Support(1 / (1 + order.index(tool.name)) if tool.name in order else other)
    if _COMPARING.search(asked) or (_COMPARING.search(text) and _REFERENCE.search(text)):
        stated, found = _relation(text, asked), compare(facts)
        return _Support(None if stated is None or found is None else float(stated == found))
    strong, about = severity_named(text), [s for s in spans(spoken(stem)) if s.section in ("faults", "topics")]
    if strong is not None and _LEVEL_TEXT.match(text) and {span.section for span in about} == {"topics"}:
        # "High" is a level of the sharpness, and of the contrast neither that nor the strength of a fault.
        if any(span.key != Distortion.SHARPNESS for span in about):
            return _Support(None)
        strong = None
    if strong is not None and (_ABOUT_STRENGTH.search(asked) or topic):
        return _Support(_strength(strong, facts.severity(topic)))
    if hue_named(text) and any(closeness(name, "color cast") > 0 for name in topic):
        casts = [item for _, item in facts.matching(topic) if not opposes(text, "", item)]
        near = max((1 - hue_apart(text, item) / 180 for item in casts), default=0.0)
        return _Support(near if near or facts.covers(topic) else None, of_distortions=True)
    if levels := _levels(text, asked):
        return _Support(_level(levels, topic, facts))
    parts = [_distortions(part, alone=False) for part in _parts(text)]
    if len(parts) > 1 and None not in parts:
        return _Support(_all_held([part for part in parts if part], facts), of_distortions=True)
    stated = _distortions(text)
    judged = {span.section for span in spans(spoken(text))} & {"good", "bad"}
    if stated is None and len(judged) == 1:
        stated = Stated(topic, present="bad" in judged)  # "fine" of the exposure, "off" of the focus
    if stated is not None:
        return _Support(_held(stated, facts), of_distortions=True)
    return _Support(None if strong is None else _strength(strong, facts.severity(topic)))


def _relation(text: str, asked: str) -> Literal["worse", "better", "same"] | None:
    """How the image does beside its reference; "the reference" as an option answers "which is better".

    The reference is pristine, so an image that differs from it is worse.
    """
    if said := _RELATION.search(text):
        if not said[1]:
            return "same" if said[2] else "worse"
        about_reference = bool(_REFERENCE.search(text[: said.start()]))
        return "worse" if (said[1] == "worse") is not about_reference else "better"
    wants_worse = "worse" in asked
    if _REFERENCE.search(text):
        return "better" if wants_worse else "worse"
    return ("worse" if wants_worse else "better") if _IMAGE.search(text) else None


def _strength(stated: Severity, found: Severity | None) -> float | None:
    if found is None or found is stated:
        return None if found is None else 1.0
    return 0.25 if abs(found.rank - stated.rank) == 1 else 0.0


def _levels(text: str, asked: str) -> list[int]:
    if match := _LEVEL_TEXT.match(text.replace(",", "")):
        return _LEVELS[match[1]]
    number = re.match(r"^([1-5])(?:\s*(?:stars?|/\s*5|out of 5))?$", text)
    return [int(number[1])] if number and _SCORING.search(asked) else []


def _level(levels: list[int], topic: tuple[str, ...], facts: Facts) -> float | None:
    """Nearness of the closest level; of two equally near options the narrower is better."""
    severity = facts.severity(topic) if topic else None
    value = facts.value() if not topic else None if severity is None else float(IMPAIRMENT_LEVEL[severity])
    if value is None:
        return None
    distance = min(abs(value - level) for level in levels)
    return 1.01 - distance - 0.001 * len(levels) if distance <= 1 else 0.0


def _parts(text: str) -> list[str]:
    """What an option states, one by one; "no" and "without" at the head of a list hold for all of it."""
    clauses = re.split(rf"\b(?:but|yet|while)\b|(?={_NONE_OF})", text)
    lists = ([each] if re.match(_NONE_OF, each) else re.split(r",|\band\b", each) for each in clauses)
    return [part for listed in lists for part in listed if part.strip(" .,;")]


def _distortions(text: str, *, alone: bool = True) -> Stated | None:
    """What is stated of distortions; "clean" alone is free of all, and beside another part free of noise."""
    if _NOTHING.match(text) or _PRISTINE.search(text):
        return Stated((), present=False)
    negated = bool(_NEGATED.search(text))
    if alone and _CLEAN.search(text):
        return Stated((), present=negated)
    found = spans(spoken(text))
    praise = [span for span in found if span.section == "praise"]
    if praise and not any(span.section == "faults" for span in found):
        # "Not sharp" denies it; "noise-free" is one word of it.
        denied = _NEGATED.search(spoken(text)[: praise[0].start])
        return Stated(tuple(span.key for span in praise), present=bool(denied))
    if names := tuple(named_distortions(text)):
        # The light of "too much light" is no degree.
        of_faults = {at for span in found if span.section == "faults" for at in range(span.start, span.end)}
        words = [word[0] for word in re.finditer(r"[a-z]+", spoken(text)) if word.start() not in of_faults]
        strengths = [severity_named(word.removesuffix("ly")) for word in words]
        severity = next((each for each in strengths if each not in (None, Severity.NONE)), None)
        return Stated(names, present=not negated, severity=None if negated else severity)
    return Stated((), present=not negated) if _ANY.search(text) else None


def _all_held(stated: list[Stated], facts: Facts) -> float | None:
    """The sum of what several statements have, if all hold; of one kind ("blocking and ringing"), one will do."""
    held = [(each, _held(each, facts)) for each in stated]
    best: dict[object, float] = {}
    for each, value in held:
        kind = kind_of(each.names[0]) if each.present and each.names else each
        best[kind] = max(best.get(kind, 0.0), value or 0.0)
    return None if any(value is None for _, value in held) else sum(best.values()) if all(best.values()) else 0.0


def _held(stated: Stated, facts: Facts) -> float | None:
    found = facts.matching(stated.names)
    for position, other in enumerate(facts.unanalysed):
        near = max((closeness(name, other) for name in stated.names), default=1.0)
        if near > 0 and stated.severity is None:
            return near / (1 + position) if stated.present else 0.0
    if not found:
        return float(not stated.present) if facts.covers(stated.names) else None
    near, finding = found[0]
    if not stated.present or (stated.severity is not None and stated.severity is not finding.severity):
        return 0.0
    return near * strength(finding)


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
    words = reply.strip(" .\"'").casefold()
    for letter, text in (*options.items(), (UNABLE, UNABLE)):
        if words == text.casefold():
            return letter
    match = _LETTER.match(reply.strip())
    if match and match[1].upper() in options:
        return match[1].upper()
    raise UnknownNameError("option", reply, [f"{letter} ({text})" for letter, text in options.items()])
