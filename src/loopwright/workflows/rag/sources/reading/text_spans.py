"""Paragraphs, sentences and pieces of sentences as spans of a text, and how long they are."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from math import ceil

from loopwright.workflows.rag.answer.sentences import sentence_spans

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


def paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    """The paragraphs between two places, which empty lines separate, without white space around them."""
    yield from _between(text, start, end, _PARAGRAPH_GAP)


def sentences(text: str, start: int, end: int) -> Iterator[Span]:
    """The sentences and lines between two places, without white space around them."""
    for left, right in sentence_spans(text[start:end]):
        yield from _between(text, start + left, start + right, _LINE_END)


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


def _cuts(text: str, start: int, end: int, size: int) -> list[Span]:
    """A run without spaces in pieces of at most ``size`` words, never between a letter and its marks."""
    step = size * _HAN_PER_WORD
    cuts: list[Span] = []
    while end - start > step:
        cut = start + step
        while cut > start + 1 and unicodedata.category(text[cut]).startswith("M"):
            cut -= 1
        cuts.append((start, cut))
        start = cut
    return [*cuts, (start, end)]


def _between(text: str, start: int, end: int, gap: re.Pattern[str]) -> Iterator[Span]:
    begun = start
    for match in gap.finditer(text, start, end):
        yield from _stripped(text, begun, match.start())
        begun = match.end()
    yield from _stripped(text, begun, end)


def _stripped(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    kept = part.strip()
    if kept:
        left = start + len(part) - len(part.lstrip())
        yield left, left + len(kept)
