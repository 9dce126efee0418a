"""Reading the words of a question: which there are, how much each says, and what each may be written as."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.searching.acronyms import Acronyms
from loopwright.workflows.assistant.searching.english import english_words
from loopwright.workflows.assistant.searching.index import RecordIndex
from loopwright.workflows.assistant.searching.lexical import Alternative, AskedWord
from loopwright.workflows.assistant.searching.shortening import SHORT_FORM, ShortForms
from loopwright.workflows.assistant.searching.spelling import Spelling
from loopwright.workflows.assistant.searching.words import asked_words, terms_of

_EXPLAINED = 0.9
"""What an acronym is worth for its long name, and the other way round."""
_JOINED = 0.95
"""What two words written as one are worth, and one written as two."""
MOST_WORDS = 64
"""So many words of a question are read; a longer one is a text, which its beginning stands for."""
_RARE = 3
"""A word that more records have is no mistyped name."""
_DOUBTED = 0.7
"""What a person's name is worth for a word that is spelt like it, but stands in some record as it is."""


@dataclass(frozen=True, slots=True)
class QuestionReader:
    """Reads questions against the words of one conference; safe in threads."""

    index: RecordIndex
    """The records."""
    spelling: Spelling
    """The words as they are written there."""
    acronyms: Acronyms
    """What short names stand for there."""
    short_forms: ShortForms
    """What short names are likely to stand for."""

    def read(self, text: str) -> list[AskedWord]:
        """The words of a question with what may stand for each.

        A word that stands in no record may be mistyped, and one that hardly any has may be a mistyped name.

        Args:
            text: The question.
        """
        words = asked_words(text)[:MOST_WORDS]
        long_names = self.acronyms.named_in(words)
        return [
            AskedWord(
                word,
                sum(self.index.idf(term) for term in terms_of(word)),
                tuple(self._alternatives(words, place, long_names.get(word, ()))),
            )
            for place, word in enumerate(words)
        ]

    def knows(self, word: str) -> bool:
        """Whether a folded word, in any form, stands in some record."""
        return all(self.index.frequency(term) for term in terms_of(word))

    def _alternatives(self, words: Sequence[str], place: int, short: Sequence[str]) -> Iterator[Alternative]:
        word = words[place]
        yield Alternative(terms_of(word), 1.0)
        for name in self.acronyms.long.get(word, ()):
            yield Alternative(tuple(term for part in asked_words(name) for term in terms_of(part)), _EXPLAINED)
        for name in short:
            yield Alternative(terms_of(name), _EXPLAINED)
        beside = (words[place - 1] + word if place else "", "".join(words[place : place + 2]))
        for joined in beside:
            if joined != word and joined in self.index.surfaces:
                yield Alternative(terms_of(joined), _JOINED)
        for other in self.short_forms.others(word):
            yield Alternative(terms_of(other), SHORT_FORM)
        known = self.knows(word)
        if not known:
            for first, second in self._halves(word):
                yield Alternative((*terms_of(first), *terms_of(second)), _JOINED)
        yield from self._respelt(words, place, known)

    def _respelt(self, words: Sequence[str], place: int, known: bool) -> Iterator[Alternative]:
        """What a word may be a mistyped form of; a correct English word only beside a name, and then of a name."""
        word, names = words[place], self.index.names
        if known and self.index.surfaces[word] > _RARE:
            return
        correct = word in english_words()
        if correct and names.isdisjoint((*words[max(0, place - 1) : place], *words[place + 1 : place + 2])):
            return
        for other, likeness in self.spelling.near(word):
            if not known and not correct:
                yield Alternative(terms_of(other), likeness)
            elif other != word and other in names:
                yield Alternative(terms_of(other), likeness * _DOUBTED)

    def _halves(self, word: str, shortest: int = 3) -> Iterator[tuple[str, str]]:
        surfaces = self.index.surfaces
        for cut in range(shortest, len(word) - shortest + 1):
            if surfaces[word[:cut]] > 1 and surfaces[word[cut:]] > 1:
                yield word[:cut], word[cut:]
