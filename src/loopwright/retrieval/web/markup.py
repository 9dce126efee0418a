"""HTML to readable text, by Beautiful Soup."""

from __future__ import annotations

from bs4 import BeautifulSoup
from bs4.element import PageElement, PreformattedString, Tag

_CODE = frozenset(["script", "style", "template"])
_BLOCKS = frozenset(
    "address article blockquote br caption dd details div dl dt figcaption figure h1 h2 h3 h4 h5 h6 header hr li main "
    "ol p pre section summary table td th tr ul".split()
)


def fragment_text(markup: str) -> str:
    """The text of a piece of HTML, with a line break where a block begins or ends."""
    # Without recursion and without changing the tree: both are slow or fail where a page nests deeply.
    pieces: list[str] = []
    waiting: list[PageElement | str] = [BeautifulSoup(markup, "html.parser")]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Tag):
            # Comments and declarations are strings of a class of their own.
            if not isinstance(node, PreformattedString):
                pieces.append(str(node))
        elif node.name not in _CODE:
            edge = ["\n"] if node.name in _BLOCKS else []
            waiting += [*edge, *reversed(node.contents), *edge]
    return "".join(pieces)
