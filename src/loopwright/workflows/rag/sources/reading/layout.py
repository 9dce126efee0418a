"""What reading a file gives, a text with its structure, and how it is built of headings, paragraphs and pages."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile, zip_longest

from loopwright.retrieval.records import Document
from loopwright.workflows.rag.answer.sentences import NOTES, sentence_spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A stretch of a document's text under one heading, on one page."""

    headings: tuple[str, ...] = ()
    """The headings above it, from the outermost."""
    page: int | None = None
    """The page, from 1, where there are pages."""
    start: int
    """Where it begins in the document's text, in characters; its own heading line belongs to it."""
    end: int
    """Where it ends there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument(Document):
    """A document as it was read, before it is cut into passages."""

    text: str
    """The whole plain text; every span of sections and passages counts its characters."""
    sections: tuple[Section, ...] = ()
    """Its structure, in order and without overlap; together they hold every character that is not white space."""
    names: tuple[str, ...] = ()
    """What is an entity wherever the text has it, whether or not it looks like a name: the two sides of a triple."""


def sections(text: str, begun: Sequence[Section]) -> tuple[Section, ...]:
    """The sections of a text, of which each was begun where its heading begins, and ended where that ends.

    A heading without a body of its own opens the next section.
    """
    found: list[Section] = []
    opened: int | None = None
    for section, following in zip_longest(begun, begun[1:]):
        start = section.start if opened is None else opened
        end = following.start if following else len(text)
        opened = None
        if text[section.end : end].strip() or (not following and text[start:end].strip()):
            found.append(replace(section, start=start, end=end))
        elif text[start:end].strip():
            opened = start
    return tuple(found)


def shared_headings(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings with which all of these begin."""
    return tuple(level[0] for level in takewhile(lambda level: len({*level}) == 1, zip(*paths, strict=False)))


def title_of(begun: Iterable[Section]) -> str:
    """The heading that all others stand under; empty where there is none: one of several is no title."""
    return next(iter(shared_headings(each.headings for each in begun if each.headings)), "")


def below(above: dict[int, str], level: int, title: str) -> dict[int, str]:
    """The headings above a place by their levels, once another was passed."""
    return {**{level_of: each for level_of, each in above.items() if level_of < level}, level: title}


# A table of contents stands within so many characters; of more lines it is one of numbers; one page of ten falls.
_BEGIN, _MOST_ENTRIES, _FALLS = 100_000, 1_000, 10
_ENTRY = re.compile(
    r"^[ \t]*(?:\d[\d.]*[ \t]+)?(\S[^\n]{0,120}?)(?:(?: ?[.·…_]){3,40}|\t| {3})[ \t]{0,40}(\d{1,4})[ \t]{0,9}$", re.M
)
_TITLE = re.compile(r"^[ \t]*(?:#+ )?(?:\d[\d.]*[ \t]+)?(\S[^\n]{0,120}?)[ \t]{0,9}$", re.M)


def without_contents(text: str) -> str:
    """A text whose contents are blank: three lines or more that end with a page, and whose titles come below again.

    Pages rise, but for where another list begins; the prices of a menu do not.
    """
    head, rest = text[:_BEGIN], text[_BEGIN:]
    entries = [*_ENTRY.finditer(head)]
    titles = _TITLE.finditer(text) if 2 < len(entries) < _MOST_ENTRIES else ()
    last = {line[1]: line.start() for line in titles}
    found = {entry.start(): int(entry[2]) for entry in entries if last.get(entry[1], -1) > entry.start()}
    falls = sum(page < before for before, page in pairwise(found.values()))
    if len(found) < 3 or falls * _FALLS > len(found):
        return text
    return _ENTRY.sub(lambda entry: " " * len(entry[0]) if entry.start() in found else entry[0], head) + rest


class Layout:
    """Collects blocks of text in reading order."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._kind = ""
        self._above: dict[int, str] = {}
        self._begun = [Section(start=0, end=0)]

    def heading(self, level: int, title: str, page: int | None = None) -> None:
        """Add a heading; one without words is none."""
        if title.strip():
            start = self.paragraph(title)
            self._above = below(self._above, level, " ".join(title.split()))
            self._begun.append(Section(start=start, end=self._length, headings=(*self._above.values(),), page=page))

    def page(self, number: int, text: str) -> None:
        """Add text of a page; one without words is none, and its first words may end the page before."""
        if stripped := text.strip():
            first = stripped[: sentence_spans(stripped[:500])[0][1]]  # the rows of a list may have no sentence at all
            goes_on = self._kind == "open page" and first[0].islower() and re.search(rf"[.!?]{NOTES}$", first)
            start = self.paragraph(stripped, kind=self._kind if goes_on else "") + (len(first) if goes_on else 0)
            self._begun.append(Section(start=start, end=start, headings=(*self._above.values(),), page=number))
            self._kind = "open page" if stripped[-1].isalpha() or stripped[-1] == "," else ""

    def paragraph(self, text: str, *, kind: str = "") -> int:
        """Add a block of text, and say where it begins; one without words is none.

        Those of one kind, as rows, have no empty line between.
        """
        stripped = text.strip()
        if not stripped:
            return self._length
        gap = "" if not self._parts else "\n" if kind and kind == self._kind else "\n\n"
        self._kind = kind
        self._parts.append(gap + stripped)
        start = self._length + len(gap)
        self._length = start + len(stripped)
        return start

    def finish(self) -> tuple[str, tuple[Section, ...], str]:
        """The text, with an empty line between most blocks, its sections, and its title, if it has one."""
        text = "".join(self._parts)
        return text, sections(text, self._begun), title_of(self._begun)
