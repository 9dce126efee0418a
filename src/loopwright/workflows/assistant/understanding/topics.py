"""What a question is about, without the words that ask, filter or greet."""

from __future__ import annotations

from collections.abc import Collection

from loopwright.workflows.assistant.understanding.frames import (
    ARTICLES,
    BARE,
    LEADING,
    ROOM_NOUNS,
    SESSION_NOUNS,
    TOPIC_MARKS,
    TRAILING,
)
from loopwright.workflows.assistant.understanding.words import FREE, Words

TITLE = "title"
"""The kind of words that are a title, which is a topic and nothing else."""

_BEFORE_GO = frozenset("i we you to should can could must shall may might one".split())
_OWN_WORDS = frozenset("i im my we".split())
_AFTER_GO = frozenset("to see".split())


def topic_of(words: Words, own_names: Collection[str]) -> str:
    """The topic of a question whose filters are read; empty if it has none.

    What stands between the filters is trimmed on both sides: words that ask on the left up to a word such as "about",
    words for sessions on the right. The inside stays as it was written, for its meaning may hang on it.

    Args:
        words: The question.
        own_names: The plain words of the conference's own name, which say nothing there.
    """
    pieces: list[str] = []
    for first, last in words.runs(kinds=(FREE, TITLE)):
        trimmed = _trimmed(words, first, last, own_names)
        if trimmed:
            pieces.append(words.shown(*trimmed))
    return " ".join(pieces)


def _trimmed(words: Words, first: int, last: int, own_names: Collection[str]) -> tuple[int, int] | None:
    first = _front(words, first, last, own_names)
    while last >= first and not words.kinds[last] and _says_nothing(words, last, TRAILING, own_names):
        # "lock-in" is one word.
        if words.text[words[last].start - 1 : words[last].start] == "-" and last > first:
            break
        last -= 1
    rest = range(first, last + 1)
    if all(not words.kinds[i] and words.key(i) in BARE and _says_nothing(words, i, BARE, own_names) for i in rest):
        return None
    return first, last


def _front(words: Words, first: int, last: int, own_names: Collection[str]) -> int:
    """Where the topic begins: after the last word that asks, and at the latest after a word such as "about"."""
    first = _after_own_words(words, first, last)
    while first <= last and not words.kinds[first]:
        key = words.key(first)
        if key in TOPIC_MARKS and first < last and not (key == "on" and words.key(first - 1) in ("is", "are", "whats")):
            first += 1
            while first < last and words.key(first) in ARTICLES:
                first += 1
            return first
        if not _says_nothing(words, first, LEADING, own_names):
            return first
        first += 1
    return first


def _after_own_words(words: Words, first: int, last: int) -> int:
    """What people say of themselves before "talks about ..." is no topic."""
    for i in range(first + 1, last):
        named = words.key(i - 1) in SESSION_NOUNS or words.key(i - 1) in ("something", "anything")
        if words.key(i) in TOPIC_MARKS and named and words.free(first, i):
            own = any(words.key(j) in _OWN_WORDS for j in range(first, i))
            return i if own else first
    return first


def _says_nothing(words: Words, i: int, frame: frozenset[str], own_names: Collection[str]) -> bool:
    word = words[i]
    if word.is_acronym and not words.text.isupper() and word.key not in own_names:
        return False
    if word.key == "go":
        spoken = words.key(i - 1) in _BEFORE_GO or words.key(i + 1) in _AFTER_GO
        return spoken and not word.capitalised
    if word.key in own_names or word.key in frame:
        return True
    beside = words.kinds[i - 1] if i else FREE
    return word.key in ROOM_NOUNS and beside not in (FREE, TITLE)
