"""Whether a sentence affirms or denies what another one says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from loopwright.retrieval.text import terms
from loopwright.workflows.rag.asking.words import ASKING_WORDS

_NEGATION = re.compile(
    r"\b(?:not|never|no longer|neither|nor|without|cannot|\w+n['’]t)\b|不是|没有|并非|不在|ไม่ใช่|ไม่ได้|ไม่มี", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,;:()，；：。]|\b(?:but|although|though|whereas|while)\b", re.IGNORECASE)


def denies(sentence: str, sources: Sequence[str]) -> bool:
    """Whether some sources deny what a sentence affirms, or the other way round.

    Each clause of the sentence is set against those clauses of the sources that share the most words with it. Clauses
    are split at punctuation and conjunctions only.

    Args:
        sentence: A statement, or a question that can be answered by yes or no.
        sources: The texts that are about the same.

    Returns:
        True if a clause is negated and no clause that is nearest to it is, or if it is not and all of them are; False
        where they share no informative words.
    """
    held = [clause for source in sources for clause in _clauses(source)]
    for own, negated in _clauses(sentence):
        most = max((len(own & words) for words, _ in held), default=0)
        if most and all(other is not negated for words, other in held if len(own & words) == most):
            return True
    return False


def _clauses(text: str) -> list[tuple[set[str], bool]]:
    """The informative terms of each clause, and whether it is negated."""
    parts = _CLAUSE_END.split(text)
    return [
        ({term for term in terms(part) if term not in ASKING_WORDS}, bool(_NEGATION.search(part))) for part in parts
    ]
