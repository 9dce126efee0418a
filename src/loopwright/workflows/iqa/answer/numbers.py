"""Answers that are numbers: a tool's own value in its unit, and a value held against a threshold."""

from __future__ import annotations

from collections.abc import Iterable

from loopwright.workflows.iqa.answer.verdicts import Facts
from loopwright.workflows.iqa.question.thresholds import Threshold
from loopwright.workflows.iqa.tools.registry import get_tool


def in_unit(tool: str, value: float) -> str:
    """A tool's own value, with its unit.

    Args:
        tool: A registered name.
        value: The value.

    Returns:
        For example ``"27.31 dB"``.
    """
    return f"{value:.4g} {get_tool(tool).unit}".rstrip()


def values(tools: Iterable[str], facts: Facts) -> str:
    """What some tools measured, in their own units: ``"PSNR is 27.31 dB, SSIM is 0.8123"``."""
    measured = [(name, facts.value(name)) for name in tools]
    return ", ".join(
        f"{name} could not be measured" if value is None else f"{name} is {in_unit(name, value)}"
        for name, value in measured
    )


def held_against(claim: Threshold, facts: Facts) -> str:
    """A measured value and the threshold: ``"the quality is fair (3.2 of 5), above 3"``.

    Args:
        claim: The threshold.
        facts: What was measured; the value is among it.
    """
    value = facts.value(claim.tool)
    if claim.tool:
        said = values([claim.tool], facts)
    else:
        said = f"the quality is {facts.score.level.lower()} ({value:.2f} of 5)" if facts.score else "there is no score"
    side = "exactly" if value == claim.number else ("above" if (value or 0) > claim.number else "below")
    return f"{said}, {side} {claim.number:g},"
