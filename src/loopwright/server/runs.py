"""Runs that go on by themselves, and what happened in each of them; clients come, go, and come back."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from loopwright.engine.following import closing
from loopwright.server.problems import INTERNAL, Problem, problem_of

logger = logging.getLogger(__name__)

RunState = Literal["running", "finished", "failed", "cancelled"]
"""``failed``: it ended without an answer; ``cancelled``: somebody asked it to end, or the server stopped."""

ANSWERED, FAILED = "done", "error"
"""The events of which every run has at least one."""

STOPPING = 5.0
"""Seconds that a cancelled run has to clean up before `Runs.cancel` and `Runs.close` go on without it."""


class StreamedEvent(Protocol):
    """What a run yields: a tagged value that knows how to become JSON."""

    @property
    def event(self) -> str:
        """The tag."""
        ...

    def model_dump_json(self, *, exclude: set[str]) -> str:
        """The value as JSON, without the fields named."""
        ...


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """An event as it is sent."""

    name: str
    """Its tag."""
    data: str
    """The rest as JSON, in one line."""


@dataclass(frozen=True)
class RunLimits:
    """How much runs may hold, together and each, and how long their clients are waited for."""

    running: int = 1000
    """Runs at the same time; a further one is refused."""
    seconds: float = 900.0
    """The longest that a run may take."""
    events: int = 10_000
    """Events of one run."""
    event_bytes: int = 4 * 2**20
    """Characters of JSON of one run's events."""
    kept_seconds: float = 600.0
    """How long a run can be read after its end."""
    kept_runs: int = 1000
    """Ended runs that can be read; the oldest goes first."""
    kept_bytes: int = 64 * 2**20
    """Characters of JSON of all ended runs together; the oldest goes first, the newest stays."""
    keep_alive: float = 15.0
    """Seconds without an event after which a comment is sent, so that nothing on the way takes the connection for
    dead."""
    stalled: float = 60.0
    """Seconds that a client may take nothing before its connection is closed; it can come back and go on."""


