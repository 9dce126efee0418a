"""Comparisons of parts of one image: "is the left half sharper than the right half?", answered from the numbers."""

import re
from dataclasses import dataclass

from loopwright.workflows.iqa.answer.facts import (
    UNABLE,
    Facts,
    capital,
    quality_score,
    scope_words,
    scopes_of,
    strength_of,
)
from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.measuring.severity import BLIND, gauge_of, nearness
from loopwright.workflows.iqa.question.asked import Question
from loopwright.workflows.iqa.question.places import place_name
from loopwright.workflows.iqa.question.vocabulary import spans_of, spoken
from loopwright.workflows.iqa.schemas import DistortionFinding

ALIKE = 0.1
"""Numbers that differ by less, as a share of the larger one or of where a distortion begins to be seen, are about the
same; scores that differ by less, too."""

_LUMA = re.compile(
    r"\b(?:(?:bright|light|dark|dimm)(?:er|est)|(?:more|most|less|least) (?:bright|light|dark)|(?:bright|dark)ness"
    r"|heller|dunkler|hell|dunkel|helligkeit)\b"
)

_CHANGED = re.compile(r"\b(?:(?:first|other) (?:image|picture|photo|file)|vorher|zuvor|earlier|edit\w*|it was)\b")

_AMOUNTS = ("contrast", "high contrast", "saturation change", "color distortions")
"""What a part may have more of without a fault, while the gauge says how little there is."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the parts do in what is compared, with the one that the question seeks first."""

    order: list[str]
    """The scopes, the one that has most of what is asked for first."""
    said: str
    """The numbers, one clause."""
    values: dict[str, float]
    """What was measured in each scope."""
    margin: float
    """Values that differ by no more are about the same."""

    def ahead(self, scope: str, other: str) -> bool:
        """Whether the one scope has clearly more of what is asked for than the other."""
        apart = abs(self.values[scope] - self.values[other]) > self.margin
        return apart and self.order.index(scope) < self.order.index(other)

    @property
    def alike(self) -> bool:
        """Whether the first two are about the same."""
        return not self.ahead(self.order[0], self.order[1])

    @property
    def all_alike(self) -> bool:
        """Whether all of them are."""
        return not self.ahead(self.order[0], self.order[-1])


def compare_parts(question: Question, facts: Facts) -> str:
    """Answer a comparison: one sentence with the numbers, or why it cannot be told."""
    return f"{': '.join(_compared(question, facts))}."


def _compared(question: Question, facts: Facts) -> tuple[str, str]:
    """The answer, and the numbers or why it cannot be told."""
    standing = standing_of(question, facts)
    if isinstance(standing, str):
        return UNABLE, standing
    first = scope_words(standing.order[0])
    if question.yes_no:
        differs = bool(re.search(r"\bdiffer|\bone (?:half|side|part)\b", question.text))
        if question.sought == "equal" or differs:
            return "Yes" if standing.all_alike is not differs else "No", standing.said
        why = "they are about the same; " if standing.alike and len(standing.order) == 2 else ""
        return _verdict(list(standing.values), standing, question), f"{why}{standing.said}"
    if standing.all_alike:
        return "About the same", standing.said
    if standing.alike:
        first = " and ".join(map(scope_words, standing.order[:2]))
        return f"{capital(first)} are about the same, ahead of the rest", standing.said
    does = "" if question.terms or question.good is not None or question.sought == "more" else " is better"
    return f"{capital(first)}{does}", standing.said


def _verdict(scopes: list[str], standing: Standing, question: Question) -> str:
    """Whether what is named first, a part or all of a kind such as the corners, is ahead of the rest, or not behind."""
    kind = scopes[0].split(" ")[-1]
    several = [scope for scope in scopes if scope.split(" ")[-1] == kind]
    named = several if len(several) < len(scopes) else scopes[:1]
    pairs = [(scope, other) for scope in named for other in scopes if other not in named]
    holds = [not standing.ahead(b, a) if question.at_least else standing.ahead(a, b) for a, b in pairs]
    return "Yes" if all(holds) else "Partly" if any(holds) else "No"


def choose_part(question: Question, options: dict[str, str], facts: Facts) -> tuple[str | None, str] | None:
    """The option, or None, that says what a comparison finds, and why; None altogether if they name no two parts."""
    scopes = {scope.casefold() for scope in scopes_of(facts.evidence)}
    words = {letter: spoken(text).strip(" .?!").removeprefix("the ") for letter, text in options.items()}
    words = {letter: each if each in scopes else place_name(each) or each for letter, each in words.items()}
    yes_no = {letter: each.split(" ")[0].strip(".,!") for letter, each in words.items()}
    decides = {"yes", "no"} <= set(yes_no.values())
    if not decides and sum(each in scopes for each in words.values()) < 2:
        return None
    told, why = _compared(question.model_copy(update={"yes_no": decides}), facts)
    found = told.lower().removeprefix("the ")
    if decides:
        fitting = (letter for letter, each in yes_no.items() if each == found)
    elif "about the same" in found:
        alike = re.compile(r"\b(?:equal|same|alike|identical|no difference)")
        fitting = (letter for letter, each in words.items() if alike.search(each))
    else:
        fitting = (letter for letter, each in words.items() if found.startswith(each))
    return next(fitting, None), f"{told}: {why}."


