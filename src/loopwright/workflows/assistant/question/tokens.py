"""A question as words, each of which is read once."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Self

from loopwright.retrieval.text import LETTER, SIGNED, fold, terms
from loopwright.retrieval.web.cleaning import INVISIBLE
from loopwright.workflows.assistant.schemas import Condition, Slot
from loopwright.workflows.assistant.searching.lexicon import language_of, words

_TOKEN = re.compile(
    r"(?i)\d{4}-\d\d-\d\d|(?<![\w.])(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:\d{4}\b|(?!\w))"  # 1.2.2025
    r"|\b\d\d?/\d\d?/\d{4}\b|\d{1,2}(?:[:.hH]| Uhr | heures )\d\d(?!\d|\.\d)"  # 1/2/2025, 14:30
    r"|[^\W\d_]+\d*\.\d[\w.]*\w"  # K.1.105, UB2.252A
    r"|\d+(?=[aApP]\.?[mM]\b)|(?<=\d)[aApP]\.?[mM]\b"
    r"|apr[eèé]s[- ]midi|\b(?:[cdjlmnst]|qu)['’](?=[^\W\d_]{2})"  # l'IA
    r"|(?<![^\W_])[a-z]&[a-z](?![^\W_])"  # Q&A
    rf"|{SIGNED}|{LETTER}+(?:['’]{LETTER}+)*"
)
TITLES = {"dr", "prof", "professor"}
_SENTENCE = re.compile(r"[?!;\n]|[.:].*\s")  # no dot of "Node.js"
_PART = re.compile(r"[,()–-] |[,()]")

_form = lru_cache(maxsize=2**14)(terms)
"""A word in its basic form: a question is held against thousands of phrases."""


@dataclass(slots=True)
class Token:
    """A word."""

    word: str
    """The word, folded and, where it was misspelt, mended."""
    raw: str
    """The word as it was written."""
    gap: str
    """What stands before it."""
    taken: str = ""
    """What it was read as; empty while it is free."""


@dataclass(frozen=True, slots=True)
class Span:
    """Words that were read as one condition."""

    first: int
    """The first word."""
    last: int
    """The one after the last."""
    condition: Condition
    """What they ask."""
    barred: bool = False
    """Whether it must not hold."""


@dataclass(slots=True)
class Sentence:
    """The words of a question, and what was read of them."""

    text: str
    """The question."""
    tokens: list[Token] = field(default_factory=list[Token])
    """Its words."""
    language: str = "en"
    """Its language."""
    spans: list[Span] = field(default_factory=list[Span])
    """The conditions that were read."""
    notes: list[str] = field(default_factory=list[str])
    """What could not be taken as asked."""
    meals: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    """Word for a meal -> from when until when the programme has it."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Part a question into words."""
        text, end = INVISIBLE.sub("", text), 0
        sentence = cls(text)
        for match in _TOKEN.finditer(text):
            word = fold(match[0]).replace("’", "'").replace("a.m", "am").replace("p.m", "pm")
            gap = text[end : match.start()]
            sentence.tokens.append(Token(word.rstrip("'").replace(" ", "-"), match[0], gap))
            end = match.end()
        sentence.language = language_of(tuple(token.word for token in sentence.tokens))
        return sentence

    def __len__(self) -> int:
        """How many words there are."""
        return len(self.tokens)

    def word(self, place: int) -> str:
        """A word, folded; empty beyond the ends."""
        return self.tokens[place].word if 0 <= place < len(self.tokens) else ""

    def is_any(self, place: int, words: Collection[str]) -> bool:
        """Whether a word is one of some."""
        return 0 <= place < len(self.tokens) and self.tokens[place].word in words

    def says(self, place: int, kind: str) -> bool:
        """Whether a word is one of the small words of a kind; see ``data/words/grammar.yaml``."""
        return self.is_any(place, words("grammar", kind))

    def free(self, first: int, last: int) -> bool:
        """Whether some words are there, and none of them was read."""
        return 0 <= first < last <= len(self.tokens) and not any(each.taken for each in self.tokens[first:last])

    def begins(self, place: int) -> bool:
        """Whether a sentence begins at a word, or there is none."""
        titled = self.is_any(place - 1, TITLES) and self.tokens[place].gap == ". "  # "Dr. Byrne"
        return not 0 < place < len(self.tokens) or not (titled or _SENTENCE.search(self.tokens[place].gap) is None)

    def clauses(self) -> list[tuple[int, int]]:
        """The parts that can be understood apart: the first word of each, and the one after its last."""
        # A time alone in brackets says more of what stands before it; "at noon though, ..." goes on until the sign.
        gaps, timed = [*(each.gap for each in self.tokens), ")"], ("day", "start", "end", "on")
        alone = {each.first for each in self.spans if each.condition.slot in timed and ")" in gaps[each.last]}
        ends = [bool(_PART.search(gap)) and not ("(" in gap and n in alone) for n, gap in enumerate(gaps[:-1])]
        opens = (self.says(n, "contrary") and not _PART.search(gaps[n + 1]) for n in range(len(self)))
        apart = (opening or end for opening, end in zip(opens, ends, strict=True))
        starts = [place for place, parts in enumerate(apart) if parts or self.begins(place) or self.concludes(place)]
        return list(pairwise([*starts, len(self)]))

    def concludes(self, place: int) -> bool:
        """Whether a clause begins with "so" at a word: "my train leaves at 4 so what can I hear before"."""
        if not 1 < place < len(self) - 1 or self.word(place) != "so" or self.tokens[place + 1].gap == "-":
            return False
        likewise = self.says(place - 1, "and") and self.says(place + 1, "be")  # "and so is Sunday"
        return not (likewise or self.says(place + 1, "so_much") or self.says(place - 1, "or_so"))

    def asks_at(self, place: int) -> bool:
        """Whether the sentence that a word stands in ends with a question mark."""
        end = next((other for other in range(place + 1, len(self)) if self.begins(other)), len(self))
        after = self.tokens[end].gap if end < len(self) else self.text[len(self.text.rstrip(" \n\"')!")) - 1 :]
        return "?" in after

    def named(self, place: int) -> bool:
        """Whether a word is written as a name is, within a sentence."""
        raw = self.tokens[place].raw
        inner = raw[1:] != raw[1:].lower()
        return raw[0].isupper() and not re.match(r"I(?:['’]|$)", raw) and (inner or not self.begins(place))

    def take(self, first: int, last: int, what: str) -> None:
        """Note what words were read as."""
        for token in self.tokens[first:last]:
            token.taken = token.taken or what

    def ask(self, first: int, last: int, slot: Slot, *values: str, least: int | None = None, most: int | None = None,
            said: str = "") -> None:  # fmt: skip
        """Note a condition that words were read as."""
        condition = Condition(slot=slot, values=values, least=least, most=most, said=said or self.raw(first, last))
        self.spans.append(Span(first, last, condition))
        self.take(first, last, slot)

    def asks(self, *slots: Slot) -> bool:
        """Whether a condition on one of some slots was read."""
        return any(span.condition.slot in slots for span in self.spans)

    def raw(self, first: int, last: int) -> str:
        """Words as they were written."""
        return " ".join(token.raw for token in self.tokens[first:last])

    def written(self, first: int, last: int) -> str:
        """The same with the signs between them."""
        text = "".join(f"{token.gap}{token.raw}" for token in self.tokens[first:last])
        return text[len(self.tokens[first].gap) :] if first < last else ""

    def match(self, place: int, phrase: Sequence[str]) -> bool:
        """Whether a phrase stands at a word, in any form of its words: "leaving out" is "leave out"."""
        said = self.tokens[place : place + len(phrase)]
        return len(said) == len(phrase) and all(
            token.word == other or ("'" not in token.word and _form(token.word) == _form(other))
            for token, other in zip(said, phrase, strict=True)
        )

    def rest(self) -> list[int]:
        """The places of the words that were not read, those in quotes that are no title among them."""
        return [place for place, token in enumerate(self.tokens) if token.taken in ("", "title")]
