"""How much room a text takes in a drawing, and how it is broken into lines."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable

BOX_FONT = 14
"""Size of the text in boxes, in pixels."""
LABEL_FONT = 12
"""Size of the text on arrows, in pixels."""
LINE_HEIGHT = 1.3
"""From one line of text to the next, in font sizes."""

_LONGEST_LINE = 26
_NARROW = frozenset(" iljI.,:;'|!()[]")
_BROAD = frozenset("mwMW@%—")


def wrapped(text: str) -> tuple[str, ...]:
    """Break a text into as few lines as its length asks for, and make these about equally long.

    Args:
        text: The text; white space of any kind counts as one space.

    Returns:
        The lines, none for an empty text. Only a word that fills more than a line is broken.
    """
    lines = textwrap.wrap(text, _LONGEST_LINE)
    for width in range(max(map(len, lines), default=0) - 1, 0, -1):
        narrower = textwrap.wrap(text, width)
        if len(narrower) > len(lines) or max(map(len, text.split())) > width:
            break
        lines = narrower
    return tuple(lines)


def text_width(lines: Iterable[str], size: float) -> float:
    """Estimate how wide lines of text are in a common sans-serif font, on the generous side.

    Args:
        lines: The lines.
        size: The font's size, in pixels.

    Returns:
        The width of the widest line in pixels; 0 without lines.
    """
    return max((sum(map(_em, line)) * size for line in lines), default=0.0)


def text_height(lines: tuple[str, ...], size: float) -> float:
    """Return the height of lines of text in pixels."""
    return len(lines) * size * LINE_HEIGHT


def _em(character: str) -> float:
    """Estimate a character's width in font sizes."""
    if unicodedata.combining(character):
        return 0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.2
    if character in _NARROW:
        return 0.36
    if character in _BROAD:
        return 0.98
    return 0.7 if character.isupper() else 0.6
