"""What to search next for a question whose parts build on each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.text import terms
from loopwright.workflows.rag.asking.asked import AnswerType, kind_of_noun, read_asked
from loopwright.workflows.rag.asking.complexity import complexity_of
from loopwright.workflows.rag.asking.weights import coverage, term_weights
from loopwright.workflows.rag.asking.words import (
    ASKING_WORDS,
    fold,
    informative_terms,
    keywords,
    name_spans,
    normal_form,
    words,
)
from loopwright.workflows.rag.schemas import Complexity, Evidence

_CONSIDERED = 8
_WINDOW = 160
_COVERED = 0.9
_WORTH_A_HOP = 0.12
_KIND_BONUS = 0.15
_ANCHOR_BONUS = 0.3
_WEAK_NAME = re.compile(
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December|\w+day)(?: \d+)?"
    r"|\d+|(?:One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|North|South|East|West|Along|Upon|Its|New)"
    r"|[A-Z]\w+(?:ican|ish|ese|ench|rman|alian|utch|reek|ussian|edish|wegian|dian|nadian)"
)
_PLACE_BEFORE = re.compile(r"(?:\b(?:in|at|from|near|of)(?: the)?|[A-Z]\w+,) $")
_PERSON_BEFORE = re.compile(
    r"\b(?:by|with|starring|stars|actor|actress|singer|director|writer|author|president)(?: the)? $"
)


def next_query(question: str, evidence: Sequence[Evidence], queries: Sequence[str]) -> str | None:
    """What to search next: the entity that leads on, with what the question still leaves open.

    The entity is named near the question's terms in the evidence, and not in the question. For a comparison it is the
    thing that no evidence is about yet.

    Args:
        question: The user's question.
        evidence: What was found relevant so far, best first.
        queries: What was searched already.

    Returns:
        The next query; None if one hop answers the question, the evidence covers it, or nothing new is left.
    """
    complexity = complexity_of(question)
    if complexity is Complexity.ONE_HOP or not evidence:
        return None
    considered = evidence[:_CONSIDERED]
    candidates = (
        _missing_options(question, considered)
        if complexity is Complexity.COMPARISON
        else _bridges(question, considered)
    )
    tried = {normal_form(query) for query in (question, *queries)}
    return next((query for query in candidates if normal_form(query) not in tried), None)


def _missing_options(question: str, evidence: Sequence[Evidence]) -> Iterator[str]:
    options = read_asked(question).options
    for option in options:
        wanted = set(informative_terms(option))
        if not any(wanted <= set(terms(passage.title)) for passage in evidence):
            others = {term for each in options for term in terms(each)}
            relation = [word for word in keywords(question) if not set(terms(word)) & others]
            yield " ".join([option, *relation])


def _bridges(question: str, evidence: Sequence[Evidence]) -> list[str]:
    """Queries for the names that may lead on, the likeliest first; none if one passage covers the question."""
    weights = term_weights(question, [f"{passage.title} {passage.text}" for passage in evidence])
    if any(coverage(weights, set(terms(f"{passage.title} {passage.text}"))) >= _COVERED for passage in evidence):
        return []
    asked = set(terms(question))
    kinds = _kinds_between(question)
    scored: dict[str, tuple[float, str]] = {}
    for rank, passage in enumerate(evidence):
        titled = set(terms(passage.title)) & weights.keys()
        for start, end in [(0, 0), *name_spans(passage.text)]:
            name = passage.text[start:end] if end else _title_words(passage.title)
            around = passage.text[max(0, start - _WINDOW) : end + _WINDOW]
            known = (set(terms(around)) | titled) & weights.keys()
            left_open = [word for word in keywords(question) if not set(terms(word)) & known]
            if not left_open or not _leads_on(name, asked):
                continue
            score = coverage(weights, known) / (1 + 0.1 * rank)
            score += _ANCHOR_BONUS * (set(terms(_title_words(passage.title))) <= asked)
            score += _KIND_BONUS * (_kind_of_name(name, passage.text[:start]) in kinds)
            if score > max(_WORTH_A_HOP, scored.get(fold(name), (0.0, ""))[0]):
                scored[fold(name)] = (score, " ".join([name, *left_open]))
    return [query for _, query in sorted(scored.values(), key=lambda each: -each[0])]


def _leads_on(name: str, asked: set[str]) -> bool:
    """Whether a name is more than a date, a nationality, or another form of what the question names."""
    own = {term for term in terms(name) if term not in ASKING_WORDS}
    weak = _WEAK_NAME.fullmatch(name) is not None
    return bool(own) and not weak and len(name) > 2 and 2 * len(own & asked) < len(own)


def _kinds_between(question: str) -> set[AnswerType]:
    """What kinds of things the question describes on the way to its answer."""
    asked = read_asked(question)
    nouns = (word for word in keywords(question) if word != asked.focus)
    return {kind for noun in nouns if (kind := kind_of_noun(noun)) is not None}


def _kind_of_name(name: str, before: str) -> AnswerType:
    """A guess from the words before it: places follow "in", persons have two words or follow "by"."""
    if _PLACE_BEFORE.search(before):
        return AnswerType.PLACE
    if _PERSON_BEFORE.search(before) or 2 <= len(name.split()) <= 3:
        return AnswerType.PERSON
    return AnswerType.THING


def _title_words(title: str) -> str:
    """The words of a title, without punctuation: it becomes part of a query."""
    return " ".join(words(plain_title(title)))
