"""Places that words name ("the upper half", "bottom right corner") or numbers give ("region 10,20,100,80")."""

from __future__ import annotations

import re

from loopwright.workflows.iqa.measuring.whereabouts import Fractions, cell
from loopwright.workflows.iqa.query.place_lists import listed_places
from loopwright.workflows.iqa.query.terms import spoken
from loopwright.workflows.iqa.schemas import Box

REGION_PREFIX = "region "
"""How the scope of a box begins."""

SMALLEST = 16
"""Shorter side that a place is widened to where the image allows it, pixels: less cannot be judged."""

_DOWN = {"top": 0, "upper": 0, "bottom": 2, "lower": 2}
_ACROSS = {"left": 0, "right": 2}
_MIDDLE = frozenset(("center", "centre", "central", "middle"))
_SHARES = {"half": 2, "third": 3, "quarter": 4, "quadrant": 4, "corner": 3, "edge": 6, "border": 6}
_PARTS = frozenset(("side", "part", "portion", "section", "area", "region", "hand"))

_DIRECTION = r"(?:upper|lower|top|bottom|left|right|cent(?:er|re)|central|middle)"
_NOUN = r"(?:half|third|quarter|quadrant|corner|edge|border|side|part|portion|section|area|region)"
_OF_IMAGE = (
    r"(?: of (?:the |this |that |my |our |your )?(?:whole |entire )?"
    r"(?:image|picture|photo|photograph|frame|shot|scene|screenshot)\b)"
)
_ELSEWHERE = r"(?! of (?:the|this|that|my|our|your|an?|his|her|its|their)\b)(?! of \w+)"
_END = rf"(?:{_OF_IMAGE}|{_ELSEWHERE})"
_AFTER = (
    r"(?=\s*(?:[?.,;:!)]|$)| (?:or|and|than|vs|versus|against|to|compare|is|are|as|of|less|more|sharp|blur|nois|look"
    r"|better|worse|in|with)\w*\b)"
)
_PLACE = re.compile(
    rf"\b(?P<named>(?:{_DIRECTION}(?: hand)? ){{1,2}}{_NOUN})\b{_END}"
    rf"|\b(?P<corner>(?:upper|lower|top|bottom) (?:left|right|cent(?:er|re)|middle))\b{_END}"
    rf"|\b(?:the|in|at) (?P<bare>top|bottom|left|right|cent(?:er|re)|middle)\b{_END}{_AFTER}"
)
_KEYED = re.compile(
    r"\bx\s*[=:]?\s*(\d{1,7})\W+y\s*[=:]?\s*(\d{1,7})\W+"
    r"w(?:idth)?\s*[=:]?\s*(\d{1,7})\W+h(?:eight)?\s*[=:]?\s*(\d{1,7})\b",
    re.IGNORECASE,
)
_BOX_SCOPE = re.compile(r"region (\d{1,7}),(\d{1,7}),(\d{1,7}),(\d{1,7})")


def spelled_out(query: str) -> str:
    """A query in which every box is written as ``region LEFT,TOP,WIDTH,HEIGHT``: "box x=1 y=2 w=30 h=40" is not.

    Args:
        query: The user's question.
    """
    text = re.sub(
        rf"\b(?:region|roi|crop|box|rectangle)\b(?: at| of| is)?\W*(?={_KEYED.pattern})", "", query, flags=re.I
    )
    return _KEYED.sub(r"region \1,\2,\3,\4", text)


def mark_places(text: str) -> tuple[str, dict[str, str]]:
    """Put one made-up word in the place of each position that a text names, so that it reads like an object.

    Args:
        text: A question, in the form of `spoken`.

    Returns:
        The text with words such as ``place0x``, and made-up word -> the place's name ("left half").
    """
    marks: dict[str, str] = {}

    def mark(match: re.Match[str]) -> str:
        bare = match["bare"]
        name = match["named"] or match["corner"] or (bare if bare in _MIDDLE else f"{bare} half")
        word = next((word for word, known in marks.items() if known == name), f"place{len(marks)}x")
        marks[word] = name
        return f"{match[0].split(' ', 1)[0]} {word}" if bare else word

    return _PLACE.sub(mark, listed_places(text)), marks


def place_name(text: str) -> str | None:
    """The name of the position that a whole text gives, such as an answer option; None if it gives none."""
    words = re.sub(rf"{_OF_IMAGE}|^the ", "", spoken(text).strip(" .?!"))
    if fractions_of(words) is None:
        return None
    return f"{words} half" if words in {*_DOWN, *_ACROSS} else words


def fractions_of(name: str) -> Fractions | None:
    """Which part of an image a name means.

    Halves, thirds and quarters are taken at their word; a corner is a third of the width and of the height, a side or
    part is a half, two directions without more are a quadrant, an edge is a sixth, and the centre is the middle half of
    both.

    Args:
        name: For example "the upper left corner of the image".

    Returns:
        Left, top, width and height as shares of the image; None if the name means no position ("sky").
    """
    words = re.sub(rf"{_OF_IMAGE}|\b(?:the|very)\b", " ", spoken(name)).split()
    known = {*_DOWN, *_ACROSS, *_MIDDLE, *_SHARES, *_PARTS}
    if not words or not known.issuperset(words):
        return None
    down = next((_DOWN[word] for word in words if word in _DOWN), None)
    across = next((_ACROSS[word] for word in words if word in _ACROSS), None)
    middle = not _MIDDLE.isdisjoint(words)
    if down is None and across is None and not middle:
        return None
    shares = [_SHARES[word] for word in words if word in _SHARES]
    if middle:
        return _around_the_middle(down, across, shares)
    both = down is not None and across is not None
    # A quarter with two directions is a quadrant.
    share = 2 if not shares or (both and shares[0] == 4) else shares[0]
    return cell(down, across, 1 / share)


def _around_the_middle(down: int | None, across: int | None, shares: list[int]) -> Fractions:
    if down is None and across is None:
        return (1 / 3, 0.0, 1 / 3, 1.0) if shares == [3] else (0.25, 0.25, 0.5, 0.5)
    return cell(1 if down is None else down, 1 if across is None else across, 1 / 3)


def box_of(name: str, width: int, height: int) -> Box | None:
    """The box that a scope's name gives by itself, in words or numbers.

    Args:
        name: A scope of a plan.
        width: Of the image, pixels.
        height: Of the image, pixels.

    Returns:
        A box, inside the image if it is given in words; None if the name is that of an object.
    """
    numbers = _BOX_SCOPE.fullmatch(name.strip().lower())
    if numbers:
        left, top, box_width, box_height = map(int, numbers.groups())
        return left, top, box_width, box_height
    shares = fractions_of(name)
    if shares is None:
        return None
    left, box_width = _pixels(shares[0], shares[2], width)
    top, box_height = _pixels(shares[1], shares[3], height)
    return left, top, box_width, box_height


def _pixels(start: float, share: float, length: int) -> tuple[int, int]:
    first, last = round(start * length), round((start + share) * length)
    lacking = min(SMALLEST, length) - (last - first)
    if lacking > 0:
        first = min(max(0, first - lacking // 2), length - min(SMALLEST, length))
        last = first + min(SMALLEST, length)
    return first, last - first
