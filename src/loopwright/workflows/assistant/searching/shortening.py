"""Short forms of names that no text explains: parts of a name, its initials, and its letters counted."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from math import ceil

from loopwright.workflows.assistant.searching.english import english_words
from loopwright.workflows.assistant.searching.index import RecordIndex, facet_texts
from loopwright.workflows.assistant.searching.words import plain_words, terms_of

SHORT_FORM = 0.85
"""What a short form is worth for the name, and the other way round."""
_SHORTEST = 4
_MOST_OF_IT = 0.7  # A beginning of so much of a name can hardly be that of another.
_COMMONER = 5  # What is nearly as common as the name stands for itself, as "java" in "javascript".
_COUNTED_LETTERS = 6
_TOGETHER = 3
_MORE_THAN_CHANCE = 3.0
_KEPT = 2
_SHORT = re.compile(r"([a-z])(\d{1,2})([a-z])")
_HUMPED = re.compile(r"\b[A-Za-z]*[a-z][A-Z][A-Za-z]*\b")
_HUMP = re.compile(r"^[a-z]|[A-Z]+")


class ShortForms:
    """Links short and long forms among the words of a conference; never changed once made, safe in threads."""

    def __init__(self, index: RecordIndex) -> None:
        """Learn the names with capitals inside, as JavaScript, and sort the words.

        Args:
            index: The records.
        """
        self._index = index
        self._sorted = sorted(index.surfaces)
        self._initials = self._learnt()
        self.others = lru_cache(maxsize=4096)(self._others)
        """The words of the conference that a word is a short form of, or that are short forms of it.

        Letters counted: "k8s" is the commonest word of ten letters from k to s. A beginning: "postgres" is most of
        "postgresql"; "kube" is the beginning of few words but "kubernetes", which is far commoner. Initials: "js"
        is what the capitals of JavaScript give, and stands in its records more often than by chance. Correct English
        words and names of persons are no beginnings.

        Args:
            word: A folded word.

        Returns:
            At most a few words, each once.
        """

    def _others(self, word: str) -> tuple[str, ...]:
        found = dict.fromkeys((*self._counted(word), *self._initials.get(word, ()), *self._cut(word)))
        return tuple(other for other in found if terms_of(other) != terms_of(word))

    def _counted(self, word: str) -> Iterator[str]:
        surfaces = self._index.surfaces
        match = _SHORT.fullmatch(word)
        if match and int(match[2]) >= _COUNTED_LETTERS:
            length = int(match[2]) + 2
            whole = [each for each in self._beginning(match[1]) if len(each) == length and each.endswith(match[3])]
            yield from sorted((each for each in whole if each.isalpha()), key=lambda each: -surfaces[each])[:1]
        elif word.isalpha() and len(word) - 2 >= _COUNTED_LETTERS:
            counted = f"{word[0]}{len(word) - 2}{word[-1]}"
            # Several words may have the same form, which then stands for the commonest of them.
            yield from (counted,) if counted in surfaces and word in self._counted(counted) else ()

    def _cut(self, word: str) -> Iterator[str]:
        if len(word) < _SHORTEST or not self._may_be_cut(word):
            return
        surfaces = self._index.surfaces
        longer = [each for each in self._beginning(word) if len(each) > len(word) + 1 and self._may_be_cut(each)]
        longer.sort(key=lambda each: -surfaces[each])
        near = [each for each in longer if len(word) >= _MOST_OF_IT * len(each)]
        if near:
            yield from near[:_KEPT]
        elif longer and surfaces[longer[0]] >= max(
            _COMMONER * max(1, surfaces[word]), sum(surfaces[each] for each in longer[1:])
        ):
            yield longer[0]
        shortest = max(_SHORTEST, ceil(_MOST_OF_IT * len(word)))
        cuts = (word[:end] for end in range(len(word) - 2, shortest - 1, -1))
        yield from islice((each for each in cuts if surfaces[each] and self._may_be_cut(each)), 1)

    def _may_be_cut(self, word: str) -> bool:
        return word.isalpha() and word not in english_words() and word not in self._index.names

    def _beginning(self, start: str) -> list[str]:
        return self._sorted[bisect_left(self._sorted, start) : bisect_left(self._sorted, start + "\U0010ffff")]

    def _learnt(self) -> dict[str, tuple[str, ...]]:
        names = {
            name for record in self._index.records for _, text in facet_texts(record) for name in _HUMPED.findall(text)
        }
        found: dict[str, dict[str, None]] = {}
        for name in sorted(names):
            whole, initials = "".join(plain_words(name)), "".join(hump[0] for hump in _HUMP.findall(name)).lower()
            if len(initials) > 1 and self._together(whole, initials):
                found.setdefault(initials, {})[whole] = None
                found.setdefault(whole, {})[initials] = None
        return {word: tuple(others) for word, others in found.items()}

    def _together(self, name: str, initials: str) -> bool:
        index = self._index
        if not index.surfaces[initials] or initials in english_words() or terms_of(name) == terms_of(initials):
            return False
        holders = [set(index.records_with(terms_of(word)[0]).tolist()) for word in (name, initials)]
        both = len(holders[0] & holders[1])
        return both >= _TOGETHER and both * len(index) > _MORE_THAN_CHANCE * len(holders[0]) * len(holders[1])
