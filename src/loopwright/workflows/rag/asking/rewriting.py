"""Asking again in other words, when a search led nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from loopwright.workflows.rag.asking.asked import read_asked
from loopwright.workflows.rag.asking.synonyms import synonyms_of
from loopwright.workflows.rag.asking.words import (
    ASKING_WORDS,
    MAX_READ,
    fold,
    has_unspaced,
    keywords,
    name_spans,
    names,
    normal_form,
    without_particles,
    without_time,
    words,
)

_NESTED = re.compile(
    r"\b(?:the|an?) (?P<noun>[\w-]+(?: [\w-]+)?) (?P<link>of|that|who|which|where|whose|in which|by) (?P<rest>[^?]+)",
    re.IGNORECASE,
)


def rewrite(question: str, queries: Sequence[str], failures: Sequence[str] = (), names: Sequence[str] = ()) -> str:
    """The next query to search for a question; pure, so the same history always gives the same query.

    Args:
        question: The user's question.
        queries: What was searched already, in order.
        failures: Why that led to no answer; words of the question that the last failure puts in double quotes are
            what was missed, and are searched on their own first.
        names: What the knowledge graph calls the things in question; without them, what the question names.

    Returns:
        A query with other words than all earlier ones; if nothing new is left, the last query again.
    """
    tried = {normal_form(query) for query in queries}
    tried.add(normal_form(question))
    for candidate in _candidates(" ".join(question.split())[:MAX_READ], failures, names):
        if (form := normal_form(candidate)) and form not in tried:
            return candidate
    return queries[-1] if queries else question


def _candidates(question: str, failures: Sequence[str], known: Sequence[str]) -> Iterator[str]:
    """All rewrites, from the closest to the question to the farthest."""
    named = list(known) or names(question)
    bare = " ".join(words(without_time(without_particles(question))))
    plain = [word for word in keywords(bare) if not _inside(word, named)]
    yield " ".join(_missed(question, failures))
    yield " ".join(keywords(question))
    yield from _parts_of_comparison(question, plain)
    relation = _relation(question, plain)
    yield " ".join([*named, *relation])
    yield " ".join(keywords(bare))
    yield from _nested(question)
    for word, others in synonyms_of(bare).items():
        yield bare.replace(word, others.split()[0]) if has_unspaced(bare) else " ".join([*named, others])
    yield " ".join(named)
    for name in named:
        yield " ".join([name, *relation])
    yield from named
    yield from _fewer_words(keywords(bare))


def _missed(question: str, failures: Sequence[str]) -> list[str]:
    """The words of the question that the last failure quotes."""
    quoted = {fold(word) for text in failures[-1:] for part in re.findall(r'"([^"]+)"', text) for word in words(part)}
    return [word for word in keywords(question) if fold(word) in quoted]


def _parts_of_comparison(question: str, plain: list[str]) -> Iterator[str]:
    """One query for each thing that is compared, with what is compared of it."""
    for option in read_asked(question).options:
        others = [word for word in plain if fold(word) not in {fold(each) for each in words(option)}]
        yield " ".join([option, *others])


def _relation(question: str, plain: list[str]) -> list[str]:
    """The noun or verb that is asked for: the focus of the question, or the first word that names nothing."""
    focus = read_asked(question).focus
    if focus and focus not in ASKING_WORDS:
        return [focus]
    return plain[:1]


def _nested(question: str) -> Iterator[str]:
    """Sub-questions, the innermost first: "the director of the film X" gives "film X director"."""
    found: list[tuple[str, str]] = []
    start = 0
    while match := _NESTED.search(question, start):
        start = match.start("rest")
        named = name_spans(match["rest"])
        # "the director of the film X born" says no more of the film than its name.
        whole = match["link"] != "of" or not named
        found.append((match["noun"], match["rest"] if whole else match["rest"][: named[0][1]]))
    for noun, rest in reversed(found):
        yield " ".join([*keywords(rest), *keywords(noun)])


def _fewer_words(kept: list[str]) -> Iterator[str]:
    """Without the last word, the first word, and so on, down to one."""
    for size in range(len(kept) - 1, 0, -1):
        yield " ".join(kept[:size])
        yield " ".join(kept[-size:])


def _inside(word: str, named: Sequence[str]) -> bool:
    return any(fold(word) in fold(name) for name in named)
