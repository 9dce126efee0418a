"""Cutting documents into passages along their structure."""

from __future__ import annotations

from collections.abc import Iterator

from loopwright.errors import ConfigError
from loopwright.retrieval.records import Passage
from loopwright.workflows.rag.reading.documents import ReadDocument, Section
from loopwright.workflows.rag.reading.spans import Span, paragraphs, pieces, sentences, words_in

SIZE = 120
"""Words in a passage, as `loopwright.workflows.rag.reading.spans.words_in` counts them."""
OVERLAP = 0
"""Words of a passage that the next one repeats."""

# A rest shorter than a third of a passage says too little on its own: it joins the passage before it.
_REST = 3


def passages_of(document: ReadDocument, *, size: int = SIZE, overlap: int = OVERLAP) -> tuple[Passage, ...]:
    """Cut a document into passages.

    A document of at most ``size`` words on one page is one passage, unchanged. Else no passage crosses a heading or a
    page; paragraphs are kept whole where they fit, longer ones cut between sentences, longer sentences between words.
    Small neighbours under the same heading are put together; a short beginning or rest joins its neighbour, so that a
    passage has at most five thirds of ``size``. Each triple's sentence is a passage, in the same order. For every
    passage ``document.text[passage.start:passage.end] == passage.text`` holds.

    Args:
        document: The document.
        size: About how many words a passage has.
        overlap: How many words of a passage the next one of the section repeats at most, in whole sentences.

    Returns:
        The passages, in order; with an overlap of 0 they share nothing, and hold all but white space.

    Raises:
        ConfigError: If the size is not positive, or the overlap not smaller than half of it.
    """
    if size < 1 or not 0 <= overlap <= size / 2:
        raise ConfigError(f"passages of {size} words with an overlap of {overlap}: at most half may overlap")
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
        for place, (headings, page, start, end) in enumerate(_parts(document, size, overlap))
    )


def _parts(document: ReadDocument, size: int, overlap: int) -> Iterator[tuple[tuple[str, ...], int | None, int, int]]:
    """Headings, page, start and end of each passage."""
    if document.triples:
        for triple in document.triples:
            yield (), None, triple.start, triple.end
    elif words_in(document.text) <= size and len(pages := {section.page for section in document.sections}) <= 1:
        yield _shared_headings(document.sections), next(iter(pages), None), 0, len(document.text)
    else:
        for section in document.sections:
            for start, end in _packed(document.text, section, size, overlap):
                yield section.headings, section.page, start, end


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


def _packed(text: str, section: Section, size: int, overlap: int) -> list[Span]:
    """The section's units packed into passages, in order."""
    packed: list[Span] = []
    units: list[tuple[int, int, int]] = []
    length = fresh = 0
    for start, end in _units(text, section, size):
        words = words_in(text[start:end])
        # A short beginning, such as a heading, would say too little on its own.
        if length * _REST >= size and length + words > size:
            packed.append((units[0][0], units[-1][1]))
            units = _repeated(units, min(overlap, size - words))
            length, fresh = sum(unit[2] for unit in units), 0
        units.append((start, end, words))
        length += words
        fresh += words
    if units and packed and fresh * _REST < size:
        packed[-1] = (packed[-1][0], units[-1][1])
    elif units:
        packed.append((units[0][0], units[-1][1]))
    return packed


def _repeated(units: list[tuple[int, int, int]], most: int) -> list[tuple[int, int, int]]:
    """The last units, as many as have at most so many words together."""
    kept: list[tuple[int, int, int]] = []
    for unit in reversed(units):
        most -= unit[2]
        if most < 0:
            break
        kept.insert(0, unit)
    return kept


def _units(text: str, section: Section, size: int) -> Iterator[Span]:
    """Paragraphs, of longer ones sentences, of longer sentences pieces."""
    for paragraph in paragraphs(text, section.start, section.end):
        if words_in(text[slice(*paragraph)]) <= size:
            yield paragraph
            continue
        for sentence in sentences(text, *paragraph):
            if words_in(text[slice(*sentence)]) <= size:
                yield sentence
            else:
                yield from pieces(text, *sentence, size)
