"""Parts of one image put into words, and a soft part of a sharp image."""

import re

from loopwright.workflows.iqa.measuring.softness import Softness
from loopwright.workflows.iqa.schemas import GLOBAL, ExecutorOutput


def scope_words(scope: str) -> str:
    """A scope as it is put into a sentence."""
    if scope == GLOBAL:
        return "the whole image"
    return scope if scope.startswith(("the ", "a ", "an ")) else f"the {scope}"


def scopes_of(evidence: ExecutorOutput) -> list[str]:
    """The scopes that some evidence is about, in the order in which they were measured."""
    logs = [log.region for log in evidence.tool_logs]
    return list(dict.fromkeys([*logs, *evidence.distortion_set, *evidence.distortion_analysis, *evidence.regions]))


SOFT_IN_PART = "Soft in part: "
"""How the executor's note about a soft part begins."""


def soft_note(part: Softness) -> str:
    """What was measured about a soft part, and what it may mean: two sentences, without the last full stop."""
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
    """What the notes say about a soft part, without what it may mean; empty if they say nothing about one."""
    said = (note.removeprefix(SOFT_IN_PART) for note in notes if note.startswith(SOFT_IN_PART))
    return next(said, "").partition(". ")[0]


def mostly_soft(notes: list[str]) -> bool:
    """Whether most of what can be judged is soft, so that its sharpest parts are beside the point."""
    share = re.search(r"(\d+)%", said_soft(notes))
    return share is not None and int(share[1]) >= _MOST


_MOST = 65
"""Percent of an image from which its softness is not beside the point; a sharp photograph coded as JPEG of quality 30
has 59."""
