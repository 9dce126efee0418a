"""Facts in Chinese and Thai sentences: what something is, and where and when it is or began."""

from __future__ import annotations

import re
from collections.abc import Iterator

from loopwright.workflows.rag.extraction.statements import Statement

_PARENTHESES = re.compile(r"[（(][^（）()]*[)）]")

_CHINESE_CLAUSE = re.compile(r"[^，。；！？,;!?\n]+")
_CHINESE_VERB = re.compile(
    "(?:曾经|曾|现在|目前|也|原|仍|均|都|就)?"
    "(并?不是|并非|不再是|出生[于於]|(?<!出)生[于於]|毕业于|位[于於]|坐落于|成立[于於]|创立于|创建于|建于|始建于|逝世于|卒于"
    "|又称|成为|(?<![但于还可总只而或凡要正便若不])是(?![否因由])|(?<=.)(?<![认因作称以分被成])为(?![了什]))"
)
_CHINESE_LEAD = re.compile("^一(?:个|個|位|名|座|家|种|種|部|所|款|条|條|只|隻|支|首|本|项|項|片)")
_CHINESE_PRONOUN = re.compile("他|她|它|其|[该該本]\\w{1,3}|这|這")
_CHINESE_DATE = re.compile(r"^.*\d\s*(?:年|月|日|世纪)")
_CHINESE_UNSTATED = re.compile(r"\s*(?:如果|假如|若)|是否|[认以]为|据说|[称说]")
_CHINESE_LINK = re.compile("(?:但是|但|而且|因此|所以|然而|同时|此外|其中|另外)")
_CHINESE_OF = re.compile("([^的]{2,12})的([^的]{1,10})")
_LONGEST_CHINESE_SUBJECT = 20

_THAI_VERB = re.compile(
    "(ไม่ใช่|ไม่ได้เป็น|มิใช่|มิได้เป็น|ไม่เป็น|เคยเป็น|(?:ไม่ได้)?ตั้งอยู่(?:ใน|ที่)|(?:ไม่ได้)?เกิด(?:ที่|เมื่อ|ใน)"
    "|ก่อตั้ง(?:เมื่อ|โดย|ใน)|เสียชีวิต(?:เมื่อ|ที่)|(?<!จำ)เป็น(?!ต้น|ไป|อย่าง)|คือ)"
)
_THAI_PRONOUN = re.compile("เขา|เธอ|มัน|ท่าน|พระองค์|ซึ่ง|โดย|และ|ปัจจุบัน")
_THAI_UNSTATED = re.compile("ถ้า|หาก|หรือไม่|ไหม")
_THAI_OF = re.compile("(.{2,30}?)ของ(.{2,40})")
_LONGEST_THAI_SUBJECT = 60


def chinese_statements(sentence: str, offset: int, title: str) -> Iterator[Statement]:
    """The facts of a Chinese sentence; a clause without a subject is about that of the clause before it.

    Args:
        sentence: The sentence.
        offset: Where it begins in the passage's text, in characters.
        title: What the document is about; empty if nobody knows.
    """
    text = _without_parentheses(sentence)
    if text.rstrip().endswith(("？", "?", "吗", "吗。")):
        return
    subject = title
    for clause in _CHINESE_CLAUSE.finditer(text):
        verb = _CHINESE_VERB.search(clause[0])
        before = clause[0][: verb.start()] if verb else clause[0]
        unstated = _CHINESE_UNSTATED.search(before)
        before = _CHINESE_LINK.sub("", _CHINESE_DATE.sub("", before).strip(), count=1)
        named = "" if _CHINESE_PRONOUN.fullmatch(before) else before
        value = " ".join(clause[0][verb.end() :].split()) if verb else ""
        if verb is None or not value or len(named) > _LONGEST_CHINESE_SUBJECT or unstated:
            # "鲁迅，浙江绍兴人，是作家": what opens the sentence is what it is about.
            subject = named if clause.start() == 0 and 1 < len(named) <= _LONGEST_CHINESE_SUBJECT else subject
            continue
        subject = named or subject
        if subject and subject != value:
            sure = 0.8 if named else 0.6
            start, end = offset + clause.start(), offset + clause.start() + len(clause[0].rstrip())
            thing = _CHINESE_LEAD.sub("", value)
            yield Statement(subject, verb[1], thing, start, end, sure)
            owner = _CHINESE_OF.fullmatch(thing)
            if owner and verb[1].endswith("是"):
                yield Statement(subject, f"{verb[1]}…的{owner[2]}", owner[1], start, end, sure)


def thai_statements(sentence: str, offset: int, title: str) -> Iterator[Statement]:
    """The facts of a Thai text, which has spaces between its clauses and no other mark of where a sentence ends.

    Args:
        sentence: A sentence, or a whole paragraph.
        offset: Where it begins in the passage's text, in characters.
        title: What the document is about; empty if nobody knows.
    """
    subject, before = title, ""
    pieces = list(re.finditer(r"\S+", _without_parentheses(sentence)))
    for n, piece in enumerate(pieces):
        verb = _THAI_VERB.search(piece[0])
        if verb is None or _THAI_UNSTATED.search(piece[0]):
            before = piece[0]
            continue
        lead = piece[0][: verb.start()] or before
        before = ""
        named = "" if _THAI_PRONOUN.fullmatch(lead) or len(lead) > _LONGEST_THAI_SUBJECT else lead
        subject = named or subject
        following = pieces[n + 1] if n + 1 < len(pieces) else None
        value = piece[0][verb.end() :] or (following[0] if following else "")
        if not subject or not value or subject == value:
            continue
        end = offset + (piece.end() if piece[0][verb.end() :] or following is None else following.end())
        sure = 0.75 if named else 0.6
        yield Statement(subject, verb[1], value, offset + piece.start(), end, sure)
        owner = _THAI_OF.fullmatch(value)
        if owner:
            yield Statement(subject, f"{verb[1]}{owner[1]}ของ", owner[2], offset + piece.start(), end, sure)


def _without_parentheses(sentence: str) -> str:
    return _PARENTHESES.sub(lambda inner: " " * len(inner[0]), sentence)
