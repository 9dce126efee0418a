"""What kind of answer a question wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from loopwright.workflows.rag.asking.words import MAX_READ, fold, has_unspaced, names, words


class AnswerType(StrEnum):
    """The kind of a short answer."""

    PERSON = "person"
    """A person or a group of persons."""
    PLACE = "place"
    """A place."""
    DATE = "date"
    """A date, a year, or a time."""
    NUMBER = "number"
    """A number or a quantity."""
    YES_NO = "yes_no"
    """Yes or no."""
    CHOICE = "choice"
    """One of two things that the question names."""
    DEFINITION = "definition"
    """What something is."""
    EXPLANATION = "explanation"
    """How or why."""
    THING = "thing"
    """Anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a question asks for."""

    type: AnswerType
    """The kind of answer."""
    focus: str = ""
    """The noun that the answer is one of, for example "city" in "which city"; empty if there is none."""
    options: tuple[str, ...] = ()
    """The things to choose from or to compare, as named in the question."""
    before: str = ""
    """The words that stand right before the question word, where it is not the first: the answer follows them."""


_PERSON = frozenset(
    "person people man woman actor actress director author writer singer musician rapper player politician president "
    "king queen emperor leader founder inventor artist painter composer scientist character husband wife spouse father "
    "mother son daughter brother sister child member mayor governor minister coach producer designer architect"
    " poet novelist "
    "guitarist drummer bassist performer host comedian model owner songwriter skier champion winner villain".split()
)
_PLACE = frozenset(
    "city country state town village county province region district place location river mountain island continent "
    "capital nation area neighborhood borough lake ocean sea street birthplace street range hometown headquarters "
    "territory municipality suburb".split()
)
_DATE = frozenset("year date day month decade century time season birthday birthdate".split())
_NUMBER = frozenset(
    "number population percentage percent amount age height length distance total rank ranking price cost size speed "
    "temperature elevation depth weight share code".split()
)
_FOCUS_KINDS = (
    (_DATE, AnswerType.DATE),
    (_PERSON, AnswerType.PERSON),
    (_PLACE, AnswerType.PLACE),
    (_NUMBER, AnswerType.NUMBER),
)

# Thai and Chinese question words; the more specific ones first.
_UNSPACED_KINDS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"ทำไม|เพราะอะไร|อย่างไร|ยังไง|为什么|為什麼|为何|為何|怎么|怎麼|怎样|怎樣|如何", AnswerType.EXPLANATION),
        (r"เมื่อไหร่|เมื่อไร|เมื่อใด|ปีใด|ปีไหน|ปีอะไร|什么时候|什麼時候|何时|何時|哪年|哪一年|几年|幾年", AnswerType.DATE),
        (r"ที่ไหน|จังหวัดใด|ประเทศใด|เมืองใด|哪里|哪裡|哪儿|哪个国家|哪個國家|哪个城市|哪座城市|什么地方", AnswerType.PLACE),
        (r"เท่าไร|เท่าไหร่|เท่าใด|กี่|多少|几个|幾個|多大|多高|多长", AnswerType.NUMBER),
        (r"ใคร|谁|誰", AnswerType.PERSON),
        (r"หรือไม่|ใช่ไหม|ไหม$|ไหม[?？\s]|หรือเปล่า|มั้ย|吗|嗎|是否|是不是", AnswerType.YES_NO),
        (r"หรือ|还是|還是", AnswerType.CHOICE),
        (r"^\S+\s*(?:คืออะไร|是什么|是什麼)", AnswerType.DEFINITION),
    )
)

_OPENING = (
    r"^(?:(?:so|and|but|well|ok|okay|please|hello|hi|hey)\b[, ]*)*"
    r"(?:(?:can|could|would) you (?:please )?(?:tell me|explain) |(?:please )?tell me |do you know )?"
)
_YES_NO = re.compile(
    _OPENING + r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b(?!.*\b(?:which|what|who) )",
    re.IGNORECASE,
)
_WH = re.compile(r"\b(what|which|who|whom|whose|when|where|why|how)\b", re.IGNORECASE)
_DEFINITION = re.compile(
    _OPENING + r"(?:what (?:is|are|was|were)|what's|define) (?:an? )?[\w\s'’-]{2,40}\?*$", re.IGNORECASE
)
_QUANTITY = re.compile(
    r"\bhow (?:many|much|old|tall|long|far|high|deep|big|large|fast|heavy|often|wide)\b", re.IGNORECASE
)
_CHOICE = re.compile(r"^(?P<rest>.*?)(?P<left>[^,?]+?),? or (?P<right>[^?,]+)\??\s*$", re.IGNORECASE)


def read_asked(question: str) -> Asked:
    """Read what kind of answer a question wants.

    Args:
        question: The question, in English, Thai or Chinese; other languages mostly read as a thing.
    """
    text = " ".join(question.split())[:MAX_READ]
    if has_unspaced(text):
        kind = next((kind for pattern, kind in _UNSPACED_KINDS if pattern.search(text)), AnswerType.THING)
        return Asked(type=kind, options=_unspaced_options(text) if kind is AnswerType.CHOICE else ())
    options = _options(text)
    before = _before(text)
    if _YES_NO.search(text) and not _WH.match(text):
        either = bool(re.search(r"\bor\b", text)) and len(options) == 2
        return Asked(type=AnswerType.CHOICE if either else AnswerType.YES_NO, options=options, before="")
    if len(options) == 2 and re.search(r"\bor\b", text):
        return Asked(type=AnswerType.CHOICE, focus=_focus(text), options=options)
    focus = _focus(text)
    return Asked(type=_kind(text, focus), focus=focus, options=options, before=before)


def kind_of_noun(noun: str) -> AnswerType | None:
    """What kind of thing an English noun stands for: a person, a place, a date or a number; None for all else."""
    return next((kind for nouns, kind in _FOCUS_KINDS if noun in nouns or _singular(noun) in nouns), None)


def _kind(text: str, focus: str) -> AnswerType:
    match = next((match for match in _WH.finditer(text) if _asks(text, match)), None)
    word = fold(match[1]) if match else ""
    if _QUANTITY.search(text):
        return AnswerType.NUMBER
    if word in ("who", "whom", "whose"):
        return AnswerType.PERSON
    if word in ("when", "where"):
        return AnswerType.DATE if word == "when" else AnswerType.PLACE
    if word in ("why", "how") and not (focus and _before(text)):
        return AnswerType.EXPLANATION
    if kind := kind_of_noun(focus):
        return kind
    named = names(text)
    if _DEFINITION.search(text) and (not named or len(words(text)) - len(words(named[0])) <= 3) and " of " not in text:
        return AnswerType.DEFINITION
    return AnswerType.THING


def _asks(text: str, match: re.Match[str]) -> bool:
    """Whether a question word asks, and does not open a relative clause ("the city where he was born")."""
    before = words(text[: match.start()])
    if not before:
        return True
    if fold(match[1]) in ("when", "where", "who", "whom", "whose", "why", "how"):
        return text[: match.start()].rstrip().endswith(",") or fold(before[-1]) in ("and", "so", "tell", "me", "know")
    return True


def _focus(text: str) -> str:
    """The head noun after "which", "what" or "how many", or the subject of "what is the N of"."""
    if re.match(r"(?:who|whom|whose|when|where|why|how (?!many|much|to))\b", text, re.IGNORECASE):
        return ""
    for pattern in (
        r"\b(?:which|what)(?: is| are| was| were|['’]s) (?:the |its |his |her |their )?(?P<noun>[\w\s,.'’-]+?)"
        r"(?= (?:of|in|for|that|who|which|where|when|on|at|to|from|by|with|carried|does|did)\b|\?|$)",
        r"\b(?:which|what|how many|how much) (?P<noun>[\w\s,'’-]+?)"
        r"(?= (?:is|are|was|were|did|does|do|has|have|had|of|in|from|that|who"
        r"|can|will|would|by|comes?|won|played)\b|\?|$|\.)",
    ):
        match = re.search(pattern, text, re.IGNORECASE)
        if match is not None:
            phrase = re.split(r" (?:the|an?|on|through|\w+ed)\b", " " + match["noun"])[0]
            found = [word for word in words(phrase)[:5] if word.islower()]
            known = [word for word in found if kind_of_noun(word)]
            if found:
                return known[-1] if known else found[-1]
    return ""


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def _before(text: str) -> str:
    """Up to four words before a question word that is not the first word, as in "is the capital of what country"."""
    match = next((m for m in re.finditer(r"\b(?:what|which)\b", text, re.IGNORECASE) if m.start()), None)
    if match is None or text[: match.start()].rstrip().endswith(","):
        return ""
    return " ".join(words(text[: match.start()])[-4:])


def _options(text: str) -> tuple[str, ...]:
    """The two things that a question sets side by side, joined by "or" or "and"."""
    named = names(text)
    for left, right in pairwise(named):
        between = text[text.find(left) + len(left) : text.find(right, text.find(left) + len(left))]
        if re.fullmatch(
            r"[\"”']?(?: \([^)]*\))?,?[\"”']? (?:or|and)(?: is| was| the| are)?(?: the)? ?[\"“']?", between
        ):
            return left, right
    match = _CHOICE.match(text)
    if match is None:
        return ()
    left = re.split(r"[,:]| (?:between|first|older|younger|larger|bigger|is|was) ", match["rest"] + match["left"])[-1]
    return (left.strip(), match["right"].strip()) if left.strip() and len(words(left)) <= 5 else ()


def _unspaced_options(text: str) -> tuple[str, ...]:
    parts = re.split(r"หรือ|还是|還是", text.strip("?？ "))
    if len(parts) != 2:
        return ()
    left = re.split(r"[\s,，：:]|比较|ระหว่าง", parts[0].strip())[-1]
    return left.strip(), re.split(r"[\s,，]", parts[1].strip())[0]