def standing_of(question: Question, facts: Facts) -> Standing | str:
    """The order of the parts and the numbers, or why there is none, one clause."""
    topic = question.names
    # Other parts are those of other questions.
    scopes = scopes_of(facts.evidence)
    own = [scope for scope in (*question.places, *question.objects) if scope in scopes]
    scopes = own if len(own) > 1 else scopes
    if not topic:
        return _by_score(scopes, facts, best_first=question.sought == "less")
    found = {scope: finding for scope in scopes if (finding := _finding(topic, scope, facts)) is not None}
    missing = [scope_words(scope) for scope in scopes if scope not in found]
    if missing:
        return f"no number for {' or '.join(map(in_words, topic))} could be measured in {' and '.join(missing)}"
    return _by_finding(found, question)


def _finding(topic: tuple[str, ...], scope: str, facts: Facts) -> DistortionFinding | None:
    items = facts.evidence.distortion_analysis.get(scope, [])
    near = [item for item in items if any(nearness(name, item) > 0 for name in topic) and "value" in item.measured]
    return max(near, key=lambda item: item.severity.rank, default=None)


def _by_finding(found: dict[str, DistortionFinding], question: Question) -> Standing | str:
    gauges = {scope: gauge_of(finding) for scope, finding in found.items()}
    gauge = next(iter(gauges.values()))
    least, term = 0.0, question.terms[0]
    beside = any(span.text != "same" for span in spans_of("reference", question.text))
    changed = question.became or beside or _CHANGED.search(question.text)
    if _LUMA.search(question.text) and not changed and all("mean_luma" in each.measured for each in found.values()):
        # "Darker" asks for the luma itself, not for how far it is from a fault; "darker than before" for its change.
        label = "the mean brightness is "
        values = {scope: (-1 if term.lacks else 1) * each.measured["mean_luma"] for scope, each in found.items()}
        shown = {scope: f"{abs(value):.3g} of 255 grey levels" for scope, value in values.items()}
    elif all("edge_sigma_strong" in each.measured for each in found.values()):
        # Blur in one direction has another gauge, but edges of the same width.
        label = "the blur of the strongest edges is "
        values = {scope: each.measured["edge_sigma_strong"] for scope, each in found.items()}
        shown = {scope: f"{value:.3g} pixels" for scope, value in values.items()}
        least = ALIKE * BLIND["gaussian blur"].bounds[0]
    elif gauge is not None and all(other is not None and other.label == gauge.label for other in gauges.values()):
        label = f"{gauge.label} is "
        more = gauge.rising or (term.name in _AMOUNTS and not term.lacks)
        values = {scope: (1 if more else -1) * each.measured["value"] for scope, each in found.items()}
        shown = {scope: gauge.said(each.measured["value"]) for scope, each in found.items()}
        least = ALIKE * abs(gauge.bounds[0])
    elif doubtful := [scope_words(scope) for scope, each in found.items() if not each.confidence]:
        return f"it cannot be told what is wrong in {' and '.join(doubtful)}"
    else:
        label = "there is "
        values = {scope: float(each.severity.rank) for scope, each in found.items()}
        shown = {scope: strength_of(each).replace("none ", "no ", 1) for scope, each in found.items()}
    order = sorted(values, key=lambda scope: values[scope], reverse=question.sought != "less")
    said = label + _joined([f"{shown[scope]} in {scope_words(scope)}" for scope in order])
    return Standing(order, said, values, max(least, ALIKE * max(map(abs, values.values()))))


def _by_score(scopes: list[str], facts: Facts, *, best_first: bool) -> Standing | str:
    scores = {scope: score for scope in scopes if (score := quality_score(facts.evidence.on(scope))) is not None}
    missing = [scope_words(scope) for scope in scopes if scope not in scores]
    if missing:
        return f"no quality tool gave a score for {' and '.join(missing)}"
    values = {scope: score.value for scope, score in scores.items()}
    order = sorted(values, key=lambda scope: values[scope], reverse=best_first)
    tools = " and ".join(sorted({score.tool for score in scores.values()}))
    said = _joined([f"{values[scope]:.2f} of 5 in {scope_words(scope)}" for scope in order])
    return Standing(order, f"by {tools}, {said}", values, ALIKE)


def _joined(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}"
