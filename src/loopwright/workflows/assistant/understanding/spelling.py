"""How names and words are compared: without case, accents and punctuation, and with typing errors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA

from loopwright.retrieval.text import fold

_TIME_WORDS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday tomorrow tonight morning afternoon evening between "
    "before weekend february january september october november december devroom keynote keynotes session "
    "sessions".split()
)
_DEV_ROOM = re.compile(r"\b(dev)[\s-](rooms?)\b", re.IGNORECASE)
WORD = re.compile(r"[^\W_]+")
"""A run of letters and digits of any script."""
_BASE_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"})
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


def plain(text: str) -> str:
    """A text without differences of case, width and accents, and with base letters for those that have no accent.

    Args:
        text: Any text.
    """
    folded = fold(text)
    return folded if folded.isascii() else folded.translate(_BASE_LETTERS)


def words_of(text: str) -> list[str]:
    """The plain words of a text, in order.

    Args:
        text: Any text.
    """
    return WORD.findall(plain(text))


def squash(text: str) -> str:
    """The plain words of a text as one string, so that "K.3.201", "K3.201" and "k 3 201" are one.

    Args:
        text: Any text.
    """
    return "".join(words_of(text))


def written_out(text: str) -> str:
    """A text with umlauts and the like as two letters, as in "Mueller"; the same text where there are none.

    Args:
        text: Any text.
    """
    return text.casefold().translate(_WRITTEN_OUT)


def allowed_errors(word: str) -> int:
    """How many typing errors a word may have and still be taken for another: none below 4 letters, 2 from 8 on.

    Args:
        word: A plain word.
    """
    return 0 if len(word) < 4 else 1 if len(word) < 8 else 2


def by_length(known: Iterable[str]) -> dict[int, list[str]]:
    """Words by their length, which says at once which of them are too far from a mistyped one.

    Args:
        known: Plain words.
    """
    found = defaultdict[int, list[str]](list)
    for word in dict.fromkeys(known):
        found[len(word)].append(word)
    return dict(found)


def near(word: str, known: Mapping[int, Sequence[str]], *, most: int | None = None) -> dict[str, int]:
    """The known words that a word may be a mistyped form of.

    The distance is the optimal string alignment: insertions, deletions, substitutions and swaps of neighbours.

    Args:
        word: A plain word.
        known: Plain words, as `by_length` gives them.
        most: The most errors; None for `allowed_errors`.

    Returns:
        Known word -> errors, those with the fewest first.
    """
    limit = allowed_errors(word) if most is None else most
    lengths = range(len(word) - limit, len(word) + limit + 1)
    alike = [name for length in lengths for name in known.get(length, ())]
    if not limit:
        return {word: 0} if word in alike else {}
    found: Iterable[tuple[str, float, object]] = process.extract(
        word, alike, scorer=OSA.distance, score_cutoff=limit, limit=None
    )
    return {name: int(errors) for name, errors, _ in sorted(found, key=lambda match: (match[1], match[0]))}


def corrected(question: str, *known: Container[str]) -> str:
    """A question with mistyped words of time put right, as "saterday"; words of the conference are left alone.

    Args:
        question: The question.
        *known: Plain words of the conference; a word that is among them is not mistyped.
    """

    def right(match: re.Match[str]) -> str:
        key = plain(match[0])
        spoken = key in _TIME_WORDS or key.removesuffix("s") in _TIME_WORDS
        if len(key) < 6 or spoken or not match[0].isascii() or any(key in words for words in known):
            return match[0]
        return next(iter(near(key, _TIMES_BY_LENGTH, most=1 if len(key) < 8 else 2)), match[0])

    return WORD.sub(right, _DEV_ROOM.sub(r"\1\2", question))


_TIMES_BY_LENGTH = by_length(_TIME_WORDS)
