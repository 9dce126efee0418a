"""Cutting documents into passages along their structure."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import ceil

from loopwright.errors import ConfigError
from loopwright.retrieval.names import Span
from loopwright.retrieval.records import Passage
from loopwright.retrieval.text import IDEOGRAPHS, UNSPACED
from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.answer.units import cells_of, has_cells, header_of
from loopwright.workflows.rag.sources.reading.layout import ReadDocument, Section, shared_headings

# With the punctuation that is set without spaces: it is no word.
_UNSPACED = re.compile(f"(?:{UNSPACED.pattern}|[\u3000-\u303f\uff00-\uff65])+")
# Usual lengths of words in characters: Chinese 2, Thai 4. In spaced scripts 12 with the space are far above the mean.
_HAN_PER_WORD, _SYLLABIC_PER_WORD, _MOST_PER_WORD = 2, 4, 12

_PARAGRAPH_GAP = re.compile(r"\n[^\S\n]*+\n\s*+")
_LINE_END = re.compile(r"\n+")


def words_in(text: str) -> int:
    """How long a text is, in words.

    Spaced scripts count by words; Han and Kana two characters a word; Thai, Lao, Khmer and Myanmar four. A text never
    counts as less than one word for twelve characters, so that long addresses and codes count too.
    """
    least = ceil(len(text) / _MOST_PER_WORD) if text.strip() else 0
    if text.isascii():
        return max(least, len(text.split()))
    han = len(IDEOGRAPHS.findall(text))
    syllabic = len(UNSPACED.findall(text)) - han
    spaced = len(_UNSPACED.sub(" ", text).split()) if han or syllabic else len(text.split())
    return max(least, spaced + ceil(han / _HAN_PER_WORD) + ceil(syllabic / _SYLLABIC_PER_WORD))


def _grouped(text: str, spans: Iterable[Span], size: int, least: float = 1) -> Iterator[Span]:
    """Neighbours put together to at most ``size`` words, more only where there would be fewer than ``least``."""
    group, length = list[Span](), 0
    for start, end in spans:
        words = words_in(text[start:end])
        if length >= least and length + words > size:
            yield group[0][0], group[-1][1]
            group, length = [], 0
        group.append((start, end))
        length += words
    if group:
        yield group[0][0], group[-1][1]


@cache
def _token(size: int) -> re.Pattern[str]:
    """A word, or a part of a run without spaces, which is never more than ``size`` words.

    It is cut anywhere, but not between a letter and its marks, unless it has nothing but marks.
    """
    marks = "".join(filter(lambda sign: unicodedata.category(sign)[0] == "M", map(chr, range(0x300, 0x3100))))
    part = rf"\S{{1,{size * _HAN_PER_WORD}}}"
    return re.compile(f"{part}(?![{marks}])|{part}")


def _between(text: str, start: int, end: int, gap: re.Pattern[str]) -> Iterator[Span]:
    bounds = [start, *(place for match in gap.finditer(text, start, end) for place in match.span()), end]
    for left, right in zip(bounds[::2], bounds[1::2], strict=True):
        part = text[left:right]
        if kept := part.strip():
            left += len(part) - len(part.lstrip())
            yield left, left + len(kept)


SIZE = 120
"""Words in a passage, as `words_in` counts them."""

# A rest shorter than a third of a passage says too little on its own: it joins the passage before it.
_REST = 3
# A fenced block is kept whole up to so many times the size of a passage.
_CODE = 3
_FENCE = re.compile(r"^[ \t]*(?:`{3}|~{3})", re.MULTILINE)


def passages_of(document: ReadDocument, *, size: int = SIZE) -> tuple[Passage, ...]:
    """Cut a document into passages.

    A document of at most ``size`` words on one page is one passage, unchanged. Else no passage crosses a heading, or a
    page but to end a sentence; paragraphs are kept whole where they fit, longer ones cut between sentences, longer
    sentences between words. Small neighbours under the same heading are put together; a short beginning or rest joins
    its neighbour, so that a passage has at most five thirds of ``size``; a fenced block of code is kept whole up to
    three times ``size``. For every passage ``document.text[passage.start:passage.end] == passage.text`` holds. Of a
    table that is cut, the header stands last among the headings of each further part.

    Returns:
        The passages, in order; they share nothing, and hold all but white space.

    Raises:
        ConfigError: If the size is not positive.
    """
    if size < 1:
        raise ConfigError(f"passages of {size} words: a passage has at least one")
    return tuple(
        Passage(
            id=f"{document.id}::{place}",
            document_id=document.id,
            text=document.text[start:end],
            title=document.title,
            heading=" > ".join(headings),
            page=page,
            start=start,
            end=end,
        )
        for place, (headings, page, start, end) in enumerate(_parts(document, size))
    )


def _parts(document: ReadDocument, size: int) -> Iterator[tuple[tuple[str, ...], int | None, int, int]]:
    """Headings, page, start and end of each passage."""
    pages = {section.page for section in document.sections}
    if words_in(document.text) <= size and len(pages) <= 1:
        headings = shared_headings(section.headings for section in document.sections)
        yield headings, next(iter(pages), None), 0, len(document.text)
    else:
        for section in document.sections:
            around = [*_between(document.text, section.start, section.end, _PARAGRAPH_GAP)]
            for start, end in _packed(document.text, section, size):
                yield (*section.headings, *_header(document.text, around, start)), section.page, start, end


def _header(text: str, paragraphs: Sequence[Span], start: int) -> list[str]:
    """The header of the table that a part begins within: without it, its cells say nothing."""
    begin, end = paragraphs[max(0, bisect_right(paragraphs, (start, -1)) - 1)]
    if not begin < start < end or not has_cells(text[start : start + 500].partition("\n")[0]):
        return []
    header = header_of([line for line in text[begin : min(end, begin + 2000)].splitlines() if has_cells(line)])
    return [" ".join(" | ".join(cells_of(header)).split())] if header else []


def _packed(text: str, section: Section, size: int) -> list[Span]:
    """The section's units packed into passages, in order."""
    # A short beginning, such as a heading, and a short rest would say too little on their own.
    packed = [*_grouped(text, _units(text, section, size), size, size / _REST)]
    if len(packed) > 1 and words_in(text[slice(*packed[-1])]) * _REST < size:
        packed[-2:] = [(packed[-2][0], packed[-1][1])]
    return packed


def _whole(text: str, parts: Iterable[Span], size: int) -> Iterator[Span]:
    """Paragraphs, those of one fenced block together: a piece of one would not be recognised as code."""
    held: list[Span] = []
    within = False
    for part in parts:
        held.append(part)
        within ^= bool(len(_FENCE.findall(text[slice(*part)])) % 2)
        if not within:
            whole = held[0][0], part[1]
            yield from [whole] if words_in(text[slice(*whole)]) <= size * _CODE else held
            held = []
    yield from held


def _units(text: str, section: Section, size: int) -> Iterator[Span]:
    """Paragraphs, of longer ones sentences, of longer sentences pieces."""
    for paragraph in _whole(text, _between(text, section.start, section.end, _PARAGRAPH_GAP), size):
        words = words_in(text[slice(*paragraph)])
        if words <= size or (words <= size * _CODE and _FENCE.search(text[slice(*paragraph)])):
            yield paragraph
            continue
        spans = ((paragraph[0] + left, paragraph[0] + right) for left, right in sentence_spans(text[slice(*paragraph)]))
        for line in (line for span in spans for line in _between(text, *span, _LINE_END)):
            if words_in(text[slice(*line)]) <= size:
                yield line
            else:
                yield from _grouped(text, (word.span() for word in _token(size).finditer(text, *line)), size)
