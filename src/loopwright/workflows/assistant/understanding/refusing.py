"""What a question does not want: "AI but not LLMs", "not in German"; it is never searched for as if it were wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.understanding.languages import CODES, NAMES, code_of
from loopwright.workflows.assistant.understanding.words import REFUSED, Words

_NOUN = (
    r"(?:talks?|sessions?|presentations?|lectures?|workshops?|keynotes?|events?|stands?|booths?|speakers?|anything|something"
    r"|everything|all|one|ones|stuff)"
)
_THAT = r"(?:(?:that|which|who)\s+(?:is|are|do|does)\s+|(?:that|which)(?:['’]s|['’]re)\s+)"
_LEFT_OUT = rf"(?:(?<=\w),\s*|\b(?:but|and|only|please)\s+|^\s*(?:(?:and|but|please)\s+)?|\b(?P<noun>{_NOUN})\s+)"
_NOT = (
    rf"(?:{_LEFT_OUT}{_THAT}?not\b(?!\s+(?:only|just|so|yet|sure|much|many|all|recorded|cancell?ed|speaking|starts?|invented)\b)"
    r"|\b(?:(?:that|which)\s+)?(?:isn['’]t|aren['’]t)(?=\s+(?:about|on|in)\b)"
    r"|\b(?:but|and)\s+no\b|^\s*no\b(?=.*\bplease\b)"
    r"|\b(?:(?:but|all|everything|anything)\s+)?(?:except(?:\s+for)?|excluding|other\s+than|apart\s+from|aside\s+from"
    r"|leaving\s+out)\b|\b(?:everything|anything)\s+but\b)"
)
_REFUSED = re.compile(
    rf"{_NOT}\s+(?:(?:about|on|in|by|for|from|with|related\s+to|concerning)\s+)?(?:(?:the|any|a|an)\s+)?"
    r"(?P<what>(?!\s*$)[^,.;?!]+?)(?=\s*(?:$|[,;?!]|\.(?!\w)|\b(?:please|but|on|in|at|today|tomorrow"
    r"|tonight|after|before|between)\b))",
    re.IGNORECASE,
)
_DAY = re.compile(
    r"(?:the\s+)?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekend|today|tomorrow|first|second|third|last|day\s+\d|\d)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Refused:
    """What is not wanted."""

    languages: tuple[str, ...] = ()
    """The languages that are left, as the schedule has them; empty where none is refused."""
    notes: tuple[str, ...] = ()
    """What cannot be left out."""


def take_refused(words: Words, languages: Sequence[str]) -> Refused:
    """Take the words for what is not wanted, so that no reader takes them for a wish; days are left to theirs.

    Args:
        words: The question.
        languages: Languages as the schedule has them.
    """
    notes: list[str] = []
    refused = set[str]()
    for match in _REFUSED.finditer(words.text):
        start = match.end("noun") if match["noun"] else match.start()
        if _DAY.match(match["what"]) or not words.take_span(start, match.end("what"), REFUSED):
            continue
        what = re.sub(r"\s+(?:talks?|sessions?|ones?|stuff)$", "", match["what"].strip(), flags=re.IGNORECASE)
        code = NAMES.get(what.casefold())
        if code is None or not languages:
            notes.append(f'I cannot leave things out: "{what}" was not searched for, but may be among the results.')
        else:
            refused.add(code)
    left = tuple(value for value in languages if code_of(value) not in refused)
    if refused and not left:
        notes.append(f"Everything is held in {' or '.join(CODES[code] for code in sorted(refused))}.")
    return Refused(left if refused and len(left) < len(languages) else (), tuple(notes))
