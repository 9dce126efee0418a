"""Cutting documents into passages along their structure."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import ceil

from loopwright.errors import ConfigError
from loopwright.retrieval.records import Passage
from loopwright.workflows.rag.answer.sentences import sentence_spans
from loopwright.workflows.rag.answer.units import cells_of, has_cells, header_of
from loopwright.workflows.rag.sources.reading.layout import ReadDocument, Section, shared_headings

Span = tuple[int, int]
"""Where something begins and ends in a text, in characters."""

_HAN = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_SYLLABIC = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_HAN_CHARACTERS = re.compile(f"[{_HAN}]")
_SYLLABIC_CHARACTERS = re.compile(f"[{_SYLLABIC}]")
# With the punctuation that is set without spaces: it is no word.
_UNSPACED = re.compile(f"[{_HAN}{_SYLLABIC}\u3000-\u303f\uff00-\uff65]+")
# Usual lengths of words in characters: Chinese 2, Thai 4. In spaced scripts 12 with the space are far above the mean.
_HAN_PER_WORD, _SYLLABIC_PER_WORD, _MOST_PER_WORD = 2, 4, 12

_PARAGRAPH_GAP = re.compile(r"\n[^\S\n]*+\n\s*+")
_LINE_END = re.compile(r"\n+")
_TOKEN = re.compile(r"\S+")


def words_in(text: str) -> int:
    """How long a text is, in words.

    Spaced scripts count by words; Han and Kana two characters a word; Thai, Lao, Khmer and Myanmar four. A text never
    counts as less than one word for twelve characters, so that long addresses and codes count too.
    """
    least = ceil(len(text) / _MOST_PER_WORD) if text.strip() else 0
    if text.isascii():
        return max(least, len(text.split()))
    han = len(_HAN_CHARACTERS.findall(text))
    syllabic = len(_SYLLABIC_CHARACTERS.findall(text))
    spaced = len(_UNSPACED.sub(" ", text).split()) if han or syllabic else len(text.split())
    return max(least, spaced + ceil(han / _HAN_PER_WORD) + ceil(syllabic / _SYLLABIC_PER_WORD))


def pieces(text: str, start: int, end: int, size: int) -> Iterator[Span]:
    """What lies between two places in pieces of at most ``size`` words, cut between words where there are spaces."""
    begun = last = start
    length = 0
    for token in _TOKEN.finditer(text, start, end):
        words = words_in(token[0])
        if length and length + words > size:
            yield begun, last
            begun, length = token.start(), 0
        if words > size:
            *whole, (begun, last) = _cuts(text, token.start(), token.end(), size)
            yield from whole
            length = words_in(text[begun:last])
        else:
            begun = begun if length else token.start()
            last = token.end()
            length += words
    if length:
        yield begun, last


def _cuts(text: str, start: int, end: int, size: int) -> Iterator[Span]:
    """A run without spaces in pieces of at most ``size`` words, never between a letter and its marks."""
    step = size * _HAN_PER_WORD
    while end - start > step:
        cut = start + step
        while cut > start + 1 and unicodedata.category(text[cut]).startswith("M"):
            cut -= 1
        yield start, cut
        start = cut
    yield start, end


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
    packed: list[Span] = []
    begun: int | None = None
    length = last = 0
    for start, end in _units(text, section, size):
        words = words_in(text[start:end])
        # A short beginning, such as a heading, would say too little on its own.
        if begun is not None and length * _REST >= size and length + words > size:
            packed.append((begun, last))
            begun, length = None, 0
        begun, last = start if begun is None else begun, end
        length += words
    if begun is not None and packed and length * _REST < size:
        packed[-1] = (packed[-1][0], last)
    elif begun is not None:
        packed.append((begun, last))
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
                yield from pieces(text, *line, size)
