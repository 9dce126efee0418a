"""Findings put into words: what, how strong, where, by which number, how sure."""

from __future__ import annotations

from collections.abc import Iterable

from loopwright.workflows.iqa.answer.parts import scope_words, scopes_of
from loopwright.workflows.iqa.answer.soft_parts import said_soft
from loopwright.workflows.iqa.answer.verdicts import Facts
from loopwright.workflows.iqa.distortions import Distortion, in_words
from loopwright.workflows.iqa.measuring.detection_parts import place_of
from loopwright.workflows.iqa.measuring.severity import gauge_of
from loopwright.workflows.iqa.schemas import GLOBAL, DistortionFinding, ReferenceMode


def capital(sentence: str) -> str:
    """A sentence with a capital letter."""
    return sentence[:1].upper() + sentence[1:]


def spoken_names(names: Iterable[str]) -> str:
    """Distortions as they are put into a sentence: "blur or noise"."""
    found = list(dict.fromkeys(names))
    if Distortion.BLURS in found:  # a question about sharpness names both
        found = [name for name in found if name != Distortion.SHARPNESS]
    return " or ".join(in_words(name) for name in found) or "distortion"


def where(facts: Facts) -> str:
    """What was measured, as the end of a sentence: "in the whole image"."""
    return "in " + (" and ".join(map(scope_words, scopes_of(facts.evidence))) or "the image")


def strength_of(item: DistortionFinding) -> str:
    """A finding without its numbers: "severe blur"."""
    return f"{item.severity.value} {in_words(item.type)}"


def listed(items: Iterable[DistortionFinding], facts: Facts, *, number: bool = False) -> str:
    """Findings with what stands behind them: "severe gaussian noise (24.4 of 255 grey levels, 95% sure)".

    Args:
        items: The findings.
        facts: What was measured.
        number: Whether the measured number is told.
    """
    return "; ".join(f"{strength_of(item)}{_details(item, facts, number=number)}" for item in items)


def listed_there(items: Iterable[DistortionFinding], facts: Facts) -> str:
    """The same, and where: each by its own place, where only a part of the image is concerned."""
    found = list(items)[:3]
    said = listed(found, facts)
    if not all(map(place_of, found)):
        return f"{said} {where(facts)}"
    scopes = scopes_of(facts.evidence)
    return said if scopes == [GLOBAL] else f"{said} of {' and '.join(map(scope_words, scopes))}"


def not_blurred(facts: Facts) -> str:
    """What is to be said of an image that is not blurred as a whole but soft in part; empty of any other."""
    soft = said_soft(facts.evidence.notes)
    return f"Not blurred as a whole: {soft}." if soft else ""


def _details(item: DistortionFinding, facts: Facts, *, number: bool) -> str:
    """The number behind a severity, where it is, and how likely the type is; a reference shows the type."""
    value, gauge, place = item.measured.get("value"), gauge_of(item), place_of(item)
    parts = [f"measured {gauge.said(value) if gauge else f'{value:.3g}'}"] if number and value is not None else []
    parts += [f"{place[0]}, {place[1]:.0%} of the area"] if place else []
    if facts.plan.reference_mode is ReferenceMode.NONE:
        parts.append(f"{item.confidence:.0%} sure")
    return f" ({', '.join(parts)})" if parts else ""
