"""HTML: what a reader sees of a page."""

import re
from collections.abc import Iterator
from contextlib import suppress
from warnings import catch_warnings, simplefilter

from bs4 import BeautifulSoup, UnusualUsageWarning
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString, PageElement, PreformattedString, Tag
from lxml.html import fragment_fromstring

from loopwright.config import shipped
from loopwright.workflows.files import text_of
from loopwright.workflows.rag.answer.sentences import CENTS, NO_PART
from loopwright.workflows.rag.sources.reading.formulas import linear
from loopwright.workflows.rag.sources.reading.layout import Layout, ReadDocument, Section
from loopwright.workflows.rag.sources.reading.source import Source

_NAMES = shipped("loopwright.workflows.rag", "data/html.yaml")
_HTML = {kind: frozenset(names.split()) for kind, names in _NAMES.items()}
_HEADINGS, _CELLS, _ROWS = _HTML["headings"], _HTML["cells"], _HTML["rows"]
_BLOCKS = ["table", "tr", "pre", *_HEADINGS]
_LATIN = ("iso-8859-1", "latin-1", "latin1", "windows-1252", "cp1252")
_SPACES = re.compile(r"\s+")
_WORDS = re.compile(r"(?<!\S)[(\"']?[^\W\d_]+[.,;:!?)\"']*(?!\S)")
_DOUBLE_SPACES = re.compile(r" *(\n) *| +( )")
_HIDDEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


def read(source: Source) -> Iterator[ReadDocument]:
    """Read an HTML page: headings and text in order, without scripts, styles, menus, hidden elements and comments."""
    data = source.data(source.limits.html_bytes)
    markup = _markup(source, data)
    with source.parsing("is no readable HTML"):
        soup = tree_of(markup)
        title = soup.title.get_text() if soup.title else ""
        text, sections, heading = Page().read(soup)
    yield source.document(text, sections, title=title.strip() or heading, raw=data)


def tree_of(markup: str | bytes) -> BeautifulSoup:
    """The tree of a page."""
    with catch_warnings():
        # XHTML is read as HTML on purpose, and a text that looks like an address is still the page.
        simplefilter("ignore", UnusualUsageWarning)
        return BeautifulSoup(markup, "lxml")


def _markup(source: Source, data: bytes) -> str:
    """The page's characters: by the encoding that it declares, else as any text."""
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    marked = data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")) or b"\x00" in data
    # What could be read as ASCII, as its declaration was, is no UTF-16.
    if declared and not marked and not declared.startswith(("utf-16", "utf-32")):
        # All bytes are Latin-1, which is declared by habit: they may be UTF-8, or what Windows adds to it.
        for encoding in ("utf-8", "cp1252") if declared in _LATIN else (declared,):
            with suppress(LookupError, UnicodeError):  # it may be one that does not exist or that it does not keep to
                return data.decode(encoding)
    return text_of(source, data)


