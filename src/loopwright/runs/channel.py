"""One channel of a run that goes on: what waits to be kept, and what those who follow closely are given from memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from loopwright.runs.store.protocol import KeptEvent, within

TAIL = 256
"""Kept events of a channel that stay in memory for those who follow closely; earlier ones are read from the store."""

TAIL_SIZE = 2**20
"""Characters of JSON that these have together at most; the last one stays whatever it has."""


@dataclass
class Log:
    """One channel of a run that goes on."""

    made: int = 0
    """The number of the last event that was made."""
    kept: int = 0
    """The number of the last event that is kept."""
    size: int = 0
    """Characters of JSON of the events that this process made."""
    waiting: list[KeptEvent] = field(default_factory=list[KeptEvent])
    """Events that are not kept yet."""
    _tail: deque[KeptEvent] = field(default_factory=deque[KeptEvent], init=False)
    _tail_size: int = field(default=0, init=False)

    def publish(self, events: Sequence[KeptEvent]) -> None:
        """Take note of events that are kept now; earlier ones that followers are not to have from here are let go.

        Args:
            events: The events, with the numbers that follow those kept; at least one.
        """
        self.kept = events[-1].seq
        for event in events:
            self._tail.append(event)
            self._tail_size += len(event.data)
            while len(self._tail) > TAIL or (self._tail_size > TAIL_SIZE and len(self._tail) > 1):
                self._tail_size -= len(self._tail.popleft().data)

    def behind(self, after: int, limit: int, size: int | None) -> list[KeptEvent] | None:
        """The kept events behind one of them.

        Args:
            after: The number of the last event that is known, 0 for none.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.

        Returns:
            The events; None if they are not in memory any more.
        """
        if after >= self.kept:
            return []
        if not self._tail or self._tail[0].seq > after + 1:
            return None
        return [*within(islice((event for event in self._tail if event.seq > after), limit), size)]
