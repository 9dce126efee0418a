"""Text from the web as plain text: no markup, nothing invisible, one space at a time."""

from __future__ import annotations

import html
import re
import unicodedata

MAX_TITLE = 300
"""The most characters of a title."""
MAX_TEXT = 2_000
"""The most characters of an engine's excerpt."""
MAX_URL = 2_000
"""The most characters of an address; a longer one is left out."""

# Nested entities ("&amp;lt;b&amp;gt;") hide a tag from one pass; nobody escapes more than three times by accident.
_PASSES = 3
# Raw text beyond this many times its limit cannot matter, and need not be parsed.
_SLACK = 10

_ELEMENTS = (
    "a abbr acronym address applet area article aside audio b base bdi bdo big blockquote body br button canvas "
    "caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed "
    "fieldset figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i "
    "iframe img input ins kbd label legend li link main map mark marquee math menu meta meter nav noframes "
    "noscript object ol optgroup option output p param picture pre progress q rp rt ruby s samp script search "
    "section select slot small source span strike strong style sub summary sup svg table tbody td template "
    "textarea tfoot th thead time title tr track tt u ul var video wbr"
)
# A "<" that begins no element of HTML is text, as in "List<String>" or "a < b".
_PLAIN_BRACKET = re.compile(rf"<(?!/?(?:{'|'.join(_ELEMENTS.split())})(?:[\s/>]|$)|!--|!doctype|\?)", re.IGNORECASE)

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
    """One line of plain text.

    Args:
        raw: Text that may hold HTML tags, entities and invisible characters.
        limit: The most characters to keep.

    Returns:
        The text without any of these, with single spaces, cut between words where there are spaces.
    """
    return cut(collapse(_without_markup(raw[: _SLACK * limit])), limit)


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


def _without_markup(text: str) -> str:
    for _ in range(_PASSES):
        before, text = text, html.unescape(text)
        escaped = _without_open_tags(_PLAIN_BRACKET.sub("&lt;", text))
        if "<" in escaped:
            # The parser takes long to import, and most excerpts are plain.
            from loopwright.retrieval.web.markup import fragment_text

            text = fragment_text(escaped)
        if text == before:
            break
    return text


def _without_open_tags(text: str) -> str:
    # A "<" that no ">" follows is text, and for each of them the parser would search all of the rest.
    closed, end, rest = text.rpartition(">")
    return closed + end + rest.replace("<", "&lt;")
