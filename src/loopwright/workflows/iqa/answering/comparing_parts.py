"""Comparisons of parts of one image: "is the left half sharper than the right half?", answered from the numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from loopwright.workflows.iqa.answering.claims import asks_yes_no
from loopwright.workflows.iqa.answering.fusion import quality_score
from loopwright.workflows.iqa.answering.parts import evidence_on, scope_words, scopes_of
from loopwright.workflows.iqa.answering.verdicts import Facts
from loopwright.workflows.iqa.distortions import Distortion, in_words
from loopwright.workflows.iqa.measuring.gauges import BLIND
from loopwright.workflows.iqa.measuring.likeness import closeness
from loopwright.workflows.iqa.measuring.severity import gauge_of
from loopwright.workflows.iqa.query.places import place_name
from loopwright.workflows.iqa.query.reading import compared_distortions
from loopwright.workflows.iqa.query.terms import spoken
from loopwright.workflows.iqa.schemas import DistortionFinding

ALIKE = 0.1
"""Numbers that differ by less, as a share of the larger one or of where a distortion begins to be seen, are about the
same; scores that differ by less, too."""

_DEGREE = re.compile(r"\b(more|most|less|least|fewer|fewest) (?:in )?(\w+)")
_PRAISE = ("sharp", "crisp", "clear", "clean", "detail", "focus", "contrast", "color", "colour", "saturat", "bright")
"""How words begin of which an image with less distortion has more."""
_LESS = re.compile(r"\b(?:sharper|sharpest|crisper|crispest|clearer|cleaner|better|best|brighter|brightest|lighter)\b")
_MORE = re.compile(
    r"\b(?:blurrier|blurriest|noisier|noisiest|grainier|grainiest|softer|softest|blockier|hazier|fuzzier|darker|darkest"
    r"|dimmer|worse|worst)\b"
)
_LUMA = re.compile(r"\b(?:(?:bright|light|dark|dimm)(?:er|est)|(?:bright|dark)ness)\b")
_COMPARE = re.compile(r"\b(?:compar(?:e|ed|ing|ison)|versus|vs|against)\b|\bdiffer(?:ence|ences|ent|s)?\b")
_DIFFER = re.compile(r"\bdiffer(?:ence|ences|ent|s)?\b")
_EQUAL = re.compile(r"\b(?:equal|equally|same|alike|identical|no difference|as \w+ as)\b")

Sought = Literal["more", "less"]
"""Whether a question seeks the part with the most of a distortion, or with the least."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the parts do in what is compared, with the one that the question seeks first."""

    order: list[str]
    """The scopes, the one that has most of what is asked for first."""
    said: str
    """The numbers, one clause."""
    luma: bool
    """Whether the order is by brightness."""
    ahead: Callable[[str, str], bool]
    """Whether the one scope has clearly more of what is asked for than the other."""

    @property
    def alike(self) -> bool:
        """Whether the first two are about the same."""
        return not self.ahead(self.order[0], self.order[1])

    @property
    def all_alike(self) -> bool:
        """Whether all of them are."""
        return not self.ahead(self.order[0], self.order[-1])


def asks_about_parts(stem: str) -> bool:
    """Whether a question, without its options, compares parts of the image with each other."""
    return _sought(spoken(stem)) is not None or bool(_EQUAL.search(spoken(stem)))


def _sought(text: str) -> Sought | None:
    degree = _DEGREE.search(text)
    if degree:
        more = degree[1] in ("more", "most")
        return "less" if degree[2].startswith(_PRAISE) is more else "more"
    if _LESS.search(text):
        return "less"
    if _MORE.search(text):
        return "more"
    # "Compare the left half with the right half" asks which is better.
    return "less" if _COMPARE.search(text) else None


def compare_parts(stem: str, facts: Facts) -> str:
    """Answer a comparison.

    Args:
        stem: The question without its options; see `asks_about_parts`.
        facts: Evidence on at least two parts.

    Returns:
        One sentence with the numbers, or why it cannot be told.
    """
    standing = standing_of(stem, facts)
    if isinstance(standing, str):
        return f"Unable to determine: {standing}."
    first, text = scope_words(standing.order[0]), spoken(stem)
    if asks_yes_no(stem):
        if _EQUAL.search(text) or _DIFFER.search(text):
            same = bool(_EQUAL.search(text))
            return f"{'Yes' if standing.all_alike is same else 'No'}: {standing.said}."
        why = "they are about the same; " if standing.alike and len(standing.order) == 2 else ""
        return f"{_verdict(scopes_of(facts.evidence), standing)}: {why}{standing.said}."
    if standing.all_alike:
        return f"About the same: {standing.said}."
    if standing.alike:
        first = " and ".join(map(scope_words, standing.order[:2]))
        return f"{first[0].upper()}{first[1:]} are about the same, ahead of the rest: {standing.said}."
    does = " is brighter" if standing.luma else " does better"
    does = "" if _LESS.search(text) or _MORE.search(text) or _DEGREE.search(text) else does
    return f"{first[0].upper()}{first[1:]}{does}: {standing.said}."


def _verdict(scopes: list[str], standing: Standing) -> str:
    """Whether what is named first, a part or all of a kind such as the corners, is ahead of the rest."""
    kind = scopes[0].split(" ")[-1]
    several = [scope for scope in scopes if scope.split(" ")[-1] == kind]
    named = several if len(several) < len(scopes) else scopes[:1]
    ahead = [standing.ahead(scope, other) for scope in named for other in scopes if other not in named]
    return "Yes" if all(ahead) else "Partly" if any(ahead) else "No"


