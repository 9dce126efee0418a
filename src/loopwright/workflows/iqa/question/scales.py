"""The scale on which an answer is wanted: "from 1 to 10", "out of 5", percent, stars, letters, thumbs, school marks."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from loopwright.workflows.iqa.question.vocabulary import spans

_NUMBER = (
    r"(\d{1,4}|zero|one|two|five|ten|twenty|a hundred|hundred|null|eins|fünf|zehn|zéro|un|cinq|dix|uno|cinco|diez)"
)
_VALUES = {
    "zero": 0, "null": 0, "zéro": 0, "one": 1, "eins": 1, "un": 1, "uno": 1, "two": 2, "five": 5, "fünf": 5, "cinq": 5,
    "cinco": 5, "ten": 10, "zehn": 10, "dix": 10, "diez": 10, "twenty": 20, "hundred": 100, "a hundred": 100,
}  # fmt: skip
_RANGE = re.compile(rf"\b{_NUMBER} ?(?:to|-|–|\.\.|through|and|bis|und|à|et|al|a|y) ?{_NUMBER}\b")
_TOP = re.compile(
    rf"\b(?:out of|von|sur|sobre|de) {_NUMBER}\b(?! ?(?:px|pixel|%|db|mp))|(?<![\d.])\? ?(?:/|of) ?{_NUMBER}\b"
)
_LETTERS = re.compile(
    r"\ba\b[^?!]{0,40}\b(?:to|down to|through|bis|à)\b\W*(?P<last>[d-g])\b|letter grade|\ba ?(?:-|–) ?(?P<end>[d-g])\b"
)
_WORST_FIRST = re.compile(r"\b(?:1|one) (?:being |is |= ?|ist |für )?(?:the )?(?:best|beste|sehr gut|highest)")


class Scale(BaseModel):
    """A scale of answers."""

    model_config = ConfigDict(frozen=True)

    low: float
    """What the worst image gets."""
    high: float
    """What the best image gets; below `low` where small numbers are good."""
    unit: str = ""
    """``stars``, ``percent``, ``letters`` or ``thumbs``; empty for plain numbers."""
    last: str = "F"
    """Of letters, the worst."""

    def at(self, quality: float) -> str:
        """A quality on this scale, in words.

        Args:
            quality: From 1 (bad) to 5 (excellent).
        """
        share = (quality - 1) / 4
        if self.unit == "thumbs":
            return "Thumbs up" if quality >= 3 else "Thumbs down"
        if self.unit == "letters":
            # A school's letters skip E where the worst is F.
            letters = "ABCDF" if self.last == "F" else "".join(map(chr, range(ord("A"), ord(self.last) + 1)))
            return letters[min(len(letters) - 1, int((1 - share) * len(letters)))]
        value = self.low + share * (self.high - self.low)
        shown = f"{value:.0f}" if abs(self.high - self.low) > 20 else f"{value:.1f}"
        if self.unit == "percent":
            return f"{shown} percent"
        stars = " stars" if self.unit == "stars" else ""
        return f"{shown} of {max(self.low, self.high):.0f}{stars}"


def read_scale(text: str) -> Scale | None:
    """The scale that a text asks for.

    Args:
        text: In small letters.

    Returns:
        The scale; None if it asks for none.
    """
    units = {span.key for span in spans(text) if span.section == "scales"}
    if letters := _LETTERS.search(text):
        return Scale(low=0, high=1, unit="letters", last=(letters["last"] or letters["end"] or "f").upper())
    if "thumbs" in units:
        return Scale(low=0, high=1, unit="thumbs")
    unit = "stars" if "stars" in units else ""
    if found := _RANGE.search(text):
        low, high = (float(_VALUES.get(number, 0) if not number.isdigit() else number) for number in found.groups())
        if low > high:
            low, high = high, low
        if high > low and low in (0, 1) and high >= 3:
            return Scale(low=high, high=low) if _WORST_FIRST.search(text) else Scale(low=low, high=high, unit=unit)
    values = sorted({int(number) for number in re.findall(r"(?<![\d.,])\d{1,3}(?![\d.,]*\d)", text)})
    # "0 is useless, 100 is flawless": the ends of a scale, however they are told.
    if len(values) >= 2 and values[0] in (0, 1) and values[-1] in (5, 6, 7, 10, 20, 100) and len(values) < 4:
        praise = r"(?:the )?(?:best|perfect|flawless|very good|sehr gut|excellent)"
        best_first = bool(re.search(rf"\b{values[0]} ?(?:is|[=(]|being|for|ist)? ?{praise}", text))
        ends = (float(values[-1]), float(values[0])) if best_first else (float(values[0]), float(values[-1]))
        return Scale(low=ends[0], high=ends[1], unit=unit)
    if "percent" in units or re.search(r"\d?\s?%", text):
        return Scale(low=0, high=100, unit="percent")
    if found := _TOP.search(text):
        number = next(group for group in found.groups() if group)
        high = float(number) if number.isdigit() else _VALUES[number]
        return Scale(low=1 if high <= 10 else 0, high=high, unit=unit) if high >= 3 else None
    if unit:
        return Scale(low=1, high=5, unit=unit)
    if "school" in units:
        return Scale(low=6, high=1)
    return None
