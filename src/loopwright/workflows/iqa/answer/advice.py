"""Advice: what would help against what was measured, what would not, and why."""

import re
from typing import Any, NamedTuple

from loopwright.config import shipped
from loopwright.workflows.iqa.answer.facts import UNABLE, Facts, capital, listed, mostly_soft, not_blurred, spoken_names
from loopwright.workflows.iqa.distortions import Distortion, Severity, kind_of
from loopwright.workflows.iqa.measuring.detection import is_sure
from loopwright.workflows.iqa.measuring.detection_parts import place_of
from loopwright.workflows.iqa.question.asked import Question
from loopwright.workflows.iqa.schemas import DistortionFinding


class Remedy(NamedTuple):
    """What can be done about a fault in this file."""

    does: str
    """What to do, as an imperative."""
    back: bool
    """Whether it brings back what was there, and not only hides the fault."""
    limit: str
    """What it cannot do."""


_TOLD: dict[str, Any] = shipped("loopwright.workflows.iqa", "data/remedies.yaml")
_REMEDIES = {name: Remedy(**each) for name, each in _TOLD["remedies"].items()}
_DONE: dict[str, str] = _TOLD["done"]


def remedy_for(item: DistortionFinding) -> Remedy:
    """What can be done about a finding."""
    return _REMEDIES.get(item.type) or _REMEDIES[kind_of(item.type)]


def advise(question: Question, facts: Facts) -> str:
    """Answer a question about what to do, with the measured reason."""
    found = [item for item in facts.sure if item.type not in question.excluded]
    if question.terms:
        about = [item for _, item in facts.matching(question.names)]
        other = found if question.remedies or question.rescue else []
        found = [item for item in found if item in about] or about or other
    if question.remedies:
        return _held(question, found, facts)
    guessed = [] if found or question.terms else [item for _, item in facts.present][:1]
    worst = (found or guessed or [None])[0]
    if worst is None and (untold := facts.untold(question.names)):
        return f"{UNABLE}: {untold}."
    if worst is None:
        needed = "No: nothing was found that would need it."
        return needed if question.yes_no else f"Nothing is needed: no {spoken_names(question.names)} was found."
    remedy = remedy_for(worst)
    if question.yes_no:
        word = ("Yes" if remedy.back else "No") if question.rescue else "Yes"
        word = "Partly" if word == "Yes" and worst.severity is Severity.EXTREME else word
        # What only another file or shot would mend cannot go out of this one, though it should.
        can = r"\b(?:can|could|possible|way to)\b(?:(?!should|need).)*\b(?:rid|remov\w*|tak\w+ out)\b"
        word = "No" if re.search(can, question.text) and remedy.does.startswith(("go back", "shoot again")) else word
        verb = f"{remedy.limit}; at most, {remedy.does}" if word == "No" else f"{remedy.does}; {remedy.limit}"
        return f"{word}: {verb}. Measured: {listed([worst], facts)}."
    return " ".join(
        f"{capital(each.does)}, because of {listed([item], facts, number=True)}; {each.limit}."
        for item, each in [(item, remedy_for(item)) for item in (found or guessed)[:3]]
    )


def choose_remedy(question: Question, facts: Facts) -> str:
    """Which of the remedies that a question offers suits what was measured."""
    for _, item in facts.present:
        fitting = next((name for name in question.remedies if _suits(name, item)), None)
        if fitting:
            return f"{capital(remedy_for(item).does)}: {listed([item], facts, number=True)}."
    offered = " nor ".join(_DONE.get(name, name) for name in question.remedies)
    return f"Neither {offered} is needed: no fault was found that it would mend."


def _held(question: Question, found: list[DistortionFinding], facts: Facts) -> str:
    """Whether the remedies that a question names would help."""
    wanted = question.remedies[0]
    done = _DONE.get(wanted, wanted)
    if wanted == "crop":
        local = next((item for item in found if place_of(item)), None)
        if local is not None:
            return f"Yes: {listed([local], facts)}; cropping that part away would remove it."
        if found:
            return f"No: {listed(found[:2], facts)} is in the whole image, so cropping would not remove it."
        return f"No: nothing needs it. {not_blurred(facts)}".strip()
    if wanted == "reshoot":
        yes, no = ("Shoot again", "No new shot is needed") if question.joined == "or" else ("Yes", "No")
        hopeless = [item for item in found if not remedy_for(item).back and item.severity >= Severity.MODERATE]
        if hopeless:
            return f"{yes}: {listed(hopeless[:2], facts)}; {remedy_for(hopeless[0]).limit}."
        mended = f"{listed(found[:2], facts)} can be mended in this file"
        return f"{no}: {mended if found else 'no fault was found that asks for it'}."
    if wanted == "upscale":
        return "No: enlarging adds pixels, not detail." + (f" It has {listed(found[:2], facts)}." if found else "")
    fitting = [item for _, item in facts.present if _suits(wanted, item) and item.type not in question.excluded]
    if fitting and not is_sure(fitting[0]) and fitting[0].severity < Severity.MODERATE:
        return f"No: {done} would hardly help, because only {listed(fitting[:1], facts)} was found."
    if fitting:
        limit = remedy_for(fitting[0]).limit
        much = "Yes" if fitting[0].severity >= Severity.MODERATE or question.rescue else "Yes, a little"
        return f"{much}: {done} would help against {listed(fitting[:1], facts)}, though {limit}."
    if untold := facts.untold((wanted,)):
        return f"{UNABLE}: {untold}."
    if kind_of(wanted) is Distortion.BLURS and mostly_soft(facts.evidence.notes):
        return not_blurred(facts)
    beside = f" It has {listed(found[:2], facts)}, against which {done} does nothing." if found else ""
    return f"No: {done} would not help, because no {spoken_names([wanted])} was found.{beside}"


def _suits(remedy: str, item: DistortionFinding) -> bool:
    return remedy in (item.type, kind_of(item.type).value)
