"""The place of a text that speaks of what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loopwright.retrieval.text import UNSPACED
from loopwright.workflows.assistant.answer.fitting import folded_words, terms_of
from loopwright.workflows.assistant.answer.wording import plain

_WINDOW = 110
"""Characters of a quotation, about."""
_BEFORE = 40
"""Characters of it before the first word that was asked, at most."""
_READ = 4000
_WORD = re.compile(r"\S+")
_LINK = re.compile(r"\S*://\S*")


def quoted(texts: Iterable[str], wanted: Sequence[str]) -> str:
    """The words around the place where most of some terms stand close together.

    Args:
        texts: The texts of a record, the most important first.
        wanted: The terms, as `loopwright.retrieval.text.terms` makes them.

    Returns:
        A part of one of the texts, cut between words; empty where none of them holds any of the terms.
    """
    best: tuple[int, str, int] | None = None
    for text in texts:
        flat = " ".join(_LINK.sub(" ", text[:_READ]).split())
        for start, held in _places(flat, wanted):
            if best is None or held > best[0]:
                best = (held, flat, start)
    return plain(_around(best[1], best[2])) if best else ""


def _places(text: str, wanted: Sequence[str]) -> list[tuple[int, int]]:
    """Where terms stand, and how many different ones stand within a quotation from there."""
    if not wanted:
        return []
    stems = "|".join(re.escape(term[:-1] if len(term) > 3 and term[-1] in "ie" else term) for term in wanted)
    edge = "" if any(UNSPACED.match(term) for term in wanted) else r"(?<![^\W_])"
    found = [
        (match.start(), term)
        for match in re.finditer(rf"{edge}(?:{stems})[^\W_]*", text, re.IGNORECASE)
        for term in wanted
        if term in terms_of(folded_words(match[0])) or edge == ""
    ]
    return [
        (start, len({term for other, term in found if start <= other < start + _WINDOW - _BEFORE}))
        for start, _ in found
    ]


def _around(text: str, place: int) -> str:
    """A quotation that begins a little before a place, at a sentence where one begins there."""
    sentence = max(text.rfind(end, max(0, place - _BEFORE), place) for end in (". ", "! ", "? "))
    start = sentence + 2 if sentence >= 0 else max(0, place - _BEFORE)
    if start and sentence < 0:
        start = text.find(" ", start, place) + 1 or place
    end = start
    for word in _WORD.finditer(text, start):
        if word.end() > start + _WINDOW and word.start() > place:
            break
        end = word.end()
        if end > place + _BEFORE and word[0].endswith((".", "!", "?")):
            break
    left = "…" if start and sentence < 0 else ""
    right = "" if end == len(text) or text[end - 1] in ".!?" else "…"
    return f"{left}{text[start:end].rstrip(',;:–-')}{right}"
