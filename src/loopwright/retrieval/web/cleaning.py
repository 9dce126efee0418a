"""Text from the web as plain text: no markup, nothing invisible, one space at a time."""

import html
import re
import unicodedata

# The tags that engines put round what was asked for, and between lines; any other "<" is text, as in "List<String>".
_HIGHLIGHT = re.compile(r"</?(?:a|b|em|i|mark|span|strong)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_BREAK = re.compile(r"</?(?:br|div|li|p|td|tr|ul)(?:\s[^<>]*)?/?>", re.IGNORECASE)

# Raw text beyond this many times its limit cannot matter.
_SLACK = 10

INVISIBLE = re.compile(
    "["
    "\u0000-\u0008\u000e-\u001b\u007f-\u0084\u0086-\u009f"  # controls other than white space
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers, Mongolian selectors
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb"  # zero width, bidi controls, fillers
    "\ud800-\udfff"  # half a character, which no encoding can write
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # shorthand and musical formatting
    "\U000e0000-\U000e0fff"  # tags and variation selectors that can smuggle a hidden text
    "]"
)
"""Characters that no reader sees, and that could hide text from a reader or from a filter."""


def clean_text(raw: str, limit: int) -> str:
    """One line of plain text, of what a search engine gave: it may hold tags, entities and invisible characters.

    Returns:
        The text without any of these, with single spaces, cut between words where there are spaces.
    """
    text = html.unescape(_BREAK.sub(" ", _HIGHLIGHT.sub("", raw[: _SLACK * limit])))
    return cut(collapse(text), limit)


def collapse(text: str) -> str:
    """A text without invisible characters, and with single spaces for all white space."""
    return " ".join(INVISIBLE.sub("", text).split())


def cut(text: str, limit: int) -> str:
    """The beginning of a text, at most ``limit`` characters, ending with a whole word where words have spaces."""
    if len(text) <= limit:
        return text
    space = max(text.rfind(" ", 0, limit + 1), text.rfind("\n", 0, limit + 1))
    end = space if space > 0.8 * limit else limit
    # A mark belongs to the letter before it, for example a Thai vowel or tone.
    while end and unicodedata.category(text[end]).startswith("M"):
        end -= 1
    return text[:end].rstrip()
