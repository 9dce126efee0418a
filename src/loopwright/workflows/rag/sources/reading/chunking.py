"""Cutting documents into passages along their structure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from loopwright.errors import ConfigError
from loopwright.retrieval.records import Passage
from loopwright.workflows.rag.answer.units import has_cells
from loopwright.workflows.rag.sources.reading.documents import ReadDocument, Section
from loopwright.workflows.rag.sources.reading.text_spans import Span, paragraphs, pieces, sentences, words_in

SIZE = 120
"""Words in a passage, as `loopwright.workflows.rag.sources.reading.text_spans.words_in` counts them."""

# A rest shorter than a third of a passage says too little on its own: it joins the passage before it.
_REST = 3
# A fenced block is kept whole up to so many times the size of a passage.
_CODE = 3
_FENCE = re.compile(r"^ {0,3}(?:`{3}|~{3})", re.MULTILINE)


def passages_of(document: ReadDocument, *, size: int = SIZE) -> tuple[Passage, ...]:
    """Cut a document into passages.

    A document of at most ``size`` words on one page is one passage, unchanged. Else no passage crosses a heading or a
    page; paragraphs are kept whole where they fit, longer ones cut between sentences, longer sentences between words.
    Small neighbours under the same heading are put together; a short beginning or rest joins its neighbour, so that a
    passage has at most five thirds of ``size``; a fenced block of code is kept whole up to three times ``size``. For
    every passage ``document.text[passage.start:passage.end] == passage.text`` holds. Of a table that is cut, the header
    stands last among the headings of each further part.

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
        yield _shared_headings(document.sections), next(iter(pages), None), 0, len(document.text)
    else:
        for section in document.sections:
            for start, end in _packed(document.text, section, size):
                yield (*section.headings, *_header(document.text, section, start)), section.page, start, end


def _shared_headings(sections: tuple[Section, ...]) -> tuple[str, ...]:
    """The headings that all sections are under."""
    if not sections:
        return ()
    shared = sections[0].headings
    for section in sections:
        pairs = zip(shared, section.headings, strict=False)
        same = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(shared), len(section.headings)))
        shared = shared[:same]
    return shared


def _header(text: str, section: Section, start: int) -> list[str]:
    """The header of the table that a part begins within: without it, its cells say nothing."""
    around = next((each for each in paragraphs(text, section.start, section.end) if each[0] < start < each[1]), None)
    if around is None or not has_cells(text[start:].partition("\n")[0]):
        return []
    rows = [line for line in text[around[0] : start].splitlines() if has_cells(line)]
    return [" ".join(rows[0].strip(" |").split())] if rows else []


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
    for paragraph in _whole(text, paragraphs(text, section.start, section.end), size):
        words = words_in(text[slice(*paragraph)])
        if words <= size or (words <= size * _CODE and _FENCE.search(text[slice(*paragraph)])):
            yield paragraph
            continue
        for sentence in sentences(text, *paragraph):
            if words_in(text[slice(*sentence)]) <= size:
                yield sentence
            else:
                yield from pieces(text, *sentence, size)
