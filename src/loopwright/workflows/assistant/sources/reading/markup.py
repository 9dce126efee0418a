"""From the HTML or Markdown of an abstract to plain text."""

from __future__ import annotations

import html
import re
from typing import Any

from loopwright.retrieval.web.cleaning import INVISIBLE

# Only what is an element of HTML: "List<String>" and "a < b" are text.
_TAG = re.compile(
    r"</?(?:a|abbr|article|b|blockquote|br|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|s|script|section|small|span|"
    r"strong|style|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_EDGES = (
    (re.compile(r"(</?(?:blockquote|h[1-6]|ol|p|pre|table|ul)\b)", re.IGNORECASE), r"\n\n\1"),
    (re.compile(r"(<(?:br|hr)\b|</?(?:article|div|section|tr)\b)", re.IGNORECASE), r"\n\1"),
    (re.compile(r"(<li\b[^<>]*>)", re.IGNORECASE), r"\n\1- "),
    (re.compile(r"(</t[dh]\b)", re.IGNORECASE), r" \1"),
)
"""Where a block begins or ends, and what a reader sees there."""
_UNSEEN = ("script", "style", "template", "iframe", "object", "noscript", "head")
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\((?:https?://|mailto:|/)[^()\s]{0,2000}\)")
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_NOTHING_TO_DO = re.compile(r"[\w .,:;'\"()/+!?-]*", re.ASCII)
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]{1,1900}", re.IGNORECASE)


def plain_text(raw: str) -> str:
    """A text as a reader sees it: without tags, entities, addresses behind links, and invisible characters.

    Args:
        raw: Plain text, HTML or Markdown.

    Returns:
        Its text; a blank line between paragraphs.
    """
    if _TAG.search(raw):
        text = _text_of_html(raw)
    else:
        text = _MARKDOWN_LINK.sub(r"\1", html.unescape(raw) if "&" in raw else raw)
    lines = "\n".join(_SPACES.sub(" ", line).strip() for line in INVISIBLE.sub("", text).splitlines())
    return _BLANK_LINES.sub("\n\n", lines).strip()


def plain_line(raw: str) -> str:
    """The same on one line."""
    return " ".join((raw if _NOTHING_TO_DO.fullmatch(raw) else plain_text(raw)).split())


def web_address(raw: str) -> str:
    """The address of a web page, or an empty text if it is none: no script, and nothing that ends a link.

    Args:
        raw: The address as it was given; one that begins with ``www.`` may lack its scheme.
    """
    address = INVISIBLE.sub("", raw).strip()
    address = f"https://{address}" if address.lower().startswith("www.") else address
    return address if _ADDRESS.fullmatch(address) else ""


def _text_of_html(raw: str) -> str:
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - a module in C; slow to import

    # Line ends within a paragraph are spaces in HTML.
    marked = INVISIBLE.sub("", raw).replace("\n", " ")
    for edge, shown in _EDGES:
        marked = edge.sub(shown, marked)
    parser = etree.HTMLParser(no_network=True, huge_tree=True, remove_comments=True, remove_pis=True)
    root: Any = etree.HTML(f"<div>{marked}</div>", parser)
    etree.strip_elements(root, *_UNSEEN, with_tail=False)
    return "".join(root.itertext())
