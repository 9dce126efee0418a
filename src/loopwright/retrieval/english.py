"""How common English words are, so that what a word says needs no list of words that say nothing."""

import math
from collections import Counter
from functools import cache
from importlib import resources

from loopwright.retrieval.text import stem

_LIST = "frequency_dictionary_en_82_765.txt"
_SAYS_NOTHING = 5.0
_SAYS_ALL = 14.0


@cache
def english_words() -> dict[str, int]:
    """The 82,765 words in lower case, inflected forms among them, and how often each was counted.

    Sources: the lists of SCOWL and the counts of Google Books, as joined by W. Garbe for SymSpell; the package
    symspellpy brings them.
    """
    lines = (resources.files("symspellpy") / _LIST).read_text(encoding="utf-8-sig").splitlines()
    return {word: int(count) for word, _, count in (line.partition(" ") for line in lines)}


def rarity(word: str) -> float:
    """How much a word says by its rarity in English: 0 for "the", .6 for "company", 1.1 for "founded".

    Its information in bits, from 5 (0) to 14 (1) and beyond; a word that the list does not know, and so one of another
    language, counts as rare (1.6).
    """
    bits = -math.log2((english_words().get(word, 0) + 200_000) / _total())
    return max(0.0, (bits - _SAYS_NOTHING) / (_SAYS_ALL - _SAYS_NOTHING))


@cache
def _total() -> int:
    return sum(english_words().values())


def share(term: str) -> float:
    """How much of English is some form of a term: the share of all words that have its stem, 0 for an unknown one."""
    return _stems().get(term, 0) / _total()


@cache
def _stems() -> dict[str, int]:
    found = Counter[str]()
    for word, count in english_words().items():
        found[stem(word)] += count
    return found
