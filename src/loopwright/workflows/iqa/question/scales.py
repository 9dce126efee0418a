"""Numbers in a question: the scale on which an answer is wanted, and a threshold to hold a value against."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from loopwright.config import shipped
from loopwright.workflows.iqa.question.tool_names import known_tools
from loopwright.workflows.iqa.question.vocabulary import named_distortions, spans, spoken

_NAMES: dict[str, Any] = shipped("loopwright.workflows.iqa", "data/names.yaml")
_VALUES = {
    **{word: value for line in _NAMES["numbers"] for value, word in enumerate(line.split())},
    "twenty": 20, "hundred": 100, "a hundred": 100, "hundert": 100, "cent": 100, "cien": 100, "cento": 100,
}  # fmt: skip
_NUMBER = rf"(\d{{1,4}}|{'|'.join(sorted(_VALUES, key=len, reverse=True))})"
_RANGE = re.compile(rf"\b{_NUMBER} ?(?:to|-|–|\.\.|through|and|bis|und|à|et|al|a|y) ?{_NUMBER}\b")
_TOP = re.compile(
    rf"\b(?:out of|von|sur|sobre|de) {_NUMBER}\b(?! ?(?:px|pixel|%|db|mp))|(?<![\d.])\? ?(?:/|of) ?{_NUMBER}\b"
)
_LETTERS = re.compile(r"letter grade|\b(?:a ?[-–]|a (?:down )?(?:to|through|bis|à)|between a and) ?(?P<last>[d-g])\b")
_FAR_LETTERS = re.compile(r"\ba\b[^?!]{0,40}\b(?:to|through|bis|à)\b\W*(?P<last>[d-g])\b")
"""With words between, which without a word for grading are prose: "as a photo to e-mail"."""
_NO_SCALE = re.compile(
    r"\bat \d+ ?(?:%|percent)|(?<![\d.])(?!100\b)\d+(?:\.\d+)? ?(?:%|percent\b|prozent\b)"
    r"|\b(?:is|are) (?:\w+ ){1,2}100 ?% (?=\S)"
    r"|(?:%|percent\w*|share) of (?:the |all |its |this )*(?:pixels?|image|picture|photo|frame|area)"
)
_END = (
    r"(?<![\d.]){}(?: ?[(=:]| (?:is|being|means?|for|ist|für|est|es|è)\b"
    r"| (?=(?:the |die )?(?:best|worst|schlechtest)|(?:very|sehr) |[^\W\d]+(?: to\b|[,;:)?.]|$)))([^,;:)?\d]*)"
)

_LEVELS: dict[str, float] = _NAMES["levels"]
"""Word for a level of quality -> its place from 1 to 5."""


class Scale(BaseModel):
    """A scale of answers."""

    model_config = ConfigDict(frozen=True)

    low: float
    """What the worst image gets."""
    high: float
    """What the best image gets; below `low` where small numbers are good."""
    unit: str = ""
    """``stars``, ``school``, ``percent``, ``letters``, ``words`` or ``thumbs``; empty for plain numbers."""
    last: str = "F"
    """Of letters, the worst."""
    words: tuple[str, ...] = ()
    """Levels that are offered to choose from."""

    def value(self, quality: float) -> float:
        """A quality of 1 to 5 as a number on this scale."""
        return self.low + (quality - 1) / 4 * (self.high - self.low)

    def at(self, quality: float) -> str:
        """A quality of 1 to 5 on this scale, in words."""
        share = (quality - 1) / 4
        if self.unit == "words":
            return min(self.words, key=lambda word: abs(_LEVELS[word] - quality)).capitalize()
        if self.unit == "thumbs":
            return "Thumbs up" if quality >= 3 else "Thumbs down"
        if self.unit == "letters":
            # A school's letters skip E where the worst is F.
            letters = "ABCDF" if self.last == "F" else "".join(map(chr, range(ord("A"), ord(self.last) + 1)))
            return letters[min(len(letters) - 1, int((1 - share) * len(letters)))]
        value = self.value(quality)
        shown = f"{value:.0f}" if abs(self.high - self.low) > 20 else f"{value:.1f}"
        if self.unit == "percent":
            return f"{shown} percent"
        stars = " stars" if self.unit == "stars" else ""
        return f"{shown} of {max(self.low, self.high):.0f}{stars}"


def read_scale(text: str, *, of_fault: bool = False) -> Scale | None:
    """The scale that a text asks for; None if it asks for none.

    Args:
        text: In small letters.
        of_fault: Whether it is one of how strong a fault is, so that large numbers are bad if nothing else is said.
    """
    # At which size it is looked at, how much of something is meant, and of how much of the image, are no scales.
    text = _NO_SCALE.sub(" ", text)
    units = {span.key for span in spans(text) if span.section == "scales"}
    grades = bool(units) or any(span.section == "rate" for span in spans(text))
    if letters := _LETTERS.search(text) or (grades and _FAR_LETTERS.search(text)):
        return Scale(low=0, high=1, unit="letters", last=(letters["last"] or "f").upper())
    if len(levels := tuple(dict.fromkeys(re.findall(rf"\b(?:{'|'.join(_LEVELS)})\b", text)))) > 2:
        return Scale(low=1, high=5, unit="words", words=levels)
    if "thumbs" in units:
        return Scale(low=0, high=1, unit="thumbs")
    unit = next((each for each in ("stars", "school") if each in units), "")
    if found := _RANGE.search(re.sub(r" ?\([^)]*\)", "", text)) or _RANGE.search(text):
        low, high = sorted(float(number if number.isdigit() else _VALUES[number]) for number in found.groups())
        if low in (0, 1) and high >= 3:
            return _between(low, high, unit, text, of_fault=of_fault)
    values = sorted({int(number) for number in re.findall(r"(?<![\d.,/])\d{1,3}(?![\d.,/]*\d)", text)})
    ends = (*values[:1], *values[-1:])
    # "0 is useless, 100 is flawless": the ends of a scale, with what they are; "at ISO 100 and 1 s" has none.
    said = len(values) in (2, 3) and all(re.search(_END.format(value), text) for value in ends)
    if said and ends[0] in (0, 1) and ends[1] in (5, 6, 7, 10, 20, 100):
        return _between(values[0], values[-1], unit, text, of_fault=of_fault)
    if "percent" in units or re.search(r"\d?\s?%", text):
        return _between(0, 100, "percent", text, of_fault=of_fault)
    if found := _TOP.search(text):
        number = next(group for group in found.groups() if group)
        high = float(number) if number.isdigit() else _VALUES[number]
        return _between(1 if high <= 10 else 0, high, unit, text, of_fault=of_fault) if high >= 3 else None
    return _between(1, 6 if unit == "school" else 5, unit, text, of_fault=of_fault) if unit else None


def _between(low: float, high: float, unit: str, text: str, *, of_fault: bool) -> Scale:
    """The scale between two numbers; small ones are the good ones if the text says so of an end, "1 (clean)"."""
    good = _said_of(low, text) - _said_of(high, text)
    # A German school's best mark is 1.
    small = (unit == "school" and low == 1 and high <= 6) or (of_fault and unit != "stars")
    ends = (high, low) if good > 0 or (good == 0 and small) else (low, high)
    return Scale(low=ends[0], high=ends[1], unit=unit)


def _said_of(number: float, text: str) -> int:
    """Whether what follows a number calls it the good end (1), the bad one (-1), or neither."""
    said = " ".join(re.findall(_END.format(f"{number:.0f}"), text))
    found = {span.section for span in spans(said)}
    good, bad = bool(found & {"good", "praise"}), bool(found & {"bad", "faults"})
    return 0 if good is bad else 1 if good is not ("negation" in found) else -1


_SIGNS = {">=": " at least ", "≥": " at least ", "<=": " at most ", "≤": " at most ", ">": " above ", "<": " below "}
_ABOVE = r"at least|above|over|exceed(?:s|ing)?|(?:higher|greater|more|better|larger) than"
_BELOW = r"at most|below|under|(?:lower|less|worse|smaller) than"
_BOUND = re.compile(
    rf"\b(?:(?P<above>{_ABOVE})|(?P<below>{_BELOW})) (?:an? )?(?P<number>\d+(?:\.\d+)?)"
    r"(?: ?(?:db|stars?|points?|%|percent))?(?P<scale> (?:out )?of \d+)?\W*$"
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
    """The number: on its scale, by default of 1 to 5, or in the tool's own unit."""
    above: bool
    """Whether the value is to lie above it, or below."""
    inclusive: bool = False
    """Whether the number itself will do."""
    tool: str | None = None
    """The tool whose own value is meant; None for the quality score."""
    scale: Scale | None = None
    """The scale that the number is on, if it is not 1 to 5."""

    def holds(self, value: float) -> bool:
        """Whether a value lies on that side; a quality of 1 to 5 is put on the number's scale."""
        value = value if self.scale is None else self.scale.value(value)
        return self.inclusive if value == self.number else (value > self.number) is self.above


