"""How texts and questions become words that can be compared."""

from __future__ import annotations

import re
from functools import lru_cache

from loopwright.retrieval.text import LETTER, STOP_WORDS, fold, terms

_WORD = re.compile(f"{LETTER}+")
_ENDING = re.compile(r"(?<=\w)['’](?:s|t|d|m|re|ve|ll)\b")
# Letters that have no accent to take off, as people type them who do not have them on their keyboard.
_LATIN = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})


def plain_words(text: str) -> list[str]:
    """The words of a text, in order, without differences of case, width, accents and foreign letters.

    Args:
        text: Any text.
    """
    return _WORD.findall(fold(text).translate(_LATIN))


@lru_cache(maxsize=65536)
def terms_of(word: str) -> tuple[str, ...]:
    """The terms that a plain word is compared by: its stem, or the overlapping pieces of an unspaced script.

    Args:
        word: A word as `plain_words` gives it.
    """
    return tuple(terms(word))


def asked_words(text: str) -> list[str]:
    """The words of a question, each once, in order: without stop words where others are left.

    Args:
        text: The question.
    """
    words = list(dict.fromkeys(plain_words(_ENDING.sub("", text))))
    return [word for word in words if word not in STOP_WORDS] or words
