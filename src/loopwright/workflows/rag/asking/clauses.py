"""What a question asks, apart from how it describes what it asks about."""

from __future__ import annotations

import re

from loopwright.retrieval.text import terms
from loopwright.workflows.rag.asking.words import ASKING_WORDS, keywords, name_spans

_LATE_WORD = re.compile(r"(?<=\S)\s(?:what|which)\b", re.IGNORECASE)
_EARLY_WORD = re.compile(
    r"\s*(?:(?:in|on|at|to|of|under|from|by|for|and|so) )?(?:who|whom|whose|what|which|when|where|why|how|name)\b",
    re.IGNORECASE,
)
# A clause that describes something, up to a verb that closes it, a comma, or the end.
_RELATIVE = re.compile(
    r"\b(?:that|who|whom|whose|which|where|in which)\b.*?"
    r"(?:\b(?:(?:is|was|are|were) (?:located|born|from|found|based|situated|fought|held|part of|a part|buried"
    r"|set)(?: in)?"
    r"|belongs to|comes from)\b"
    r"|,|$)",
    re.IGNORECASE,
)
_WORDS_BEFORE = 3


def main_terms(question: str) -> set[str]:
    """The terms of what a question asks: without its relative clauses, and without names that only say whose or where.

    "When did the state where Pocahontas Mounds is located become part of the United States?" asks for "become part of
    the United States".

    Args:
        question: The question.

    Returns:
        Comparable terms; all of the question's where nothing else is left.
    """
    early = _EARLY_WORD.match(question)
    late = _LATE_WORD.search(question)
    if late and not early:
        before = keywords(question[: late.start()])[-_WORDS_BEFORE:]
        part = " ".join([*before, question[late.end() :]])
    else:
        start = early.end() if early else 0
        part = _without_owners(question[:start] + _RELATIVE.sub(" ", question[start:]))
    return _terms_of(part) or _terms_of(question)


def _without_owners(text: str) -> str:
    """A text without the names of its subject, before a possessive, and after "of" or a participle."""
    kept = text
    for start, end in reversed(name_spans(text)):
        subject = re.fullmatch(r"\s*(?:\w+ )?(?:did|does|do|was|were|is|are|has|have)(?: the)? [\"“]?", text[:start])
        owner = re.match(r"['’]s?\b|['’](?= )", text[end:])
        after = re.search(
            r"\b(?:of|containing|released by|created by|premiering|that|where)(?: the)?[ \"“]*$", text[:start]
        )
        if owner or after or subject:
            kept = kept[:start] + kept[end:]
    return kept


def _terms_of(text: str) -> set[str]:
    return {term for word in keywords(text) for term in terms(word)} - ASKING_WORDS
