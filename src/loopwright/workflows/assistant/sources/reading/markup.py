"""From the HTML or Markdown of an abstract to plain text."""

import html
import re

from loopwright.retrieval.web.cleaning import INVISIBLE

# Only what is an element of HTML: "List<String>" and "a < b" are text.
_TAG = re.compile(
    r"</?(?:a|abbr|article|b|blockquote|br|code|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|s|script|section|small|span|"
    r"strong|style|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_MARKDOWN_LINK = re.compile(r"!?\[([^\[\]\n]{1,300})\]\((?:https?://|mailto:|/)[^()\s]{0,2000}\)")
_SPACES = re.compile(r"[^\S\n]+")
_BLANK_LINES = re.compile(r"\n{3,}")
_NOTHING_TO_DO = re.compile(r"[\w .,:;'\"()/+!?-]*", re.ASCII)
_BLOCK = re.compile(
    r"</?(?:address|article|blockquote|br|caption|d[dlt]|details|div|fig(?:caption|ure)|h[1-6]|header|hr|li|main|ol|p|pre"
    r"|section|summary|table|t[dhr]|ul)\b",
    re.IGNORECASE,
)
"""The beginning of a tag at which a line ends."""
_SECTION = re.compile(r"<!\[(?:[^<>]*>)?")
"""As Word writes them, "<![if !supportLists]>"; the parser refuses the whole text for one that it does not know."""
_ADDRESS = re.compile(r"https?://[^\s<>\"'`\\]{1,1900}", re.IGNORECASE)


def plain_text(raw: str) -> str:
    """A text as a reader sees it: without tags, entities, addresses behind links, and invisible characters."""
    if _TAG.search(raw):
        # The parser takes long to import, and most texts are plain.
        from bs4 import BeautifulSoup

        # Line ends within a paragraph are spaces in HTML.
        markup = _SECTION.sub("", INVISIBLE.sub("", raw).replace("\n", " "))
        text = BeautifulSoup(_BLOCK.sub(r"\n\g<0>", markup), "html.parser").get_text()
    else:
        text = _MARKDOWN_LINK.sub(r"\1", html.unescape(raw) if "&" in raw else raw)
    lines = "\n".join(_SPACES.sub(" ", line).strip() for line in INVISIBLE.sub("", text).splitlines())
    return _BLANK_LINES.sub("\n\n", lines).strip()


def plain_line(raw: str) -> str:
    """The same on one line."""
    return " ".join((raw if _NOTHING_TO_DO.fullmatch(raw) else plain_text(raw)).split())


def web_address(raw: str) -> str:
    """The address of a web page, or an empty text if it is none: no script, and nothing that ends a link.

    One that begins with ``www.`` may lack its scheme.
    """
    address = INVISIBLE.sub("", raw).strip()
    address = f"https://{address}" if address.lower().startswith("www.") else address
    return address if _ADDRESS.fullmatch(address) else ""
