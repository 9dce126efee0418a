"""Asking again in other words, when a search led nowhere: each time by a named step."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from loopwright.retrieval.lexicon import Lexicon
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.text import terms
from loopwright.workflows.rag.question.forms import asked_words, corrected
from loopwright.workflows.rag.question.words import MAX_READ, keywords, normal_form, unique, words

_WORDS_OF_PASSAGES, _MOST_LEFT_OUT = 6, 4


class Step(NamedTuple):
    """Another way to ask."""

    name: str
    """What it does."""
    query: str
    """The query."""


def widened(
    question: str, queries: Sequence[str], *, lexicon: Lexicon | None = None, nearest: Sequence[Evidence] = ()
) -> Step | None:
    """The next query to search: the first way to ask with other words than all earlier ones; None if no way is left."""
    tried = {normal_form(query) for query in (question, *queries)}
    steps = _steps(" ".join(question.split())[:MAX_READ], lexicon, nearest)
    return next((step for step in steps if (form := normal_form(step.query)) and form not in tried), None)


def _steps(question: str, lexicon: Lexicon | None, nearest: Sequence[Evidence]) -> Iterator[Step]:
    """All ways, from the closest to the question to the farthest."""
    if lexicon is not None and question:
        spelled = corrected(question, lexicon)
        forms = [form for of in asked_words(spelled, lexicon).values() for form, sure in of.forms.items() if sure < 1]
        yield Step("spelling and compounds", " ".join([spelled, *forms]))
        yield Step("words of the nearest passages", " ".join([spelled, *forms, *_words_of(nearest, question, lexicon)]))
    kept = keywords(question)
    yield Step("its words alone", " ".join(kept))
    # What is one word too many for a search engine may be any of them.
    for left_out in range(1, min(len(kept), _MOST_LEFT_OUT)):
        for some in combinations(kept, len(kept) - left_out):
            yield Step("fewer of its words", " ".join(some))


def _words_of(nearest: Sequence[Evidence], question: str, lexicon: Lexicon) -> list[str]:
    """The words that set the nearest passages apart from the others, rarest first."""
    known = set(terms(question))
    found = unique(word for each in nearest[:2] for word in words(f"{each.title} {each.heading} {each.text}"))
    new = [word for word in found if len(word) > 3 and known.isdisjoint(terms(word))]
    return sorted(new, key=lambda word: -max(map(lexicon.rarity, terms(word)), default=0.0))[:_WORDS_OF_PASSAGES]
