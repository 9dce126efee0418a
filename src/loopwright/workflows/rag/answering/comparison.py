"""Answers to questions that set two things side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from loopwright.retrieval.names import plain_title
from loopwright.retrieval.text import fold, terms
from loopwright.workflows.rag.answering.polarity import denies
from loopwright.workflows.rag.answering.spans import date_key, number_of, spans_in
from loopwright.workflows.rag.answering.support import Supported
from loopwright.workflows.rag.answering.units import Quantity, measures_in
from loopwright.workflows.rag.asking.asked import AnswerType, Asked
from loopwright.workflows.rag.asking.words import ASKING_WORDS, informative_terms, name_spans
from loopwright.workflows.rag.schemas import Evidence

_EARLIER = re.compile(
    r"\b(?:first|earlier|earliest|older|oldest|before|sooner|senior)\b|早|年长|更老|เก่ากว่า|แก่กว่า|ก่อน|อายุมาก",
    re.IGNORECASE,
)
_LATER = re.compile(
    r"\b(?:younger|youngest|later|latest|newer|newest|more recent(?:ly)?|most recent(?:ly)?|last|after)\b"
    r"|晚|年轻|新|ใหม่กว่า|ทีหลัง|อายุน้อย",
    re.IGNORECASE,
)
_MORE = re.compile(
    r"\b(?:more|most|larger|largest|bigger|biggest|higher|highest|taller|tallest|longer|longest|greater|heavier|farther|deeper)\b"
    r"|更大|更多|更高|更长|大|多|高|มากกว่า|ใหญ่กว่า|สูงกว่า|ยาวกว่า",
    re.IGNORECASE,
)
_LESS = re.compile(
    r"\b(?:fewer|fewest|less|least|smaller|smallest|lower|lowest|shorter|shortest|lighter)\b|更小|更少|更低|更短|小|少|น้อยกว่า|เล็กกว่า",
    re.IGNORECASE,
)
_SAME = re.compile(r"\bsame ([\w-]+(?: [\w-]+)?)", re.IGNORECASE)
# What comes right after "both", to the end: a kind of thing or a quality, and nothing that was done, or where.
_BOTH_ARE = re.compile(
    r"^(?:is|are|was|were)\b.*\bboth (?:an? )?(?:(?!(?:of|in|by|from|to|on|at|for|with)\b)[\w-]++[ ?]*+){1,4}$", re.I
)
_DEFINED = re.compile(r"\b(?:is|are|was|were) (?:an?|the|one of) ")
_NATIONALITIES = frozenset({"nationality", "nationalities", "country", "nation"})
_NATIONALITY = re.compile(r"\b(?:is|was) an? (?:[a-z-]+ ){0,2}([A-Z][\w-]+(?: [A-Z][\w-]+)*)")
_COVERS = 0.6
_COVERS_ALONE = 0.7
_OWN_SHARE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The outcome of a comparison."""

    short: str
    """The thing that was chosen, or "yes" or "no"."""
    sentences: tuple[Supported, ...]
    """The sentences that show it, one for each thing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """A date or a number."""

    key: tuple[float, ...]
    """What it is ordered by."""
    quantity: Quantity = ""
    """What it measures, where it has a unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measured:
    """Two values were found."""

    outcome: Compared | None
    """Which thing has the value that is asked for; None if they measure different things."""


def compare(asked: Asked, question: str, evidence: Sequence[Evidence], found: Sequence[Supported]) -> Compared | None:
    """Answer a comparison from the two values that the evidence gives.

    Args:
        asked: What the question wants, with its two options.
        question: The question.
        evidence: The passages.
        found: Their sentences.

    Returns:
        The outcome; None where the evidence does not say enough of both things.
    """
    if len(asked.options) != 2:
        return None
    left, right = (_about(option, evidence, found) for option in asked.options)
    if not left or not right:
        return None
    if asked.type is AnswerType.YES_NO:
        return _alike(asked, question, left, right)
    measured = _by_value(asked, question, left, right)
    return _by_predicate(asked, question, left, right) if measured is None else measured.outcome


def yes_or_no(question: str, found: Sequence[Supported]) -> Compared | None:
    """Answer a plain yes-no question: yes if a sentence and its title say nearly all of it, no if it negates it.

    Args:
        question: The question.
        found: The sentences of the evidence.

    Returns:
        The outcome; None where no sentence says enough of it.
    """
    best = max(found, key=lambda each: (each.support, each.own), default=None)
    if best is None or best.support < _COVERS_ALONE or best.own < _OWN_SHARE:
        return None
    return Compared(short="no" if denies(question, [best.text]) else "yes", sentences=(best,))


def _about(option: str, evidence: Sequence[Evidence], found: Sequence[Supported]) -> list[Supported]:
    """The sentences about one of the options: of the passages with its title, else those that name it."""
    wanted = set(terms(option)) - ASKING_WORDS
    titled = [
        index
        for index, passage in enumerate(evidence)
        if wanted and (wanted <= set(terms(passage.title)) or set(terms(plain_title(passage.title))) <= wanted)
    ]
    if titled:
        # The title that says the least beyond the option is the one that it means.
        chosen = min(titled, key=lambda index: len(set(terms(plain_title(evidence[index].title))) ^ wanted))
        return [sentence for sentence in found if sentence.passage == chosen]
    return [sentence for sentence in found if fold(option) in fold(sentence.text)]


