"""The narrow port to an engine of jobs: submit, claim, finish or give back, cancel, list.

One run of a graph is one job. Its state stays in the checkpointer and its history in the run store; an engine only
decides who works on it. Whoever works on it beats as long as it lives: a job whose worker is gone is somebody else's.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class Job:
    """One run that is to go on."""

    run_id: str
    """The run; its jobs go one after another."""
    workflow: str
    """Its workflow."""
    priority: int = 0
    """Higher ones go first; among equals who came first."""
    answer: Any = None
    """What a run that waits is answered."""
    cancelled: bool = False
    """Whether it is only to be ended."""
    given: Mapping[str, Any] | None = None
    """Its input as it was given, secrets included, for whoever works on it; None for the kept one."""
    id: int = 0
    """The engine's own number; 0 before it is claimed."""


@dataclass(frozen=True, kw_only=True)
class Served:
    """What a process works on, and what it wants to hear."""

    queues: Sequence[str]
    """The workflows, and ``WORKFLOW@STRUCTURE`` for the graphs that it has of them; none to work on nothing."""
    cancel: Callable[[str], object]
    """Called with a run that is worked on here and is to be ended."""
    changed: Callable[[str], object]
    """Called with a run of which something new is kept."""


class Jobs(Protocol):
    """An engine of jobs. Belongs to one event loop."""

    @property
    def shared(self) -> bool:
        """Whether other processes work on the same jobs."""
        ...

    @property
    def waiting(self) -> int:
        """How many jobs wait, as far as that is known by now."""
        ...

    async def open(self, served: Served) -> None:
        """Begin to beat, if this process works on anything, and to listen.

        Raises:
            StoreError: If the engine cannot be used.
        """
        ...

    async def submit(self, job: Job) -> None:
        """Let a job wait for its turn; where one of the same run waits already, that one stays."""
        ...

    async def claim(self) -> Job:
        """Wait for the next job that this process is to work on; nobody else has it then."""
        ...

    async def finish(self, job: Job) -> None:
        """Take note that nothing is left to do."""
        ...

    async def give_back(self, job: Job, *, alone: bool = False, graph: str | None = None) -> None:
        """Let somebody else go on with a job.

        Args:
            job: The job.
            alone: Whether it is to go while no other of this kind does: it may be what ends its workers.
            graph: The structure of the graph that it needs, if not anyone will do.
        """
        ...

    async def drop(self, job: Job) -> None:
        """Take note that somebody else has a job by now."""
        ...

    async def cancel(self, run_id: str) -> bool:
        """Take the waiting job of a run away, or tell who works on it; whether nobody does."""
        ...

    async def list(self) -> Sequence[str]:
        """The runs whose jobs wait or are worked on."""
        ...

    async def close(self) -> None:
        """Stop beating; what is worked on here is somebody else's a moment later."""
        ...
