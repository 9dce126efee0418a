"""How many steps a question needs, by its wording."""

import re

from loopwright.workflows.rag.question.words import MAX_READ, names
from loopwright.workflows.rag.schemas import Complexity

_SIDE_BY_SIDE = re.compile(
    r"\b(?:or|both|versus|vs|between|compared?|than|same|common|differ\w*|oder|beide|ou|lequel)\b"
    r"|กว่า|ทั้งสอง|ทั้งคู่|หรือ(?!ไม่|เปล่า)|还是|還是|相同|比较|比較",
    re.IGNORECASE,
)
_FIRST = re.compile(r"^\W*(?:in |on |at |by |from )?(?:who|whom|whose|what|which|when|where|how \w+)\b", re.IGNORECASE)
# "the designer of ...", "the city that ...": something that has to be found before what is asked of it.
_DESCRIBED = re.compile(
    r"\b(?:the|an?|this) (?:[\w-]+ ){1,4}?(?:of|that|who|whose|which|where|in which|by)\b|['’]s [a-z]", re.IGNORECASE
)
_ASKED_FOR = re.compile(r"^\W*(?:who|what|which) (?:is|are|was|were) (?:the|an?) ", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_UNSPACED = re.compile(r"ของ.+ของ|ที่.+(?:ของ|ใน)|的.+的")


def complexity_of(question: str) -> Complexity:
    """Say how many steps a question needs.

    Returns:
        ``comparison`` where it sets two things side by side, ``multi_hop`` where it asks something of what is only
        described, else ``one_hop``.
    """
    text = " ".join(question.split())[:MAX_READ]
    if _SIDE_BY_SIDE.search(text) and (max(len(names(text)), len({*_YEAR.findall(text)})) > 1 or not text.isascii()):
        return Complexity.COMPARISON
    described = len(_DESCRIBED.findall(_FIRST.sub("", text))) - bool(_ASKED_FOR.match(text))
    return Complexity.MULTI_HOP if described > 0 or _UNSPACED.search(text) else Complexity.ONE_HOP
