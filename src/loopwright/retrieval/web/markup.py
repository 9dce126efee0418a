"""HTML to readable text, by Beautiful Soup."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from bs4 import BeautifulSoup
from bs4.element import PageElement, PreformattedString, Tag

from loopwright.retrieval.web.cleaning import MAX_TITLE, collapse, cut

# What is no text, and what is of the site rather than of the page.
_CODE = ["script", "style", "template"]
_EMBEDDED = ["noscript", "iframe", "object", "svg", "canvas"]
_FURNITURE = [*_CODE, *_EMBEDDED, "nav", "footer", "aside", "form", "button", "select", "dialog", "head"]
_FURNITURE_ROLES = {"navigation", "banner", "contentinfo", "complementary", "search", "dialog"}
_BLOCKS = (
    "address article blockquote br caption dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 header hr li main "
    "ol p pre section summary table td th tr ul"
).split()
# What a reader never sees is where instructions to a model are hidden.
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden|(?:font-size|opacity)\s*:\s*0(?![.\d]*[1-9])")
_ENOUGH = 200


class ReadablePage(NamedTuple):
    """A page as a reader sees it."""

    title: str
    """Its title; may be empty."""
    text: str
    """Its text, a line for each block; may be empty."""


def fragment_text(markup: str) -> str:
    """The text of a piece of HTML, with a line break where a block begins or ends."""
    return _text(BeautifulSoup(markup, "html.parser"), _is_code)


def readable_page(data: bytes, charset: str | None) -> ReadablePage:
    """Read a page: its main part without navigation, scripts, forms and hidden elements.

    Args:
        data: The page's HTML.
        charset: Its encoding as the server says; None looks for it in the page.

    Returns:
        Its title and text.
    """
    soup = BeautifulSoup(data, "lxml", from_encoding=charset)
    title = cut(collapse(soup.title.get_text()), MAX_TITLE) if soup.title else ""
    main = soup.find("main") or soup.find("article")
    text = _lines(_text(main, _is_furniture)) if main else ""
    return ReadablePage(title, text if len(text) >= _ENOUGH else _lines(_text(soup, _is_furniture)))


def _is_code(element: Tag) -> bool:
    return element.name in _CODE


def _is_furniture(element: Tag) -> bool:
    attributes = element.attrs
    return (
        element.name in _FURNITURE
        or "hidden" in attributes
        or attributes.get("aria-hidden") == "true"
        or attributes.get("role") in _FURNITURE_ROLES
        or bool(_HIDDEN_STYLE.search(str(attributes.get("style", "")).lower()))
    )


def _text(root: Tag, skip: Callable[[Tag], bool]) -> str:
    """Walk without recursion and without changing the tree: both are slow or fail where a page nests deeply."""
    pieces: list[str] = []
    waiting: list[PageElement | str] = [root]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Tag):
            # Comments and declarations are strings of a class of their own.
            if not isinstance(node, PreformattedString):
                pieces.append(str(node))
        elif not skip(node):
            edge = ["\n"] if node.name in _BLOCKS else []
            waiting += [*edge, *reversed(node.contents), *edge]
    return "".join(pieces)


def _lines(text: str) -> str:
    return "\n".join(line for line in map(collapse, text.splitlines()) if line)
