"""Asking again in other words, when a search led nowhere: each time by a named step."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from loopwright.retrieval.lexicon import Lexicon
from loopwright.retrieval.records import Evidence
from loopwright.retrieval.text import terms
from loopwright.workflows.rag.question.forms import asked_words, corrected
from loopwright.workflows.rag.question.words import MAX_READ, keywords, normal_form, unique, words

_WORDS_OF_PASSAGES, _MOST_LEFT_OUT = 6, 4


def widened(
    question: str, queries: Sequence[str], *, lexicon: Lexicon | None = None, nearest: Sequence[Evidence] = ()
) -> tuple[str, str] | None:
    """The next way to ask, and its query: the first with other words than all earlier ones; None if none is left."""
    tried = {normal_form(query) for query in (question, *queries)}
    steps = _steps(" ".join(question.split())[:MAX_READ], lexicon, nearest)
    return next((step for step in steps if (form := normal_form(step[1])) and form not in tried), None)


def _steps(question: str, lexicon: Lexicon | None, nearest: Sequence[Evidence]) -> Iterator[tuple[str, str]]:
    """All ways and their queries, from the closest to the question to the farthest."""
    if lexicon is not None and question:
        spelled = corrected(question, lexicon)
        forms = [form for of in asked_words(spelled, lexicon).values() for form, sure in of.forms.items() if sure < 1]
        yield "spelling and compounds", " ".join([spelled, *forms])
        yield "words of the nearest passages", " ".join([spelled, *forms, *_words_of(nearest, question, lexicon)])
    kept = keywords(question)
    yield "its words alone", " ".join(kept)
    # What is one word too many for a search engine may be any of them.
    for left_out in range(1, min(len(kept), _MOST_LEFT_OUT)):
        for some in combinations(kept, len(kept) - left_out):
            yield "fewer of its words", " ".join(some)


def _words_of(nearest: Sequence[Evidence], question: str, lexicon: Lexicon) -> list[str]:
    """The words that set the nearest passages apart from the others, rarest first."""
    known = set(terms(question))
    found = unique(word for each in nearest[:2] for word in words(f"{each.title} {each.heading} {each.text}"))
    new = [word for word in found if len(word) > 3 and known.isdisjoint(terms(word))]
    return sorted(new, key=lambda word: -max(map(lexicon.rarity, terms(word)), default=0.0))[:_WORDS_OF_PASSAGES]