def _by_value(asked: Asked, question: str, left: list[Supported], right: list[Supported]) -> _Measured | None:
    """Choose by date or number, where the question says which end it wants; None where there are no two values."""
    rest = _without(question, asked.options)
    for low, high, value in ((_EARLIER, _LATER, _date_in), (_LESS, _MORE, _number_in)):
        if not (low.search(rest) or high.search(rest)):
            continue
        wanted = set(informative_terms(rest)) - ASKING_WORDS
        first, second = _value_of(left, wanted, value), _value_of(right, wanted, value)
        if first is None or second is None or first[0] == second[0]:
            continue
        if first[0].quantity != second[0].quantity:
            return _Measured(outcome=None)
        left_wins = (first[0].key < second[0].key) == bool(low.search(rest))
        chosen = asked.options[0 if left_wins else 1]
        return _Measured(outcome=Compared(short=chosen, sentences=(first[1], second[1])))
    return None


def _value_of(
    sentences: list[Supported], wanted: set[str], value: Callable[[str], Iterable[_Value]]
) -> tuple[_Value, Supported] | None:
    """The first value of the sentence that has most of the wanted words."""
    ordered = sorted(sentences, key=lambda each: (-len(wanted & set(terms(each.text))), each.place))
    return next(((found, each) for each in ordered for found in value(each.text)), None)


def _date_in(text: str) -> Iterable[_Value]:
    dates = sorted((span.start, span.text) for span in spans_in(text) if span.kind in ("date", "year"))
    return (_Value(key=key) for _, date in dates if (key := date_key(date)) is not None)


def _number_in(text: str) -> Iterable[_Value]:
    measures = list(measures_in(text))
    inside = {place for measure in measures for place in range(measure.start, measure.end)}
    found = [(measure.start, _Value(key=(measure.value,), quantity=measure.quantity)) for measure in measures]
    for span in spans_in(text):
        number = number_of(span.text) if span.kind == "number" and span.start not in inside else None
        if number is not None:
            found.append((span.start, _Value(key=(number,))))
    return (value for _, value in sorted(found, key=lambda each: each[0]))


def _by_predicate(asked: Asked, question: str, left: list[Supported], right: list[Supported]) -> Compared | None:
    """Choose the option whose passage says more of what the question says of it."""
    wanted = set(informative_terms(_without(question, asked.options)))
    shares = [_share(wanted, sentences) for sentences in (left, right)]
    if shares[0] == shares[1]:
        return None
    winner = 0 if shares[0] > shares[1] else 1
    shown = tuple(_best(wanted, sentences) for sentences in (left, right))
    return Compared(short=asked.options[winner], sentences=shown)


def _alike(asked: Asked, question: str, left: list[Supported], right: list[Supported]) -> Compared | None:
    """Whether both things are what is asked, or share what is asked; None where the sources do not say."""
    rest = _without(question, asked.options)
    same = _SAME.search(rest)
    wanted = set(informative_terms(rest)) - ASKING_WORDS - set(terms("both same"))
    shown = tuple(_best(wanted, sentences) for sentences in (left, right))
    if same is not None or re.search("相同|同一|เดียวกัน", rest):
        noun = same[1] if same is not None else ""
        named = [_names_for(noun, side) - set(terms(" ".join(asked.options))) for side in (left, right)]
        return Compared(short="yes" if named[0] & named[1] else "no", sentences=shown) if all(named) else None
    fits = [_share(wanted, side) >= _COVERS for side in (left, right)]
    denied = [_share(wanted, [each]) >= _COVERS and denies(rest, [each.text]) for each in shown]
    # What one thing is said to be, and the other is said to be something else instead.
    differ = (
        any(fits) and bool(_BOTH_ARE.match(question)) and all(_DEFINED.search(side[0].text) for side in (left, right))
    )
    if any(denied) or (differ and not all(fits)):
        return Compared(short="no", sentences=shown)
    return Compared(short="yes", sentences=shown) if all(fits) else None


def _names_for(noun: str, sentences: list[Supported]) -> set[str]:
    """The terms of the names next to a noun ("province"), or of the nationality that a definition gives."""
    if fold(noun) in _NATIONALITIES:
        given = (_NATIONALITY.search(sentence.text) for sentence in sentences)
        return set(terms(next((match[1] for match in given if match), "")))
    wanted = set(terms(noun)) | set(terms("group" if fold(noun) == "band" else ""))
    near: set[str] = set()
    for sentence in sentences[:3]:
        for start, end in name_spans(sentence.text):
            joined = sentence.text[:start].rstrip()[-1:].isalnum()
            before = terms(sentence.text[max(0, start - 60) : start])[-2:] if joined else []
            if wanted & {*terms(sentence.text[end:])[:1], *(before if before[-1:] == ["of"] else before[-1:])}:
                near |= set(terms(sentence.text[start:end]))
    return near - wanted


def _best(wanted: set[str], sentences: list[Supported]) -> Supported:
    return max(sentences, key=lambda each: (len(wanted & set(terms(each.text))), -each.place))


def _share(wanted: set[str], sentences: list[Supported]) -> float:
    said = set(terms(" ".join(sentence.text for sentence in sentences)))
    return len(wanted & said) / len(wanted) if wanted else 0.0


def _without(question: str, options: Sequence[str]) -> str:
    for option in options:
        question = question.replace(option, " ")
    return question
