"""Other words for a word: what the programme may call the same."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from rapidfuzz import process
from rapidfuzz.distance import OSA

from loopwright.retrieval.english import english_words
from loopwright.retrieval.text import LETTER, SIGNED, STOP_WORDS, fold, terms
from loopwright.workflows.assistant.schemas import Record

WORD = re.compile(rf"{SIGNED}|(?:(?!\d){LETTER}){{2,}}")
"""A word of any script."""
_ACRONYM = re.compile(r"\(([A-Z][A-Za-z]{1,6})\)")
_BEFORE = 60
_SHORTEST, _LONG = 5, 8
_MOST = 3
_OFTEN = 5


class Vocabulary:
    """The words of all records; never changed once made, safe in threads."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.spread = Counter[str]()
        """Word, folded -> in how many records it stands."""
        self._short: dict[str, dict[str, None]] = defaultdict(dict)
        for record in records:
            text = " ".join([record.title, *record.texts.values()])
            self.spread.update([*dict.fromkeys(WORD.findall(fold(text)))])
            for match in _ACRONYM.finditer(text):
                if long := _spelled_out(text[max(0, match.start() - _BEFORE) : match.start()], match[1]):
                    self._short[fold(match[1])].setdefault(long)
                    self._short[long].setdefault(match[1])
        self._terms = {term for word in self.spread for term in terms(word)}
        self._by_letter: dict[str, list[str]] = defaultdict(list)
        for word in self.spread:
            if len(word) > 3:
                self._by_letter[word[0]].append(word)
        self.spelled = lru_cache(maxsize=2**12)(self._spelled)
        """The word of the programme that an unknown word was meant to be; empty if there is none."""

    def knows(self, word: str) -> bool:
        """Whether some form of a word stands in a record."""
        return all(term in self._terms for term in terms(word))

    def _spelled(self, word: str) -> str:
        word = fold(word)
        if len(word) < _SHORTEST - 1 or not word.isalpha() or self.knows(word) or word in english_words():
            return ""
        alike = [each for each in self._by_letter.get(word[0], ()) if abs(len(each) - len(word)) <= 2]
        near = process.extract(word, alike, scorer=OSA.distance, score_cutoff=2, limit=5)
        # Two slips in a short word make another one, unless it begins so and is often written here.
        often = {each for each in alike if each[:3] == word[:3] and self.spread[each] >= _OFTEN}
        likely = alike if len(word) >= _LONG else often if len(word) > _SHORTEST else ()
        near = [each for each in near if each[1] < 2 or each[0] in likely]
        best = min(near, key=lambda each: (each[1], -self.spread[each[0]]), default=None)
        return best[0] if best else ""

    def others(self, word: str) -> dict[str, str]:
        """Other words for a word, the surest first -> what kind each is: ``spelling``, ``form`` or ``short form``."""
        found = {spelled: "spelling"} if (spelled := self.spelled(word)) else {}
        found |= dict.fromkeys(self._short.get(" ".join(fold(word).split()), ()), "short form")
        if not found and " " not in word and not self.knows(word):
            found = dict.fromkeys(self._forms(fold(word)), "form")
        return dict(islice(found.items(), _MOST))

    def _forms(self, word: str) -> list[str]:
        """Words that begin alike, and the two words of which it is put together."""
        if len(word) < _SHORTEST:
            return []
        halves = ((word[:place], word[place:]) for place in range(3, len(word) - 2))
        parts = [f"{one} {other}" for one, other in halves if self.spread[one] > 1 and self.spread[other] > 1]
        stem = word[: max(_SHORTEST, len(word) - 3)]
        alike = self._by_letter.get(word[0], ())
        begins = [each for each in alike if each.startswith(stem) and len(each) - len(word) < 5]
        return [*parts, *sorted(begins, key=lambda each: -self.spread[each])]


def _spelled_out(before: str, short: str) -> str:
    """The words before a short form whose first letters are its own; empty if they are not."""
    words = WORD.findall(fold(before))
    letters = fold(short).rstrip("s")
    for count in range(len(letters), min(len(words), len(letters) + 2) + 1):
        told = words[-count:]
        initials = "".join(word[0] for word in told if count == len(letters) or word not in STOP_WORDS)
        if initials == letters:
            return " ".join(told)
    return ""
