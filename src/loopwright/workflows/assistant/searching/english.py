"""Which words are correct English, so that they are not taken for mistyped ones."""

from __future__ import annotations

from functools import cache
from importlib import resources

_LIST = "frequency_dictionary_en_82_765.txt"


@cache
def english_words() -> frozenset[str]:
    """The 82,765 words, inflected forms among them, in lower case, that the package symspellpy brings.

    Sources: the lists of SCOWL and the counts of Google Books, as joined by W. Garbe for SymSpell.
    """
    lines = (resources.files("symspellpy") / _LIST).read_text(encoding="utf-8-sig").splitlines()
    return frozenset(line.partition(" ")[0] for line in lines)
