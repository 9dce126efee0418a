"""Parts of one image: their evidence taken apart, put into words, and a soft part of a sharp image."""

from __future__ import annotations

from typing import TypeVar

from loopwright.workflows.iqa.measuring.softness import Softness
from loopwright.workflows.iqa.schemas import GLOBAL, ExecutorOutput, ToolLog

V = TypeVar("V")


def scope_words(scope: str) -> str:
    """A scope as it is put into a sentence."""
    if scope == GLOBAL:
        return "the whole image"
    return scope if scope.startswith(("the ", "a ", "an ")) else f"the {scope}"


def in_scope(note: str, scope: str) -> str:
    """A note about one part of the image, marked as such; its first words stay what they were."""
    return f"{note.rstrip('.')} ({scope_words(scope)})"


def scopes_of(evidence: ExecutorOutput) -> list[str]:
    """The scopes that some evidence is about, in the order in which they were measured."""
    logs = [log.region for log in evidence.tool_logs]
    named = [*evidence.distortion_set, *evidence.distortion_analysis, *evidence.regions, *logs]
    order = [*dict.fromkeys(logs), *dict.fromkeys(named)]
    return list(dict.fromkeys(order))


def evidence_on(evidence: ExecutorOutput, scope: str) -> ExecutorOutput:
    """The evidence on one scope, as if nothing else had been measured.

    Returns:
        Its findings, runs, scores and notes; notes about the files and about where things are stay.
    """
    others = {f" ({scope_words(name)})" for name in scopes_of(evidence)}
    own = f" ({scope_words(scope)})"
    notes = [note.removesuffix(own) for note in evidence.notes if not note.endswith(tuple(others - {own}))]
    logs = [log for log in evidence.tool_logs if log.region == scope]
    doubtful = any(note.endswith(own) for note in evidence.notes) or not any(
        note.endswith(tuple(others)) for note in evidence.notes
    )
    return evidence.model_copy(
        update={
            "distortion_set": _only(evidence.distortion_set, scope),
            "distortion_analysis": _only(evidence.distortion_analysis, scope),
            "tool_logs": logs,
            "quality_scores": {log.tool: log.score for log in logs if log.score is not None},
            "primary_tool": _primary(evidence, logs),
            "notes": notes,
            "undecided": evidence.undecided if doubtful else [],
            "regions": _only(evidence.regions, scope),
        }
    )


def _only(values: dict[str, V], scope: str) -> dict[str, V]:
    return {name: value for name, value in values.items() if name == scope}


def _primary(evidence: ExecutorOutput, logs: list[ToolLog]) -> str | None:
    """The tool whose score answers for a scope: that of the first scope, or what stands in for it there."""
    first = evidence.primary_tool
    scored = [log for log in logs if log.score is not None]
    order = sorted(scored, key=lambda log: (log.tool != first, log.fallback_for != first))
    return order[0].tool if order else first


SOFT_IN_PART = "Soft in part: "
"""How the executor's note about a soft part begins."""


def soft_note(part: Softness) -> str:
    """What was measured about a soft part, and what it may mean.

    Returns:
        Two sentences, the first of which begins with `SOFT_IN_PART`, without the last full stop.
    """
    spread = part.place in ("spread over the image", "nearly everywhere")
    where = part.place if spread else f"mostly {part.place}"
    # Below half a pixel the number says nothing: a pixel is as sharp as it gets.
    edges = f"by {part.sharpest:.1f} pixels" if part.sharpest >= 0.5 else "by less than half a pixel"
    return (
        f"{SOFT_IN_PART}its sharpest parts are sharp (edges blurred {edges}), while about "
        f"{part.share:.0%} of what can be judged is soft, {where}. That may be wanted (shallow depth of field, motion, "
        "a smooth surface) or a fault; the picture alone cannot tell"
    )


def said_soft(notes: list[str]) -> str:
    """What the notes say about a soft part, without their beginning.

    Returns:
        The first sentence without its full stop, empty if they say nothing about one; what it may mean, the notes say.
    """
    said = (note.removeprefix(SOFT_IN_PART) for note in notes if note.startswith(SOFT_IN_PART))
    return next(said, "").partition(". ")[0]
