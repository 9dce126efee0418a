"""What a run history can do; `open_runs` gives one on SQLite or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from loopwright.diagram.shown import ShownGraph
from loopwright.runs.schemas import Channel, KeptComparison, PromptVersion, RunFilter, RunPage, RunRecord


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event as it is kept and sent."""

    seq: int
    """Its number in its channel of the run, from 1."""
    name: str
    """Its tag."""
    data: str
    """The event as JSON in one line."""


@dataclass(frozen=True, slots=True)
class NewEvents:
    """Events to add to a run."""

    run_id: str
    """The run."""
    channel: Channel
    """Which of its channels."""
    events: Sequence[KeptEvent]
    """The events, with the numbers that follow those kept."""
    epoch: int = 0
    """The attempt of the run that made them."""


def within(events: Iterable[KeptEvent], size: int | None) -> Iterator[KeptEvent]:
    """The first of some events.

    Args:
        events: The events in order.
        size: Characters of JSON that they have together at most, None for any number; the first is given whatever it
            has.
    """
    taken = 0
    for number, event in enumerate(events):
        taken += len(event.data)
        if number and size is not None and taken > size:
            return
        yield event


@dataclass(frozen=True, slots=True)
class Charge:
    """What is to be added to what was spent under a key; negative amounts give back."""

    key: str
    """What it is counted under."""
    amounts: Mapping[str, int]
    """``model_calls``, ``tokens`` and ``usd`` -> how much; ``usd`` in units of 1e-12."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of these, what must not be exceeded."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A charge that would have gone beyond a limit."""

    charge: Charge
    """Which."""
    resource: str
    """The limit."""
    spent: int
    """How much of it is spent."""


class RunStore(Protocol):
    """A run history. Methods block and may be called from any thread; each is one transaction.

    Every method raises `StoreError` if the database fails, ``transient=True`` where another attempt may succeed.
    """

    def create(self, run: RunRecord, graph: ShownGraph) -> None:
        """Keep a new run.

        Args:
            run: The run.
            graph: Its graph, kept with it: the workflow may look otherwise later.

        Raises:
            InputError: If there is one with this id.
        """
        ...

    def write(self, runs: Iterable[RunRecord] = (), events: Iterable[NewEvents] = ()) -> None:
        """Keep what happened, in one transaction: either all of it or nothing.

        Args:
            runs: Runs as they are now; a run that is not kept (any more) is passed over.
            events: New events; those of a run that is not kept are passed over.

        Raises:
            AttemptLost: If a record or events are of an earlier attempt than the newest that began.
        """
        ...

    def begin(self, run: RunRecord) -> None:
        """Keep that a further attempt of a run begins: from now on nothing of an earlier one is kept.

        Args:
            run: The run as it is now, with the epoch that follows the one kept.

        Raises:
            AttemptLost: If somebody else was faster.
            InputError: If the run is not kept.
        """
        ...

    def get(self, run_id: str) -> RunRecord | None:
        """A run with its children, or None if it is not kept."""
        ...

    def graph(self, run_id: str) -> ShownGraph | None:
        """The graph that a run ran on, or None if the run is not kept."""
        ...

    def events(
        self, run_id: str, channel: Channel = "run", after: int = 0, limit: int = 1000, size: int | None = None
    ) -> list[KeptEvent]:
        """Events of a run in order.

        Args:
            run_id: The run.
            channel: Which of its channels.
            after: The number of the last event that is known, 0 for none.
            limit: How many at most.
            size: Characters of JSON that they have together at most; the first is given whatever it has.
        """
        ...

    def count(self, run_id: str, channel: Channel = "run") -> int:
        """How many events a run has."""
        ...

    def list(self, wanted: RunFilter, limit: int = 50, before: str | None = None) -> RunPage:
        """Runs, newest first.

        Args:
            wanted: Which.
            limit: How many at most.
            before: What the part before gave as ``next``.

        Raises:
            InputError: If `before` is nothing that a page gave.
        """
        ...

    def delete(self, run_id: str) -> bool:
        """Forget a run with its events; its children stay, and name a parent that is not kept.

        Returns:
            Whether it was kept.
        """
        ...

    def prune(self, *, older_than: datetime | None = None, keep: int | None = None) -> Sequence[str]:
        """Forget old runs that have ended; demonstrations stay.

        Args:
            older_than: Runs that began before this moment go.
            keep: Of the rest the newest so many stay, for each workflow.

        Returns:
            The ids of what was forgotten.
        """
        ...

    def claim(self) -> None:
        """Be the one server of a history in a file until it is closed, or its process ends, however that is.

        One in PostgreSQL may have any number of servers and workers.

        Raises:
            StoreError: If another one has it. Who only reads, or forgets old runs, needs no claim.
        """
        ...

    def prompt_versions(self, workflow: str, prompt: str | None = None) -> Sequence[PromptVersion]:
        """The versions that people wrote, by prompt and version; those that ship with the package are not here.

        Args:
            workflow: The workflow.
            prompt: One of its prompts; None gives all.
        """
        ...

    def keep_prompt(self, version: PromptVersion) -> None:
        """Keep a version of a prompt.

        Raises:
            InputError: If this version exists: somebody else was faster.
        """
        ...

    def assignments(self, workflow: str) -> dict[str, str | None]:
        """The chat models that people chose: node -> model; None for no model."""
        ...

    def assign(self, workflow: str, node: str, model: str | None, *, clear: bool = False) -> None:
        """Keep which chat model serves a node.

        Args:
            workflow: The workflow.
            node: The node, or ``default``.
            model: The model, or None for no model.
            clear: Forget the choice instead, so that the configuration's holds again.
        """
        ...

    def comparisons(self, run_id: str | None = None) -> Sequence[KeptComparison]:
        """Comparisons, newest first."""
        ...

    def keep_comparison(self, comparison: KeptComparison) -> None:
        """Keep a comparison, in place of an earlier one of the same two runs."""
        ...

    def charge(self, charges: Sequence[Charge]) -> Refused | None:
        """Add to what was spent, all of it or, where one goes beyond a limit, nothing; however many ask at once.

        Returns:
            None, or the first that was refused.
        """
        ...

    def stats(self) -> dict[str, Any]:
        """How much is kept: ``runs`` by status, ``events``, ``bytes`` on disk where that is known."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...
