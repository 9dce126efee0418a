"""The words that a conference uses, and which of them stand near others."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from loopwright.retrieval.text import STOP_WORDS
from loopwright.workflows.assistant.schemas import Table
from loopwright.workflows.assistant.searching.asking import QuestionReader
from loopwright.workflows.assistant.searching.dense import DenseSearch
from loopwright.workflows.assistant.searching.index import RecordIndex
from loopwright.workflows.assistant.searching.shortening import SHORT_FORM
from loopwright.workflows.assistant.searching.words import asked_words, plain_words, terms_of

EXPLAINED = 0.95
"""The likeness of an acronym and the name that the texts give for it."""
ALTERNATIVES = 6
"""At most so many alternatives to a text."""
_TOGETHER = 3  # Words that fewer records share may be together by chance.
_NEAREST_RECORDS = 12
_CANDIDATES = 6
_TRIED = 2
_REMEMBERED = 2048


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A word of the conference that stands near another."""

    word: str
    """The word, folded, as the records write it most; a long name for an acronym."""
    similarity: float
    """How near it is, from 0 to 1; see `Vocabulary.neighbours`."""
    why: Literal["spelling", "abbreviation", "co-occurrence", "meaning"]
    """In what it is near."""


class Vocabulary:
    """The words of all records; never changed once made, safe in threads."""

    def __init__(self, index: RecordIndex, reader: QuestionReader, dense: DenseSearch | None) -> None:
        """Prepare.

        Args:
            index: The records.
            reader: Knows spellings and acronyms.
            dense: Likeness in meaning; None does without.
        """
        self._index = index
        self._reader = reader
        self._dense = dense
        self._surface = {terms_of(word): word for word, _ in reversed(index.surfaces.most_common())}
        self._neighbours = lru_cache(maxsize=_REMEMBERED)(self._near)

    def frequency(self, word: str) -> int:
        """In how many records a word stands, in any form; for several words, the rarest of them.

        Args:
            word: The word, in any case.
        """
        terms = [term for each in plain_words(word) for term in terms_of(each)]
        return min((self._index.frequency(term) for term in terms), default=0)

    def neighbours(self, word: str, n: int = 5, inside: Table | None = None) -> list[Neighbour]:
        """The words that stand near a word.

        The similarity is, for spelling, the share of letters that need no edit (only for a word that no record has);
        for an abbreviation, 0.95, or 0.85 where no text explains it; for co-occurrence, the normalised pointwise mutual
        information over records, ``ln(p(x, y) / (p(x) p(y))) / -ln p(x, y)``, times ``n / (n + 1)`` for both the
        records in common and those of the rarer word; for meaning, the cosine of the two words' vectors, among the
        words that tell the records that are nearest in meaning from others. Sources: G. Bouma, "Normalized (Pointwise)
        Mutual Information in Collocation Extraction", 2009; P. Pantel and D. Lin, "Discovering Word Senses from Text",
        2002.

        Args:
            word: The word, in any case, or a long name of several.
            n: At most how many.
            inside: The table whose records must have them; None for any.

        Returns:
            The nearest first, no word twice and not the word itself.
        """
        plain = " ".join(plain_words(word))
        ready = self._dense is not None and self._dense.ready
        return list(self._neighbours(plain, inside, ready))[:n] if plain else []

    def expand(self, text: str) -> list[str]:
        """The same text in other words.

        A word, or a long name, gives way to a neighbour; but a word that only stands beside it in many records comes at
        the end, since it is about the same without meaning the same.

        Args:
            text: What is looked for.

        Returns:
            At most six, those with the nearest neighbours first, folded; none of them the text itself.
        """
        whole = " ".join(plain_words(text))
        names = self._long_names(whole)
        inside = {word for name in names for word in name.split()}
        changed: list[tuple[float, str]] = []
        for part in (*names, *(word for word in asked_words(text) if word not in inside)):
            for neighbour in self.neighbours(part, _TRIED):
                if neighbour.why == "co-occurrence":
                    other = f"{whole} {neighbour.word}"
                else:
                    other = f" {whole} ".replace(f" {part} ", f" {neighbour.word} ", 1).strip()
                changed.append((neighbour.similarity, other))
        best = dict.fromkeys(other for _, other in sorted(changed, key=lambda each: -each[0]) if other != whole)
        return list(best)[:ALTERNATIVES]

    def _long_names(self, text: str) -> list[str]:
        return [name for name in self._reader.acronyms.short if f" {name} " in f" {text} "]

    def _near(self, word: str, inside: Table | None, dense: bool) -> tuple[Neighbour, ...]:
        own = {term for each in word.split() for term in terms_of(each)}
        best: dict[tuple[str, ...], Neighbour] = {}
        for found in self._all_near(word, inside, dense):
            terms = tuple(term for each in found.word.split() for term in terms_of(each))
            known = best.get(terms)
            present = not own.issuperset(terms) and all(self._index.frequency(term, inside) for term in terms)
            better = known is None or (found.similarity > known.similarity and known.why != "spelling")
            if present and better:
                best[terms] = found
        return tuple(sorted(best.values(), key=lambda each: (-each.similarity, each.word)))

    def _all_near(self, word: str, inside: Table | None, dense: bool) -> Iterator[Neighbour]:
        acronyms = self._reader.acronyms
        for name in (*acronyms.long.get(word, ()), *acronyms.short.get(word, ())):
            yield Neighbour(name, EXPLAINED, "abbreviation")
        if " " not in word:
            for other in self._reader.short_forms.others(word):
                yield Neighbour(other, SHORT_FORM, "abbreviation")
            if self._reader.knows(word):
                yield from self._together(word)
            else:
                for other, likeness in self._reader.spelling.similar(word):
                    yield Neighbour(other, likeness, "spelling")
        if dense and self._dense is not None:
            yield from self._in_meaning(self._dense, word, inside)

    def _together(self, word: str) -> Iterator[Neighbour]:
        index = self._index
        # Speakers repeat their talks' words.
        places = [place for place in self._holders(word) if index.records[place].table != Table.SPEAKERS]
        size = len(index)
        for term, both in index.terms_in(places).items():
            if both >= _TOGETHER and self._telling(term):
                information = math.log(both * size / (len(places) * index.frequency(term)))
                if information > 0:
                    similarity = information / -math.log(both / size) if both < size else 1.0
                    # Few records in common say little, however rare the words are.
                    sure = both / (both + 1) * (least := min(len(places), index.frequency(term))) / (least + 1)
                    yield Neighbour(self._surface[(term,)], min(1.0, similarity) * sure, "co-occurrence")

    def _in_meaning(self, dense: DenseSearch, word: str, inside: Table | None) -> Iterator[Neighbour]:
        """The nearest words among those that the records nearest in meaning share."""
        index = self._index
        table = inside or next((each for each in Table if len(index.of_table[each])), Table.SESSIONS)
        nearest = dense.nearest_records(word, table, _NEAREST_RECORDS)
        weights = {
            term: count * math.log(count * len(index) / (len(nearest) * index.frequency(term)))
            for term, count in index.terms_in(nearest).items()
            if count > 1 and self._telling(term)
        }
        own = dense.word_vector(word)
        for term in sorted(weights, key=lambda each: (-weights[each], each))[:_CANDIDATES]:
            other = self._surface[(term,)]
            cosine = float(own @ dense.word_vector(other))
            if cosine > dense.usual:
                yield Neighbour(other, min(1.0, cosine), "meaning")

    def _holders(self, word: str) -> list[int]:
        sets = [set(self._index.records_with(term).tolist()) for term in terms_of(word)]
        return sorted(set[int].intersection(*sets)) if sets else []

    def _telling(self, term: str) -> bool:
        """Whether a term may be a neighbour: no number, no person's name, and nothing that every fifth record has."""
        word = self._surface.get((term,), "")
        common = max(len(self._index) // 5, _TOGETHER)
        little = word in STOP_WORDS or word in self._index.names or word.isdigit()
        return len(word) > 2 and not little and self._index.frequency(term) <= common
