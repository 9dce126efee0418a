"""A question as words, each of which is read at most once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from loopwright.workflows.assistant.understanding.spelling import plain

FREE = ""
"""The kind of a word that no reader has taken."""

REFUSED = "refused"
"""The kind of words that name what is not wanted."""

_WORD = re.compile(r"([^\W_]+?n['’]t\b|[^\W_]+)(['’](?:s|m|d|ll|ve|re)\b)?(?:(?<=s)['’](?![^\W_]))?", re.IGNORECASE)
_CLITIC = re.compile(r"['’](?:s|m|d|ll|ve|re)", re.IGNORECASE)
_TAIL = re.compile(r"[+#]+")
_LINKS = frozenset("in on at the from by during of for to inside within with held and or".split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its place."""

    text: str
    """As it stands, without a possessive ending."""
    key: str
    """Without case and accents."""
    start: int
    """Where it begins, in characters."""
    end: int
    """Where it ends, with its possessive ending."""
    possessive: bool
    """Whether it ends in 's, which is also how "is" is shortened."""

    @property
    def capitalised(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.text[0].isupper()

    @property
    def is_acronym(self) -> bool:
        """Whether it has two capitals or more and no small letter."""
        return len(self.text) > 1 and self.text.isupper()


class Words:
    """The words of a question, and which reader has taken each of them."""

    def __init__(self, text: str) -> None:
        """Split a question.

        Args:
            text: The question.
        """
        self.text = text
        """The question as it stands."""
        self.words = [
            Word(
                m[1], plain(m[1].replace("'", "").replace("’", "")), m.start(), m.end(), (m[2] or "")[1:] in ("s", "S")
            )
            for m in _WORD.finditer(text)
            if not _CLITIC.fullmatch(text, max(m.start() - 1, 0), m.end())
        ]
        """Its words, in order."""
        self.kinds = [FREE] * len(self.words)
        """What each word was taken for; `FREE` if for nothing yet."""

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, i: int) -> Word:
        return self.words[i]

    def key(self, i: int) -> str:
        """The key of a word, empty beyond either end.

        Args:
            i: Its place, from 0; may be beyond either end.
        """
        return self.words[i].key if 0 <= i < len(self.words) else ""

    def free(self, first: int, last: int) -> bool:
        """Whether no word from `first` to `last` is taken.

        Args:
            first: The first word.
            last: The last word, inclusive.
        """
        return not any(self.kinds[first : last + 1])

    def take(self, first: int, last: int, kind: str) -> None:
        """Note what the words from `first` to `last` were taken for.

        Args:
            first: The first word.
            last: The last word, inclusive.
            kind: What for.
        """
        self.kinds[first : last + 1] = [kind] * (last + 1 - first)

    def within(self, start: int, end: int) -> tuple[int, int] | None:
        """The first and the last word that lie in a stretch of the text, or None without any.

        Args:
            start: Where the stretch begins, in characters.
            end: Where it ends.
        """
        inside = [i for i, word in enumerate(self.words) if word.start < end and word.end > start]
        return (inside[0], inside[-1]) if inside else None

    def take_span(self, start: int, end: int, kind: str) -> bool:
        """Take the words in a stretch of the text, unless one of them is taken.

        Args:
            start: Where the stretch begins, in characters.
            end: Where it ends.
            kind: What for.

        Returns:
            Whether they were taken.
        """
        place = self.within(start, end)
        if place is None or not self.free(*place):
            return False
        self.take(*place, kind)
        return True

    def phrases(self, longest: int) -> Iterator[tuple[int, int, str]]:
        """The free phrases, the longest first: first word, last word, and their keys as one string.

        Args:
            longest: The most words of a phrase.
        """
        for size in range(min(longest, len(self.words)), 0, -1):
            for first in range(len(self.words) - size + 1):
                if self.free(first, first + size - 1):
                    yield first, first + size - 1, self.joined(first, first + size - 1)

    def joined(self, first: int, last: int) -> str:
        """The keys of the words from `first` to `last` as one string.

        Args:
            first: The first word.
            last: The last word, inclusive.
        """
        return "".join(word.key for word in self.words[first : last + 1])

    def shown(self, first: int, last: int) -> str:
        """The text from one word to another, with what belongs to the last, as the plus signs of "C++".

        Args:
            first: The first word.
            last: The last word, inclusive.
        """
        word = self.words[last]
        tail = _TAIL.match(self.text, word.end)
        end = tail.end() if tail else word.start + len(word.text)
        return self.text[self.words[first].start : end]

    def absorb_links(self) -> None:
        """Take the small words before a taken stretch with it, as "on the" of "on the first day"."""
        for i in range(len(self.words) - 2, -1, -1):
            if not self.kinds[i] and self.kinds[i + 1] not in (FREE, "title") and self.words[i].key in _LINKS:
                self.kinds[i] = self.kinds[i + 1]

    def runs(self, *, kinds: Iterable[str] = (FREE,)) -> list[tuple[int, int]]:
        """Where words of certain kinds stand together, in order.

        Args:
            kinds: The kinds; only free words by default.

        Returns:
            First and last word of each stretch.
        """
        wanted, found = set(kinds), list[tuple[int, int]]()
        for i, kind in enumerate(self.kinds):
            if kind not in wanted:
                continue
            if found and found[-1][1] == i - 1:
                found[-1] = (found[-1][0], i)
            else:
                found.append((i, i))
        return found