class Run:
    """One run: its state and its events, numbered from 1. Belongs to one event loop."""

    def __init__(self, run_id: str, limits: RunLimits) -> None:
        self.id = run_id
        self.state: RunState = "running"
        self.events: list[KeptEvent] = []
        self.size = 0
        """Characters of JSON of all events."""
        self.ended_at = 0.0
        """When it ended, on the monotonic clock."""
        self.limits = limits
        """How much it may hold."""
        self._news = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether no further event will come."""
        return self.state != "running"

    def holds(self, name: str) -> bool:
        """Whether there is an event with this tag.

        Args:
            name: The tag.
        """
        return any(event.name == name for event in self.events)

    def add(self, name: str, data: str) -> bool:
        """Keep an event and wake whoever waits for it.

        Args:
            name: Its tag.
            data: The rest as JSON.

        Returns:
            Whether there was room for it; if not, it is not kept.
        """
        if len(self.events) >= self.limits.events or self.size + len(data) > self.limits.event_bytes:
            return False
        self._keep(name, data)
        return True

    def end(self, state: RunState, problem: Problem | None = None) -> None:
        """End it.

        Args:
            state: How it ended.
            problem: What the clients are told went wrong; always kept, beyond the limits too.
        """
        self.state, self.ended_at = state, time.monotonic()
        if problem is not None:
            self._keep(FAILED, json.dumps(problem.content, ensure_ascii=False))
        self._wake()

    async def after(self, number: int, patience: float) -> Sequence[KeptEvent]:
        """The events behind one of them, as soon as there are any.

        Args:
            number: The last event that is known, 0 for none.
            patience: Seconds to wait for one.

        Returns:
            The events with the numbers ``number + 1`` and up; none if the run has ended without any, or none came.
        """
        if len(self.events) <= number and not self.ended:
            news = self._news
            try:
                async with asyncio.timeout(patience):
                    await news.wait()
            except TimeoutError:
                return ()
        return self.events[number:]

    async def wait(self) -> None:
        """Wait until it has ended."""
        while not self.ended:
            await self._news.wait()

    def _keep(self, name: str, data: str) -> None:
        self.events.append(KeptEvent(name, data))
        self.size += len(data)
        self._wake()

    def _wake(self) -> None:
        # Everybody who waits holds the old event; who comes from now on waits for what comes next.
        self._news.set()
        self._news = asyncio.Event()


class Runs:
    """All runs of a server: those that go on, and those that ended a short while ago. Belongs to one event loop."""

    def __init__(self, limits: RunLimits | None = None) -> None:
        """Keep no run yet.

        Args:
            limits: How much runs may hold.
        """
        self._limits = limits or RunLimits()
        self._running: dict[str, tuple[Run, asyncio.Task[None]]] = {}
        self._ended: dict[str, Run] = {}
        self._kept_bytes = 0
        self._closed = False

    @property
    def refusal(self) -> str | None:
        """Why no further run can start now, or None."""
        if self._closed:
            return "the server is stopping: ask again when it is back"
        if len(self._running) >= self._limits.running:
            return f"{self._limits.running} runs are going on, which is the limit: ask again in a moment"
        return None

    def start(self, run_id: str, stream: AsyncIterator[StreamedEvent]) -> Run:
        """Let a run go on by itself, whether or not anybody reads it.

        Args:
            run_id: Names it; must be new.
            stream: What happens in it.

        Returns:
            The run.
        """
        run = Run(run_id, self._limits)
        task = asyncio.create_task(self._drive(run, stream), name=f"run {run_id}")
        self._running[run_id] = run, task
        task.add_done_callback(lambda done: self._conclude(run, done))
        return run

    def get(self, run_id: str) -> Run | None:
        """The run, or None if it is unknown or ended too long ago.

        Args:
            run_id: The run.
        """
        self._forget()
        running = self._running.get(run_id)
        return running[0] if running else self._ended.get(run_id)

    async def cancel(self, run_id: str) -> None:
        """End a run, and wait a short while until it has cleaned up; one that has ended stays as it is.

        Args:
            run_id: The run.
        """
        if run_id in self._running:
            _run, task = self._running[run_id]
            task.cancel()
            await asyncio.wait({task}, timeout=STOPPING)

    async def close(self, grace: float = STOPPING) -> None:
        """Start no further run, give those that go on a moment, and cancel what is left.

        Args:
            grace: Seconds for the runs to end by themselves.
        """
        self._closed = True
        tasks = {task for _run, task in self._running.values()}
        if not tasks:
            return
        _done, left = await asyncio.wait(tasks, timeout=grace)
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=STOPPING)

    async def _drive(self, run: Run, stream: AsyncIterator[StreamedEvent]) -> None:
        async with asyncio.timeout(self._limits.seconds), closing(stream) as events:
            async for event in events:
                if not run.add(event.event, event.model_dump_json(exclude={"event"})):
                    raise _TooMuchError

    def _conclude(self, run: Run, task: asyncio.Task[None]) -> None:
        # A callback rather than the end of `_drive`: a task that is cancelled before its first step never gets there.
        self._running.pop(run.id)
        error = None if task.cancelled() else task.exception()
        problem = self._told(run, error) if error else None
        if run.holds(ANSWERED):
            # Whatever came after the answer does not take it back.
            run.end("finished")
        elif task.cancelled():
            run.end("cancelled", Problem("the run was cancelled", "Cancelled", can_retry=True))
        elif problem:
            run.end("failed", problem)
        elif run.holds(FAILED):
            run.end("failed")
        else:
            run.end("failed", Problem("the run ended without an answer", "NoAnswer", can_retry=True))
        self._ended[run.id] = run
        self._kept_bytes += run.size
        self._forget()

    def _told(self, run: Run, error: BaseException) -> Problem:
        if isinstance(error, _TooMuchError):
            limits = self._limits
            bound = f"{limits.events} events or {limits.event_bytes} characters of JSON"
            return Problem(f"the run was stopped: it made more than {bound}", "TooManyEvents")
        # asyncio's own timeout; a node's is a TimeoutError too, but one that says which node.
        if type(error) is TimeoutError:
            return Problem(f"the run was stopped after {self._limits.seconds:g} s", "RunTimeout", can_retry=True)
        problem = problem_of(error)
        if problem.error_type == INTERNAL:
            logger.error("run %s failed", run.id, exc_info=error)
        return problem

    def _forget(self) -> None:
        limits = self._limits
        oldest_kept = time.monotonic() - limits.kept_seconds
        while self._ended:
            run = next(iter(self._ended.values()))
            too_big = self._kept_bytes > limits.kept_bytes and len(self._ended) > 1
            if not too_big and len(self._ended) <= limits.kept_runs and run.ended_at >= oldest_kept:
                return
            del self._ended[run.id]
            self._kept_bytes -= run.size


class _TooMuchError(Exception):
    """A run made more events than may be kept."""