def read_threshold(question: str) -> Threshold | None:
    """The threshold that a question asks about; None without one, or of a distortion: "is the noise above 3?"."""
    text = question
    for sign, words in _SIGNS.items():
        text = text.replace(sign, words)
    text = spoken(text.replace("/", " of "))
    bound = _BOUND.search(text)
    before = text[: bound.start()] if bound else ""
    if bound is None or _OPEN.search(before):
        return None
    number, tools = float(bound["number"]), known_tools(before)
    about_quality = _QUALITY.search(before) or (_SCORE.search(before) and not tools) or bound["scale"]
    coded = named_distortions(before) or re.search(r"\bjpe?g", before)
    scale = None if tools else read_scale(re.sub(r"\d+(?:\.\d+)? ?(?=%|percent)", "", question))
    scale = None if scale is None or (scale.low, scale.high) == (1, 5) else scale
    low, high = (1.0, 5.0) if scale is None else sorted((scale.low, scale.high))
    if about_quality and low <= number <= high and not coded and (tools or _ASKS.search(before)):
        tools = []
    elif not tools:
        return None
    negated = bool(_NOT.search(before))
    inclusive = (bound["above"] or bound["below"]).startswith("at ")
    above = bool(bound["above"]) is not negated
    return Threshold(number, above, inclusive is not negated, tools[0] if tools else None, scale)
