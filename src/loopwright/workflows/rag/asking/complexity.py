"""How many steps a question needs, by its wording."""

from __future__ import annotations

import re

from loopwright.workflows.rag.asking.asked import AnswerType, read_asked
from loopwright.workflows.rag.asking.words import MAX_READ, has_unspaced, names, words
from loopwright.workflows.rag.schemas import Complexity

_COMPARES = re.compile(
    r"\b(?:both|same|either|between .+ and|which (?:of|one)|(?:of )?the two"
    r"|in common|differ(?:s|ent|ence)?|compared? (?:to|with)"
    r"|versus|vs\.?)\b"
    r"|\b(?:more|less|fewer|most|first|earlier|later|last|\w{2,}(?:er|est)) (?:than|,)|\w+er than\b",
    re.IGNORECASE,
)
_UNSPACED_COMPARES = re.compile(
    r"กว่ากัน|มากกว่า|น้อยกว่า|ทั้งสอง|ทั้งคู่|เหมือนกัน|เดียวกัน|ต่างกัน|เปรียบเทียบ|หรือ(?!ไม่|เปล่า)"
    r"|更|还是|還是|(?<!首)都[是在]|相同|同一|比较|比較|哪一个|哪个更|区别|區別"
)
_UNSPACED_NESTED = re.compile(
    r"ของ.+ของ|ที่.+(?:เกิด|อยู่|กำกับ|เขียน|แต่ง|แสดง|ก่อตั้ง).*(?:ของ|ที่|ใน)|ผู้(?:กำกับ|เขียน|แต่ง|ก่อตั้ง).+(?:เกิด|ของ)|的.+的"
)

# A clause or a description that stands for something which has to be found first.
_CLAUSE = re.compile(
    r"\b(?:that|who|whom|whose|which|where|when)\b(?! (?:is|are|was|were|did|does|do)\b.{0,60}$)", re.IGNORECASE
)
_NOUN_CLAUSE = re.compile(
    r"\b(?:the|an?|this|which|what) (?:[\w-]+ ){1,4}?(?:that|who|whom|whose|which|where|in which|by which|of which)\b"
    r"|\b(?:the|an?) (?:[\w-]+ ){1,3}(?:[A-Z][\w.'’-]*,? )+(?:is|was|are|were|plays?|played|performed"
    r"|released|comes?|belongs?"
    r"|attended|wrote|directed|premiering|containing)\b(?= \w+)",
)
_PARTICIPLE = re.compile(
    r"\b(?:[a-z-]+) (?:born|known|named|based|located|headquartered|released|written|directed|produced|played|created"
    r"|founded|formed|developed|published|starring|containing|featuring|premiering|ruling|allowing|held|called|used|recorded"
    r"|composed|designed|owned|performed|painted|involved|associated|situated|set|broadcast)\b"
)
_ROLE = (
    r"(?:\w{3,}(?:er|or|ist|ian)|wife|husband|mother|father|son|daughter|king|queen|president|artist|band|company|capital"
    r"|city|country|state|county|club|team)"
)
# "The director of the film", asked about and not asked for.
_SOMEONE = re.compile(rf"\bthe (?:\w+ )?{_ROLE}s? (?:of|in|behind) \w", re.IGNORECASE)
_ASKED_FOR = re.compile(
    rf"^(?:who|what|which) (?:is|was|are|were) the (?:\w+ )?{_ROLE}s? (?:of|in|behind)", re.IGNORECASE
)
_GENITIVES = re.compile(
    r"\b(?:the|an?|its|his|her|their|what|which) (?:[\w-]+ ){1,4}?of (?!the (?:year|day|time)\b)|['’]s [a-z]",
    re.IGNORECASE,
)


def complexity_of(question: str) -> Complexity:
    """Say how many steps a question needs.

    Args:
        question: The question.

    Returns:
        ``comparison`` where it sets two things side by side, ``multi_hop`` where it describes something by what first
        has to be looked up, else ``one_hop``.
    """
    text = " ".join(question.split())[:MAX_READ].rstrip("?？ ")
    if has_unspaced(text):
        return _unspaced_complexity(text)
    if _is_comparison(text):
        return Complexity.COMPARISON
    return Complexity.MULTI_HOP if _is_nested(text) else Complexity.ONE_HOP


def _is_comparison(text: str) -> bool:
    asked = read_asked(text)
    if len(asked.options) != 2:
        return bool(re.search(r"\bwhich of (?:the|these) (?:two|three)\b", text, re.IGNORECASE))
    if asked.type is AnswerType.CHOICE:
        return True
    left, right = asked.options
    together = re.search(rf"{re.escape(left)}.{{0,40}}? and .{{0,12}}?{re.escape(right)}", text)
    if together is None:
        return False
    if asked.type is AnswerType.YES_NO:
        return True
    # "What role did A and B perform" compares; "produced by A and B" only lists.
    opens = together.start() < 30 or bool(re.search(r"\b(?:both|between)\b", text[: together.start()], re.IGNORECASE))
    return opens and bool(
        _COMPARES.search(text) or re.search(r"\b(?:do|did|does|are|were) [\w\s]{0,12}$", text[: together.start()])
    )


def _is_nested(text: str) -> bool:
    """Whether enough signs of a nested description are there; one sign alone is common in plain questions."""
    inner = re.sub(
        r"^(?:in |on |at |to |of |under |from |by |for )?(?:who|whom|whose|which|what|when|where)\b",
        "",
        text,
        flags=re.IGNORECASE,
    )
    named = len(names(text))
    long = len(words(text)) >= 12
    signs = (
        2 * bool(_NOUN_CLAUSE.search(inner))
        + bool(_CLAUSE.search(inner))
        + bool(_PARTICIPLE.search(inner))
        + len(_GENITIVES.findall(inner))
        + 2 * bool(_SOMEONE.search(text) and not _ASKED_FOR.search(text))
        + long
        + (named >= 2)
        + (named >= 3)
        + 2
        * bool(
            re.search(
                r", (?:who|which|what|in which|released in which)\b|\b(?:by|of|in|from) (?:which|what) [a-z]", inner
            )
        )
    )
    return signs >= 3


def _unspaced_complexity(text: str) -> Complexity:
    if _UNSPACED_COMPARES.search(text):
        return Complexity.COMPARISON
    return Complexity.MULTI_HOP if _UNSPACED_NESTED.search(text) else Complexity.ONE_HOP