class Page:
    """Walks the tree of a page and collects its blocks."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._layout = Layout()
        self._block: list[str] = []
        # The cells of the row above, each with how many rows it goes on for.
        self._above: list[tuple[str, int]] = []

    def read(self, *trees: Tag) -> tuple[str, tuple[Section, ...], str]:
        """The text of one tree after the other, its sections, and the heading that all others stand under.

        An element with ``page`` begins a page of that number.
        """
        # A stack of what is still to do instead of recursion: pages may be nested deeper than Python calls.
        # The end of a block, by its tag, waits behind what is in it.
        waiting: list[PageElement | tuple[str]] = [*reversed(trees)]
        while waiting:
            item = waiting.pop()
            if isinstance(item, tuple):
                self._end_block(*item)
            elif isinstance(item, Tag):
                waiting += self._enter(item)
            elif isinstance(item, NavigableString) and not isinstance(item, PreformattedString):
                self._block.append(_SPACES.sub(" ", item))
        self._end_block("")
        return self._layout.finish()

    def _enter(self, tag: Tag) -> list[PageElement | tuple[str]]:
        """Begin a tag, and give what is in it, last first."""
        if _is_unseen(tag):
            return []
        self._number = int(str(tag["page"])) if tag.has_attr("page") else self._number
        if tag.name in ("br", "math"):
            self._block.append("\n" if tag.name == "br" else linear(fragment_fromstring(str(tag))))
            return []
        inside: list[PageElement | tuple[str]] = list(reversed(tag.contents))
        beside = [type(each) is NavigableString and each.strip() for each in (tag.previous_sibling, tag.next_sibling)]
        # An element of the page's own is within a line where words are beside it, a button where it is in a heading.
        is_within = any(beside) if not tag.name.isalnum() else tag.name == "button" and tag.find_parent(_HEADINGS)
        if tag.name in _HTML["inline"] or is_within:
            before = "".join(self._block[-4:])[-4:]
            if tag.name == "sup" and tag.get_text()[:1].isdigit() and re.search(rf"{NO_PART}\Z", before):
                self._block.append("^")
            return inside
        self._end_block("")
        if tag.name == "table":
            self._above = []
        if tag.name == "tr" and self._row(tag):
            return []
        if tag.name == "pre":
            code = tag.get_text().strip("\n")
            # Mail and plain text stand there too: prose fills its lines with words, which code does not.
            prose = len(_WORDS.findall(code)) >= 5 * len(re.findall(r"^.*\S", code, re.MULTILINE))
            self._layout.paragraph(code if prose else f"```\n{code}\n```")
            return []
        return [(tag.name,), *inside]

    def _row(self, tag: Tag) -> bool:
        """Add a row of several cells as one line, where none is laid out itself; one that spans several is repeated."""
        tags = [cell for cell in tag.find_all(_CELLS, recursive=False) if not _is_unseen(cell)]
        kept = {place: (text, rows - 1) for place, (text, rows) in enumerate(self._above) if rows > 1}
        widths = [min(_span(cell, "colspan"), len(self._above) or 100) for cell in tags]
        # A short cell across the table names the rows below it; above all rows it is the table's title.
        name = tag.get_text(strip=True)
        is_group = sum(widths) > 1 and len(self._above) > 1 and 0 < len(name) < 90 and name[-1] not in ".!?"
        # A list within a cell is a part of it, a long one is what the page lays out by its table.
        blocks = _BLOCKS if len(name) < 500 else [*_BLOCKS, "ul", "ol"]
        if (len(tags) + len(kept) < 2 and not is_group) or any(cell.find(blocks) for cell in tags):
            return False
        cells = [
            (None if cell.has_attr("as-above") else " ".join(Page().read(cell)[0].split()), _span(cell, "rowspan"))
            for cell in tags
        ]
        wide = [cell for cell, width in zip(cells, widths, strict=True) for _ in range(width)]
        each = iter(wide)
        row = [kept.get(place) or next(each, ("", 1)) for place in range(len(wide) + len(kept))]
        above = [text for text, _ in self._above] + [""] * len(row)
        self._above = [(above[place] if text is None else text, rows) for place, (text, rows) in enumerate(row)]
        self._layout.paragraph(" | ".join(text for text, _ in self._above), kind=f"tr{id(tag.find_parent('table'))}")
        return True

    def _end_block(self, tag: str) -> None:
        text = _DOUBLE_SPACES.sub(lambda space: space[1] or space[2], CENTS.sub("", "".join(self._block)))
        self._block.clear()
        if tag in _HEADINGS:
            self._layout.heading(int(tag[1]), text, self._number)
        else:
            self._layout.paragraph(text, kind=tag if tag in _ROWS else "")


def _span(cell: Tag, name: str) -> int:
    number = str(cell.get(name))
    return min(100, int(number) or 1) if number.isdecimal() and len(number) < 9 else 1


def _is_unseen(tag: Tag) -> bool:
    return (
        tag.name in _HTML["unseen"]
        or tag.has_attr("hidden")
        or tag.get("aria-hidden") == "true"
        or tag.get("role") in _HTML["unseen_roles"]
        or _HIDDEN.search(str(tag.get("style"))) is not None
        # "¶" beside a heading.
        or (tag.name == "a" and str(tag.get("href")).startswith("#") and not re.search(r"\w", tag.get_text()))
    )
