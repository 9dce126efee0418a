"""What the best of the hits and near misses have in common: the programme's own words for what was asked.

Pseudo-relevance feedback, after J. Rocchio, "Relevance feedback in information retrieval", 1971, and V. Lavrenko,
W. B. Croft, "Relevance-based language models", SIGIR 2001, with plain counts in place of the language model: a few
records, and few words of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.reflecting.words import weighed
from loopwright.workflows.assistant.schemas import Found, Record
from loopwright.workflows.assistant.searching import Search
from loopwright.workflows.assistant.searching.words import asked_words, plain_words, terms_of

SEEN = 3
"""How many of the best records are read."""
MIN_SUPPORT = 0.5
"""Share of what is read that must hold a word."""
NEAR_ENOUGH = 0.2
"""Where the best scores less, what it has in common with others is chance."""
_READ = 1500
"""Characters of a record that are read."""


@dataclass(frozen=True, slots=True)
class Shared:
    """A word that the best records share and the question does not have."""

    text: str
    """The word as most of them have it."""
    support: float
    """Share of the records that hold it, from 0 to 1."""
    records: tuple[str, ...]
    """The titles of the records that hold it, the best first."""
    weight: float
    """How much it says; see `weighed`."""
    naming: bool
    """Whether it names what they are about: it stands in more than one of their titles and tracks."""


def shared_words(seen: Sequence[Found], searched: str, search: Search) -> list[Shared]:
    """The telling words that most of the best records share, and that one of them has in its title.

    Args:
        seen: What was found, the best first.
        searched: What was searched so far; its words do not count.
        search: The conference and its words.

    Returns:
        The words by support times weight, the best first; empty if nothing came near enough.
    """
    if not seen or seen[0].score < NEAR_ENOUGH:
        return []
    best = [found.record for found in seen[:SEEN]]
    asked = {terms_of(word) for word in plain_words(searched)}
    forms: dict[tuple[str, ...], Counter[str]] = {}
    holders: dict[tuple[str, ...], dict[str, Record]] = {}
    for record in best:
        for word in asked_words(_text_of(record)):
            if (key := terms_of(word)) not in asked and len(word) > 2 and not word[0].isdigit():
                forms.setdefault(key, Counter())[word] += 1
                holders.setdefault(key, {})[record.id] = record
    titled = {terms_of(word) for record in best for word in plain_words(record.title)}
    kept: list[Shared] = []
    for key, by_id in holders.items():
        support = len(by_id) / len(best)
        if key in titled and len(by_id) > 1 and support >= MIN_SUPPORT:
            form = forms[key].most_common(1)[0][0]
            titles = tuple(record.title for record in by_id.values())
            named = _names_them(key, list(by_id.values()))
            kept += [
                Shared(word.text, support, titles, word.weight, named) for word in weighed(form, search) if word.telling
            ]
    return sorted(kept, key=lambda each: (-each.support * each.weight, each.text))


def _names_them(key: tuple[str, ...], holders: Sequence[Record]) -> bool:
    """Whether a word that records share stands where they are named, in more than one of them."""
    named = sum(
        any(terms_of(word) == key for word in plain_words(" ".join([record.title, *record.values("track")])))
        for record in holders
    )
    return named > 1


def _text_of(record: Record) -> str:
    return " ".join([record.title, *record.texts.values()])[:_READ]
