"""The place of a text that speaks of what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from loopwright.workflows.assistant.answer.fitting import folded_words, terms_of
from loopwright.workflows.assistant.answer.wording import plain, shortened

_WINDOW, _BEFORE = 110, 40
"""Characters of a quotation, about, and of it before the first word that was asked."""
_READ = 4000
_LINK = re.compile(r"\S*://\S*")
_ENDS = re.compile(r"(?<=[.!?。])\s+|(?<=。)")


def quoted(texts: Iterable[str], wanted: Sequence[str]) -> str:
    """The sentence that holds most of some terms, around the first of them where it is long.

    Args:
        texts: The texts of a record, the most important first.
        wanted: The terms, as `loopwright.retrieval.text.terms` makes them.

    Returns:
        A part of one of the texts, cut between words; empty where none of them holds any of the terms.
    """
    held = {
        sentence: len(terms_of(folded_words(sentence)).intersection(wanted))
        for text in texts
        if wanted
        for sentence in _ENDS.split(" ".join(_LINK.sub(" ", text[:_READ]).split()))
    }
    best = max(held, key=lambda sentence: held[sentence], default="")
    if not held.get(best):
        return ""
    words = best.split()
    first = next(n for n, word in enumerate(words) if len(words) == 1 or _holds(word, wanted))
    start = first
    while start and len(" ".join(words[start - 1 : first])) <= _BEFORE:
        start -= 1
    if len(best) <= _WINDOW:
        start = 0
    return plain(("…" if start else "") + shortened(" ".join(words[start:]), _WINDOW))


def _holds(word: str, wanted: Sequence[str]) -> bool:
    return not terms_of(folded_words(word)).isdisjoint(wanted)