def choose_part(stem: str, options: dict[str, str], facts: Facts) -> tuple[str | None, str] | None:
    """The option that names the part which a comparison seeks.

    Args:
        stem: The question without its options.
        options: Letter -> text.
        facts: Evidence on at least two parts.

    Returns:
        The letter, or None if no option fits, and why; None altogether if the options name no two parts.
    """
    scopes = {scope.casefold(): scope for scope in scopes_of(facts.evidence)}
    named: dict[str, str] = {}
    for letter, text in options.items():
        words = spoken(text).strip(" .?!").removeprefix("the ")
        scope = scopes.get(words) or scopes.get(place_name(text) or "")
        if scope is not None:
            named[scope] = letter
    first_words = {spoken(text).split(" ")[0].strip(".,!"): letter for letter, text in options.items()}
    if {"yes", "no"} <= set(first_words) and asks_yes_no(stem):
        said = compare_parts(stem, facts)
        return first_words.get(said.partition(":")[0].lower()), said
    if len(named) < 2:
        return None
    standing = standing_of(stem, facts)
    if isinstance(standing, str):
        return None, f"It cannot be told: {standing}."
    if standing.alike:
        same = next((letter for letter, text in options.items() if _EQUAL.search(spoken(text))), None)
        return same, f"They are about the same: {standing.said}."
    return named.get(standing.order[0]), f"{standing.said[0].upper()}{standing.said[1:]}."


def standing_of(stem: str, facts: Facts) -> Standing | str:
    """Put the parts in order.

    Args:
        stem: The question without its options.
        facts: Evidence on at least two parts.

    Returns:
        The order and the numbers, or why there is none, one clause.
    """
    text = spoken(stem)
    topic, sought = tuple(compared_distortions(stem)), _sought(text) or "more"
    scopes = scopes_of(facts.evidence)
    if not topic:
        return _by_score(scopes, sought, facts)
    if Distortion.BLURS in topic:
        topic = (Distortion.BLURS.value,)
    found = {scope: _finding(topic, scope, facts) for scope in scopes}
    missing = [scope_words(scope) for scope, finding in found.items() if finding is None]
    if missing:
        return f"no number for {' or '.join(map(in_words, topic))} could be measured in {' and '.join(missing)}"
    known = {scope: finding for scope, finding in found.items() if finding is not None}
    return _by_finding(known, sought, luma=bool(_LUMA.search(text)))


def _finding(topic: tuple[str, ...], scope: str, facts: Facts) -> DistortionFinding | None:
    items = facts.evidence.distortion_analysis.get(scope, [])
    near = [
        item for item in items if any(closeness(name, item.type) > 0 for name in topic) and "value" in item.measured
    ]
    return max(near, key=lambda item: item.severity.rank, default=None)


def _by_finding(found: dict[str, DistortionFinding], sought: Sought, *, luma: bool) -> Standing:
    gauges = {scope: gauge_of(finding) for scope, finding in found.items()}
    gauge = next(iter(gauges.values()))
    least = 0.0
    luma = luma and all("mean_luma" in each.measured for each in found.values())
    if luma:
        # "Darker" asks for the luma itself, not for how far it is from a fault.
        label = "the mean brightness is "
        values = {scope: -each.measured["mean_luma"] for scope, each in found.items()}
        shown = {scope: f"{-value:.3g} of 255 grey levels" for scope, value in values.items()}
    elif all("edge_sigma_strong" in each.measured for each in found.values()):
        # Blur in one direction has another gauge, but edges of the same width.
        label = "the blur of the strongest edges is "
        values = {scope: each.measured["edge_sigma_strong"] for scope, each in found.items()}
        shown = {scope: f"{value:.3g} pixels" for scope, value in values.items()}
        least = ALIKE * BLIND["gaussian blur"].bounds[0]
    elif gauge is not None and all(other is not None and other.label == gauge.label for other in gauges.values()):
        label = f"{gauge.label} is "
        values = {scope: (1 if gauge.rising else -1) * each.measured["value"] for scope, each in found.items()}
        shown = {scope: gauge.said(each.measured["value"]) for scope, each in found.items()}
        least = ALIKE * abs(gauge.bounds[0])
    else:
        label = "there is "
        values = {scope: float(each.severity.rank) for scope, each in found.items()}
        shown = {scope: f"{each.severity.value} {in_words(each.type)}" for scope, each in found.items()}
        shown = {scope: text.replace("none ", "no ", 1) for scope, text in shown.items()}
    order = sorted(values, key=lambda scope: values[scope], reverse=sought == "more")
    said = label + _joined([f"{shown[scope]} in {scope_words(scope)}" for scope in order])
    return _standing(order, said, values, max(least, ALIKE * max(map(abs, values.values()))), luma=luma)


def _by_score(scopes: list[str], sought: Sought, facts: Facts) -> Standing | str:
    scores = {scope: quality_score(evidence_on(facts.evidence, scope)) for scope in scopes}
    missing = [scope_words(scope) for scope, score in scores.items() if score is None]
    if missing:
        return f"no quality tool gave a score for {' and '.join(missing)}"
    values = {scope: score.value for scope, score in scores.items() if score is not None}
    # Less distortion is a higher score.
    order = sorted(values, key=lambda scope: values[scope], reverse=sought == "less")
    tools = {score.tool for score in scores.values() if score is not None}
    said = f"by {' and '.join(sorted(tools))}, " + _joined(
        [f"{values[scope]:.2f} of 5 in {scope_words(scope)}" for scope in order]
    )
    return _standing(order, said, values, ALIKE)


def _joined(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _standing(order: list[str], said: str, values: dict[str, float], margin: float, *, luma: bool = False) -> Standing:
    """Values that differ by no more than the margin are about the same."""

    def ahead(scope: str, other: str) -> bool:
        return order.index(scope) < order.index(other) and abs(values[scope] - values[other]) > margin

    return Standing(order, said, luma, ahead)
