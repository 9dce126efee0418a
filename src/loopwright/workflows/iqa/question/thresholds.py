"""Questions whether the quality, or a tool's value, is beyond a number: "Quality above 3?", "Is the PSNR over 30?"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from loopwright.errors import UnknownNameError
from loopwright.workflows.iqa.question.tool_names import named_tools
from loopwright.workflows.iqa.question.vocabulary import named_distortions, spoken

_SIGNS = {">=": " at least ", "≥": " at least ", "<=": " at most ", "≤": " at most ", ">": " above ", "<": " below "}
_ABOVE = r"at least|above|over|exceed(?:s|ing)?|(?:higher|greater|more|better|larger) than"
_BELOW = r"at most|below|under|(?:lower|less|worse|smaller) than"
_BOUND = re.compile(
    rf"\b(?:(?P<above>{_ABOVE})|(?P<below>{_BELOW})) (?P<number>\d+(?:\.\d+)?)"
    r"(?: ?(?:db|stars?|points?))?(?P<scale> (?:out )?of 5)?\W*$"
)
_QUALITY = re.compile(r"\b(?:quality|rating|rated|mos)\b")
_SCORE = re.compile(r"\bscores?\b")
_ASKS = re.compile(r"^\W*(?:(?:is|are|was|does|do|did|has|have|will)\b|(?:the |its |overall |image )*(?:\w+) $)")
_OPEN = re.compile(r"\b(?:what|how|why|which|when|where|who)\b")
_NOT = re.compile(r"\bnot\b|\bno $")


@dataclass(frozen=True, slots=True)
class Threshold:
    """The claim that the quality, or a tool's own value, lies on one side of a number."""

    number: float
    """The number: on the scale of 1 to 5, or in the tool's own unit."""
    above: bool
    """Whether the value is to lie above it, or below."""
    inclusive: bool = False
    """Whether the number itself will do."""
    tool: str | None = None
    """The tool whose own value is meant; None for the quality score."""

    def holds(self, value: float) -> bool:
        """Whether a value lies on that side."""
        return self.inclusive if value == self.number else (value > self.number) is self.above


def read_threshold(question: str) -> Threshold | None:
    """The threshold that a question asks about.

    Args:
        question: The question, without answer options.

    Returns:
        The threshold; None if the question is no such one, or speaks of another scale than 1 to 5 or of a distortion
        ("is the noise above 3?").
    """
    text = question
    for sign, words in _SIGNS.items():
        text = text.replace(sign, words)
    text = spoken(text.replace("/", " of "))
    bound = _BOUND.search(text)
    before = text[: bound.start()] if bound else ""
    if bound is None or _OPEN.search(before):
        return None
    number, tools = float(bound["number"]), _tools(before)
    about_quality = _QUALITY.search(before) or (_SCORE.search(before) and not tools) or bound["scale"]
    coded = named_distortions(before) or re.search(r"\bjpe?g", before)
    if about_quality and 1 <= number <= 5 and not coded and (tools or _ASKS.search(before)):
        tools = []
    elif not tools:
        return None
    negated = bool(_NOT.search(before))
    inclusive = (bound["above"] or bound["below"]).startswith("at ")
    return Threshold(number, bool(bound["above"]) is not negated, inclusive is not negated, tools[0] if tools else None)


def _tools(text: str) -> list[str]:
    try:
        return named_tools(text)
    except UnknownNameError:
        return []
