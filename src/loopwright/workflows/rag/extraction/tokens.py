"""The words of a sentence with their places, each with the kind that the rules go by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum, auto
from typing import NamedTuple

from loopwright.retrieval.records import Mention
from loopwright.workflows.rag.extraction import lexicon


class Kind(Enum):
    """What a word is to the rules."""

    NAME = auto()
    """An entity's name, of any number of words."""
    DATE = auto()
    """A day, a month or a year."""
    NUMBER = auto()
    """A number."""
    BE = auto()
    """A form of "to be"."""
    AUXILIARY = auto()
    """Another auxiliary verb."""
    VERB = auto()
    """A finite verb or a past participle."""
    PARTICIPLE = auto()
    """A present participle."""
    NEGATION = auto()
    """"not" and its like."""
    ADVERB = auto()
    """A word that can stand between the parts of a verb."""
    PREPOSITION = auto()
    """A word that leads to a further object."""
    DETERMINER = auto()
    """An article or the like."""
    PRONOUN = auto()
    """A word for what the text is about."""
    POSSESSIVE = auto()
    """A word for what belongs to that."""
    GENITIVE = auto()
    """The 's after a noun."""
    RELATIVE = auto()
    """A word that begins a clause about the noun before it."""
    CONJUNCTION = auto()
    """A word that puts like beside like."""
    COMMA = auto()
    """A comma."""
    STOP = auto()
    """Other punctuation, which ends whatever goes on."""
    WORD = auto()
    """Any other word: a noun, an adjective."""


class Token(NamedTuple):
    """One word, name, date or mark."""

    kind: Kind
    """What it is."""
    text: str
    """As it stands in the passage."""
    lower: str
    """In small letters."""
    start: int
    """Where it begins in the passage's text, in characters."""
    end: int
    """Where it ends there."""


_MONTH = f"(?:{lexicon.MONTHS})"
DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}(?:,? \d{{3,4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:, ?\d{{3,4}}| \d{{4}})?(?!\d)|{_MONTH},? \d{{3,4}}"
    r"|\d{4}-\d\d-\d\d|(?:1\d|20)\d\ds?(?![\d,.]\d)|\d{1,4} (?:BCE?|CE|AD))\b"
)
"""A date in English: a day, a month of a year, a year, a decade."""
_NUMBER = r"[$€£¥]?\d[\d,]*(?:\.\d+)?(?:st|nd|rd|th)?(?: ?%)?(?: (?:percent|hundred|thousand|million|billion)\b)?"
_PIECES = re.compile(
    rf"(?P<number>{_NUMBER}(?![\w-]))|(?P<word>[^\W_]+(?:(?:[-–&.]|['’](?!s\b))[^\W_]+)*)"
    r"|(?P<genitive>['’]s\b|['’](?= ))|(?P<mark>\S)"
)
_PARENTHESES = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_QUOTES = frozenset("\"“”«»`'‘’")


def blank_parentheses(sentence: str) -> str:
    """A sentence of the same length without what stands in parentheses."""
    return _PARENTHESES.sub(lambda inner: " " * len(inner[0]), sentence)


def tokens_in(sentence: str, offset: int, mentions: Sequence[Mention]) -> list[Token]:
    """The words of a sentence, each name and date as one; quotation marks and what stands in parentheses left out.

    Args:
        sentence: The sentence.
        offset: Where it begins in the passage's text, in characters.
        mentions: The entities that it names; their places are those in the passage.
    """
    text = blank_parentheses(sentence)
    found: list[Token] = []
    at = 0
    for start, end, kind in [*_whole_spans(text, offset, mentions), (len(text), len(text), Kind.STOP)]:
        found += [_token(piece, offset) for piece in _PIECES.finditer(text, at, start) if piece[0] not in _QUOTES]
        if start < end:
            found.append(Token(kind, text[start:end], text[start:end].lower(), offset + start, offset + end))
        at = end
    return found


def _whole_spans(text: str, offset: int, mentions: Sequence[Mention]) -> list[tuple[int, int, Kind]]:
    """Dates and names that do not overlap: of two that do, the longer stays."""
    spans = [(date.start(), date.end(), Kind.DATE) for date in DATE.finditer(text)]
    spans += [
        (mention.start - offset, mention.end - offset, Kind.NAME)
        for mention in mentions
        if text[mention.start - offset : mention.end - offset].strip()
    ]
    kept: list[tuple[int, int, Kind]] = []
    for span in sorted(spans, key=lambda span: (span[0] - span[1], span[0], span[2] is Kind.NAME)):
        if all(span[1] <= other[0] or other[1] <= span[0] for other in kept):
            kept.append(span)
    return sorted(kept, key=lambda span: span[0])


def _token(piece: re.Match[str], offset: int) -> Token:
    text, lower = piece[0], piece[0].lower().replace("’", "'")
    group = piece.lastgroup
    if group == "word":
        kind = _kind_of(text, lower, opens=piece.start() == 0)
    elif group == "mark":
        kind = Kind.COMMA if text == "," else Kind.STOP
    else:
        kind = Kind.NUMBER if group == "number" else Kind.GENITIVE
    return Token(kind, text, lower, offset + piece.start(), offset + piece.end())


_CLOSED = (
    (lexicon.BE, Kind.BE),
    (lexicon.AUXILIARIES | lexicon.CONTRACTIONS.keys(), Kind.AUXILIARY),
    (lexicon.NEGATIONS, Kind.NEGATION),
    (lexicon.RELATIVES, Kind.RELATIVE),
    (lexicon.CONJUNCTIONS, Kind.CONJUNCTION),
    (lexicon.PREPOSITIONS, Kind.PREPOSITION),
    (lexicon.DETERMINERS, Kind.DETERMINER),
    (lexicon.PRONOUNS, Kind.PRONOUN),
    (lexicon.POSSESSIVES, Kind.POSSESSIVE),
    (lexicon.ADVERBS, Kind.ADVERB),
    (lexicon.CONDITIONS | lexicon.SUBORDINATORS, Kind.STOP),
    (lexicon.VERBS | lexicon.BASE_VERBS, Kind.VERB),
)
_KINDS = {word: kind for words, kind in reversed(_CLOSED) for word in words} | {
    word: Kind.BE for word, plain in lexicon.CONTRACTIONS.items() if plain.split()[0] in lexicon.BE
}


def _kind_of(text: str, lower: str, *, opens: bool) -> Kind:
    known = _KINDS.get(lower)
    if known is not None:
        return known
    if "-" in text or len(text) < 4 or (text[0].isupper() and not opens):
        return Kind.WORD
    if lower.endswith("ed") and lower not in lexicon.NOT_VERBS:
        return Kind.VERB
    if lower.endswith("ing") and lower not in lexicon.NOT_PARTICIPLES:
        return Kind.PARTICIPLE
    return Kind.ADVERB if lower.endswith("ly") else Kind.WORD
