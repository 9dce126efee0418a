"""Who goes on now, and who waits for a turn."""

from __future__ import annotations

import asyncio
from typing import Literal


class Line:
    """Lets so many runs go on at once; the others wait in the order in which they came. Belongs to one event loop."""

    def __init__(self, most: int) -> None:
        """Begin empty.

        Args:
            most: How many may go on at once.
        """
        self._most = most
        self._on: set[str] = set()
        self._waiting: dict[str, asyncio.Event] = {}

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def join(self, run_id: str) -> None:
        """Give a run the last place; where there is room it has its turn at once."""
        self._waiting[run_id] = asyncio.Event()
        self._move_up()

    def leave(self, run_id: str) -> None:
        """Take a run out, wherever it is; again does nothing."""
        self._on.discard(run_id)
        self._waiting.pop(run_id, None)
        self._move_up()

    def status(self, run_id: str) -> Literal["running", "queued"]:
        """How a run in the line stands."""
        return "running" if run_id in self._on else "queued"

    async def turn(self, run_id: str) -> None:
        """Wait until it is a run's turn."""
        if place := self._waiting.get(run_id):
            await place.wait()

    def _move_up(self) -> None:
        while self._waiting and len(self._on) < self._most:
            first = next(iter(self._waiting))
            self._on.add(first)
            self._waiting.pop(first).set()
