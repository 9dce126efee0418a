"""HTML: what a reader sees of a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from warnings import catch_warnings, simplefilter

from bs4 import BeautifulSoup, UnusualUsageWarning
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, PreformattedString, Tag

from loopwright.workflows.files import text_of
from loopwright.workflows.rag.sources.reading.documents import ReadDocument, Section
from loopwright.workflows.rag.sources.reading.layout import Layout
from loopwright.workflows.rag.sources.reading.source import Source

_UNSEEN = frozenset(
    "script style noscript template head title svg iframe object canvas audio video datalist nav".split()
)
# What is beside a page's text: menus, search fields, questions about cookies.
_UNSEEN_ROLES = frozenset("navigation menu menubar search dialog alertdialog".split())
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp small span strike "
    "strong sub sup td th time tt u var wbr".split()
)
_CELLS = frozenset("td th".split())
_ROWS = frozenset("li tr option".split())
_SPACES = re.compile(r"\s+")
_DOUBLE_SPACES = re.compile(r" {2,}")
_AROUND_BREAKS = re.compile(r" *\n *")
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


def read(source: Source) -> Iterator[ReadDocument]:
    """Read an HTML page: headings and text in order, without scripts, styles, menus, hidden elements and comments."""
    data = source.data(source.limits.html_bytes)
    markup = _markup(source, data)
    try:
        with catch_warnings():
            # XHTML is read as HTML on purpose, and a text that looks like an address is still the page.
            simplefilter("ignore", UnusualUsageWarning)
            soup = BeautifulSoup(markup, "lxml")
        title = soup.title.get_text() if soup.title else ""
        page = _Page()
        text, sections = page.read(soup)
    except Exception as error:
        # The parser is not ours, and what it raises on damaged pages is nowhere listed.
        raise source.error(f"is no readable HTML: {type(error).__name__}: {error}") from error
    title = title.strip() or page.first_heading or source.path.stem
    yield source.document(text, sections, title=title, raw=data)


def _markup(source: Source, data: bytes) -> str:
    """The page's characters: by the encoding that it declares, else as any text."""
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    if declared and not data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) and b"\x00" not in data:
        with suppress(LookupError, UnicodeError):  # it may declare one that does not exist or that it does not keep to
            return data.decode(declared)
    return text_of(source, data)


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a block, waiting behind what is in it."""

    tag: str


class _Page:
    """Walks a page and collects its blocks."""

    def __init__(self) -> None:
        self._layout = Layout()
        self._block: list[str] = []
        self.first_heading = ""

    def read(self, soup: BeautifulSoup) -> tuple[str, tuple[Section, ...]]:
        # A stack of what is still to do instead of recursion: pages may be nested deeper than Python calls.
        waiting: list[PageElement | _End] = [soup]
        while waiting:
            item = waiting.pop()
            if isinstance(item, _End):
                self._end_block(item.tag)
            elif isinstance(item, Tag):
                waiting += self._enter(item)
            elif isinstance(item, NavigableString) and not isinstance(item, PreformattedString):
                self._block.append(_SPACES.sub(" ", item))
        self._end_block("")
        return self._layout.finish()

    def _enter(self, tag: Tag) -> list[PageElement | _End]:
        """Begin a tag, and give what is in it, last first."""
        if _is_unseen(tag):
            return []
        if tag.name == "br":
            self._block.append("\n")
            return []
        inside: list[PageElement | _End] = list(reversed(tag.contents))
        if tag.name in _CELLS and any(part.strip() for part in self._block):
            self._block.append(" | ")
        if tag.name in _INLINE:
            return inside
        self._end_block("")
        if tag.name == "pre":
            self._layout.paragraph(tag.get_text())
            return []
        return [_End(tag.name), *inside]

    def _end_block(self, tag: str) -> None:
        text = _AROUND_BREAKS.sub("\n", _DOUBLE_SPACES.sub(" ", "".join(self._block)))
        self._block.clear()
        if tag in _HEADINGS:
            self._layout.heading(int(tag[1]), text)
            self.first_heading = self.first_heading or " ".join(text.split())
        else:
            self._layout.paragraph(text, kind=tag if tag in _ROWS else "")


def _is_unseen(tag: Tag) -> bool:
    style = tag.get("style")
    return (
        tag.name in _UNSEEN
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or tag.get("role") in _UNSEEN_ROLES
        or bool(isinstance(style, str) and _HIDDEN.search(style))
    )
