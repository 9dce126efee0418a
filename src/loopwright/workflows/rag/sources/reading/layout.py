"""Building a document's text and sections from headings, paragraphs and pages."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.sources.reading.documents import Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """Where a section begins."""

    start: int
    """Where its heading begins in the text, or its body if it has no heading."""
    body: int
    """Where its body begins."""
    headings: tuple[str, ...] = ()
    """The headings above the body, from the outermost."""
    page: int | None = None
    """The page, from 1."""


def sections(text: str, marks: list[Mark]) -> tuple[Section, ...]:
    """The sections of a text; a heading without a body of its own opens the next section."""
    found: list[Section] = []
    opened: int | None = None
    for index, mark in enumerate(marks):
        last = index + 1 == len(marks)
        end = len(text) if last else marks[index + 1].start
        start = mark.start if opened is None else opened
        opened = None
        if text[mark.body : end].strip() or (last and text[start:end].strip()):
            found.append(Section(headings=mark.headings, page=mark.page, start=start, end=end))
        elif text[start:end].strip():
            opened = start
    return tuple(found)


def shared_headings(paths: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings with which all of these begin."""
    return tuple(level[0] for level in takewhile(lambda level: len({*level}) == 1, zip(*paths, strict=False)))


def title_of(marks: Iterable[Mark]) -> str:
    """The heading that all others stand under; empty where there is none: one of several is no title."""
    return next(iter(shared_headings(mark.headings for mark in marks if mark.headings)), "")


def below(above: dict[int, str], level: int, title: str) -> dict[int, str]:
    """The headings above a place by their levels, once another was passed."""
    return {**{level_of: each for level_of, each in above.items() if level_of < level}, level: title}


class Layout:
    """Collects blocks of text in reading order."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._kind = ""
        self._above: dict[int, str] = {}
        self._marks = [Mark(start=0, body=0)]

    def heading(self, level: int, title: str) -> None:
        """Add a heading; one without words is none."""
        if title.strip():
            start = self.paragraph(title)
            self._above = below(self._above, level, " ".join(title.split()))
            self._marks.append(Mark(start=start, body=self._length, headings=(*self._above.values(),)))

    def page(self, number: int, text: str) -> None:
        """Add a page, without headings; one without words is none, and its first words may end the page before."""
        if stripped := text.strip():
            rest = sentence_spans(stripped[:500])[0][1]  # the rows of a list may have no sentence at all
            goes_on = self._kind == "open page" and stripped[0].islower() and stripped[rest - 1] in ".!?"
            start = self.paragraph(stripped, kind=self._kind if goes_on else "") + (rest if goes_on else 0)
            self._marks.append(Mark(start=start, body=start, page=number))
            self._kind = "open page" if stripped[-1].isalpha() or stripped[-1] == "," else ""

    def paragraph(self, text: str, *, kind: str = "") -> int:
        """Add a block of text; one without words is none, and those of one kind, as rows, have no empty line between.

        Returns:
            Where it begins.
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
        return text, sections(text, self._marks), title_of(self._marks)
