"""Exhibitors in a question: by name, without accents, with typing errors."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loopwright.workflows.assistant.understanding.frames import BARE
from loopwright.workflows.assistant.understanding.spelling import by_length, near, squash, words_of
from loopwright.workflows.assistant.understanding.topics import TITLE
from loopwright.workflows.assistant.understanding.words import FREE, Words

_ASIDE = re.compile(r"\s*[(（][^)）]*[)）]|\s+[-–—|]\s.*|,.*")
_LONGEST = 8
_FEW = 5
"""A name in no more sessions than this is no topic of the conference."""
_ASKED_FOR = re.compile(
    r"\b(?:tell\s+me\s+(?:more\s+)?about|who\s+(?:is|are)|who['’]s|what\s+(?:is|are|does|do)|where\s+(?:is|are|can|do)|find|visit|meet)\b",
    re.IGNORECASE,
)


class ExhibitorNames:
    """All that the exhibitors of a conference may be called."""

    def __init__(self, exhibitors: Iterable[str]) -> None:
        """Derive short forms: without what follows a dash or stands in brackets.

        Args:
            exhibitors: Names as the list of exhibitors has them.
        """
        names = defaultdict[str, set[str]](set)
        for name in exhibitors:
            for written in (name, _ASIDE.sub("", name), name.replace("&", " and ")):
                words = words_of(written)
                names["".join(words)].add(name)
                if words[:1] == ["the"]:
                    names["".join(words[1:])].add(name)
        names.pop("", None)
        self.names: Mapping[str, set[str]] = names
        """A name as one string -> the exhibitors of that name."""
        self.by_length: Mapping[int, Sequence[str]] = by_length(names)
        """The names as one string each, by their length."""


@dataclass(frozen=True, slots=True)
class Exhibitors:
    """What a question says of exhibitors."""

    named: bool = False
    """Whether one is named."""
    alone: bool = False
    """Whether it is about nothing else."""
    first: bool = False
    """Whether the exhibitor itself is asked for, and not what is said about it."""


def take_exhibitors(words: Words, names: ExhibitorNames) -> bool:
    """Take the exhibitors' names of several words, so that no part of one is read as something else.

    Args:
        words: The question; the names are taken as titles.
        names: The exhibitors.

    Returns:
        Whether there is one.
    """
    found = False
    for first, last, alias in list(words.phrases(_LONGEST)) if names.names else ():
        if first == last or not words.free(first, last):
            continue
        if alias in names.names or _is_mistyped(words, first, last, alias, names):
            words.take(first, last, TITLE)
            found = True
    return found


def _is_mistyped(words: Words, first: int, last: int, alias: str, names: ExhibitorNames) -> bool:
    """Whether words that are all written with a capital letter are nearly an exhibitor's name."""
    capital = all(words[i].capitalised and words.key(i) not in BARE for i in range(first, last + 1))
    return capital and any(name[0] == alias[0] for name in near(alias, names.by_length))


def read_exhibitors(words: Words, names: ExhibitorNames, spread: Mapping[str, int], *, taken: bool) -> Exhibitors:
    """Whether a question asks for an exhibitor; read once all else but the tables is.

    Args:
        words: The question.
        names: The exhibitors.
        spread: Word -> in how many sessions it stands.
        taken: Whether `take_exhibitors` found a name.
    """
    if not names.names:
        return Exhibitors()
    about = [i for i in range(len(words)) if words.kinds[i] == FREE and words.key(i) not in BARE]
    if taken:
        return Exhibitors(named=True, alone=not about, first=True)
    if not about or any(words.kinds[i] == TITLE for i in range(len(words))):
        return Exhibitors()
    said = squash(words.text[words[about[0]].start : words[about[-1]].end])
    rare = all(spread.get(words.key(i), 0) <= _FEW for i in about)
    if said in names.names or (rare and near(said, names.by_length)):
        asked = rare and bool(_ASKED_FOR.search(words.text))
        return Exhibitors(named=True, alone=True, first=asked)
    return Exhibitors()
