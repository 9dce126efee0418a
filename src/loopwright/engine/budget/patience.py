"""The patience with a loop that makes no progress: rules that notice it, and what they compare states by."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, cast

from pydantic import BaseModel, NonNegativeInt, PositiveInt

from loopwright.engine.kinds import Declared


class Look(NamedTuple):
    """What a rule found."""

    stalled: bool
    """Whether there was no progress."""
    notes: list[Any]
    """What to remember if the pass is granted, in plain JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall(Declared):
    """No progress is when something comes again that should have changed, for example the plan or the query."""

    key: Callable[[Any], Any]
    """Reads from the state what must change from one request to the next; compared by content."""
    name: str = "same content"
    """What the event and the stop reason call it, for example ``"same plan"``."""
    remembers: NonNegativeInt = 3
    """With how many of the last granted requests it is compared; with one alone, A, B, A, B would go on; 0: never."""

    def look(self, state: Any, notes: list[Any]) -> Look:
        """Compare with the earlier requests, whose fingerprints the notes are."""
        note = fingerprint(self.key(state))
        return Look(note in notes, [*notes, note][max(0, len(notes) + 1 - self.remembers) :])


@dataclass(frozen=True, slots=True, kw_only=True)
class Plateau(Declared):
    """No progress is when a score has not improved by `epsilon` for so many passes."""

    key: Callable[[Any], float | None]
    """Reads the score from the state, higher is better; None when there is none yet, which is no evidence."""
    epsilon: float = 0.0
    """By how much a score must exceed the best one before it to count as better."""
    passes: PositiveInt = 2
    """How many passes in a row may go by without a better score."""
    name: str = "score does not improve"
    """What the event and the stop reason call it."""

    def look(self, state: Any, notes: list[Any]) -> Look:
        """Compare with the best score so far: the notes are that, and how many passes ago it was; empty at first."""
        score = self.key(state)
        if score is None or score != score:  # NaN is no evidence either
            return Look(False, notes)
        if not notes or score > notes[0] + self.epsilon:
            return Look(False, [float(score), 0])
        best, ago = notes
        return Look(ago + 1 >= self.passes, [best, ago + 1])


def normalised(text: str) -> str:
    """A text without what does not change its meaning as a query: case, width, punctuation, spaces.

    >>> normalised("  What is RAG? ") == normalised("what is rag")
    True
    """
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", folded))


def contents(items: Iterable[Any]) -> list[str]:
    """The fingerprints of items in an order of their own: the same evidence in another order is the same evidence."""
    return sorted({fingerprint(item) for item in items})


def fingerprint(value: Any) -> str:
    """A hash of a value's content, equal in every process, as JSON or pydantic writes it; the rest by its ``repr``."""
    try:
        text = json.dumps(value, sort_keys=True, default=_plain)
    except (TypeError, ValueError):  # keys that JSON cannot write or sort, or a value that holds itself
        text = repr(value)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> object:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, set | frozenset):
        return sorted(cast("set[object]", value), key=repr)
    if hasattr(value, "tobytes") and hasattr(value, "dtype") and not value.dtype.hasobject:
        return [str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()]
    items = value.tolist() if hasattr(value, "tolist") else None  # the repr of a long array leaves out its middle
    return items if isinstance(items, list) else repr(value)


class StallRule(Protocol):
    """A rule that notices a lack of progress: `Stall`, `Plateau`, or any frozen object with these two."""

    @property
    def name(self) -> str:
        """What the event and the stop reason call it."""
        ...

    def look(self, state: Any, notes: list[Any]) -> Look:
        """Judge the state by the notes of the granted requests before, and say what to note."""
        ...
