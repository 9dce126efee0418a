"""Drives one run: asks its graph for what happens, has it recorded, and sees it to its end, whatever that is."""

import asyncio
import linecache
import logging
import sysconfig
import traceback
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl

import loopwright
from loopwright.checkpoints.archive import EPOCH, CheckpointsAway
from loopwright.engine import BoundedGraph, RunResult
from loopwright.engine.budget.budget import PriceTable
from loopwright.engine.budget.meter import Allowance, allowance
from loopwright.engine.events.schema import (
    ModelCalled,
    NodeFinished,
    NodeRetried,
    RunEvent,
    RunFailed,
    RunFinished,
    RunStarted,
    StateSaved,
    TextStreamed,
    Told,
)
from loopwright.engine.events.stream import astream
from loopwright.engine.langgraph_private import ANEW
from loopwright.engine.nodes.failures import words_of
from loopwright.engine.nodes.policy import cause_of
from loopwright.errors import LoopwrightError, NodeFailed, TooManyEvents
from loopwright.models.usage import usage_of_the_run
from loopwright.runs.callbacks import Attempts, ModelCalls, model_calls
from loopwright.runs.live import LiveRun
from loopwright.runs.plain import Bounds, plain, shortened
from loopwright.runs.recording import MESSAGE, Recorder, written
from loopwright.runs.schemas import Asked, Frame, RunRecord, RunStatus
from loopwright.runs.tally import Tally
from loopwright.workflows.api import ClientEvent, Outcome, Run

logger = logging.getLogger(__name__)

PAUSED = "Paused"
"""The error type of a run that stopped before or after a node, as was asked."""

_OUTCOME = Bounds(text=200_000, items=2_000)
"""How much is kept of a run's outcome."""

FRAMES = 8
"""Frames that are kept, the innermost ones."""

AROUND = 8
"""Lines that are shown before and behind the one that failed."""

_WIDEST = 300
_LIBRARIES = tuple(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib"))
_OURS = str(Path(loopwright.__file__).parent)
_SHIPPED = str(Path(_OURS, "workflows"))


@dataclass
class Drive:
    """All that belongs to one run that goes on, or to one part of a run that was resumed."""

    live: LiveRun
    """What is kept of it and shown."""
    graph: BoundedGraph
    """The graph."""
    run: Run
    """The input, and what is made of the events."""
    input: Any
    """What the graph is run with: an input, a ``Command``, or None to go on from the checkpoint."""
    recorder: Recorder
    """Knows what was recorded before, if it is resumed."""
    tally: Tally
    """Its figures so far."""
    settings: Context
    """In which it goes on, with its models and prompts."""
    prices: PriceTable | None = None
    """What models cost."""
    allowance: Allowance | None = None
    """What it shares with other runs."""
    resumed: bool = False
    """Whether it goes on from a checkpoint of its own."""
    before: Sequence[RunEvent] = ()
    """What happened before it and is not in its log."""
    refused: Exception | None = None
    """Why it must not go on at all."""
    control: RunControl = field(default_factory=RunControl)
    """By it the graph is asked to end with the superstep that is under way."""
    _heard: deque[ModelCalled | NodeRetried] = field(default_factory=deque["ModelCalled | NodeRetried"], init=False)
    """What does not come with the graph's stream, and is not recorded yet."""
    _seen: list[RunEvent] = field(default_factory=list[RunEvent], init=False)
    _closed: bool = field(default=False, init=False)
    _deadline: asyncio.Timeout | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.live.refreshed = self._record

    async def go(self) -> None:
        """Drive the run to its end; raises nothing but what cancels this for a second time."""
        # Everything that is started from here on sees these; the context is this task's own.
        usage_of_the_run.set(self.run.usage)
        model_calls.set(ModelCalls(partial(self._hear, asyncio.get_running_loop()), self.prices))
        allowance.set(self.allowance)
        try:
            self.live.begin()
            if self.refused:
                raise self.refused
            for event in self.before:
                self._keep(event)
            async with asyncio.timeout(self.live.limits.seconds) as self._deadline:
                finished = await self._follow()
                record = await self._finish(finished)
        except (Exception, asyncio.CancelledError, SystemExit) as error:  # a node may call `sys.exit`
            record = self._cut_short(error)
        self._closed = True
        await self.live.end(record)

    async def _follow(self) -> RunFinished:
        finished: RunFinished | None = None
        async with aclosing(cast("AsyncGenerator[RunEvent]", self._stream())) as events:
            async for event in events:
                if isinstance(event, RunFailed):
                    continue  # what was raised says more, and comes next
                if isinstance(event, RunStarted):
                    event = event.model_copy(update={"resumed": self.resumed or event.resumed})
                if isinstance(event, RunFinished):
                    finished = event
                self._take(event)
                await self.live.room()
                if self.live.stopping and finished is None:  # a wait below may have dropped the cancellation
                    raise asyncio.CancelledError
        if finished is None:
            raise LoopwrightError("the graph ended without a result")
        return finished

    def _stream(self) -> AsyncIterator[RunEvent]:
        anew = {ANEW: True} if self.input is None and not self.resumed else {}  # graphs inside a fork begin with input
        config = RunnableConfig(configurable={EPOCH: self.live.latest.epoch, **anew})
        if self.graph.retry_policy or any(node.retry_policy for node in self.graph.nodes.values()):
            config["callbacks"] = [Attempts(self.graph, partial(self._hear, asyncio.get_running_loop()))]
        return astream(
            self.graph, self.input, thread_id=self.live.id, config=config, control=self.control,
            states=True, texts=self.run.texts,
        )  # fmt: skip

    def _take(self, event: RunEvent) -> None:
        """Have an event of the engine recorded, and what people and clients are told when it happens."""
        self._tell_heard()
        if not isinstance(event, StateSaved):
            self._seen.append(event)
        if isinstance(event, NodeFinished) and event.known and event.task_id in self.recorder.finished:
            return  # it was told before the run went on
        if not isinstance(event, RunFinished):  # that one comes with the outcome
            self._keep(event)
        for told in self.run.told(event):
            self._keep(told)
        self._tell_clients(self.run.client_events(event))

    def _keep(self, event: RunEvent, *, last: bool = False) -> None:
        kept = self.recorder.record(event)
        if kept is None:
            return
        self.live.add("run", kept.type, written(kept), last=last)
        self.tally.see(kept)
        if not isinstance(kept, TextStreamed):  # which changes no figure
            self.live.touch()

    def _hear(self, loop: asyncio.AbstractEventLoop, event: ModelCalled | NodeRetried) -> None:
        """Have an event recorded soon, from any thread."""
        self._heard.append(event)
        loop.call_soon_threadsafe(self._tell_heard)

    def _tell_heard(self) -> None:
        while self._heard:
            heard = self._heard.popleft()
            if self._closed:
                continue
            try:
                self._keep(heard)
            except TooManyEvents:
                logger.warning("run %s: no room for an event %s in its log", self.live.id, heard.type)

    def _tell_clients(self, events: Iterable[ClientEvent], *, last: bool = False) -> None:
        for event in events:
            self.live.add("client", event.event, event.model_dump_json(exclude={"event"}), last=last)

    def _record(self, **more: Any) -> RunRecord:
        return self.live.latest.model_copy(update={**self.tally.figures(), **more})

    # The end

    async def _finish(self, finished: RunFinished) -> RunRecord:
        if finished.interrupted:
            asked = await self._questions()
            if not asked:
                self._keep(finished, last=True)
                told = "it stopped at a node, as was asked: resume it to go on"
                return self._ended("interrupted", error=told, error_type=PAUSED)
            for question, task in asked:
                data = {"interrupt": question.value, "id": question.id}
                words = shortened(str(question.value), MESSAGE)
                told = Told(kind="progress", node=question.node, message=words, data=data, tasks=[task])
                self._keep(told, last=True)
            self._keep(finished, last=True)
            return self._record(status="waiting", ended_at=datetime.now(UTC), asked=tuple(each for each, _ in asked))
        outcome, clients = await self.run.ended(RunResult(finished.state, (*self._seen,)))
        self._keep(finished, last=True)
        self._tell_clients(clients, last=True)
        return self._ended("finished", outcome)

    async def _questions(self) -> list[tuple[Asked, str]]:
        """What the run waits for a person to answer, and the task of the visit that asks."""
        state = await self.graph.aget_state({"configurable": {"thread_id": self.live.id}})
        return [
            (Asked(node=task.name, value=plain(asked.value), id=asked.id), task.id)
            for task in state.tasks
            for asked in task.interrupts
        ]

    def _ended(self, status: RunStatus, outcome: Outcome | None = None, **more: Any) -> RunRecord:
        if outcome is not None:
            shown = kept_outcome(outcome)
            more |= {"outcome": shown, "outcome_status": shown.status, "quality": shown.quality}
        return self._record(status=status, ended_at=datetime.now(UTC), **more)

    def _cut_short(self, error: BaseException) -> RunRecord:
        """The record of a run that ended with an exception."""
        status, kind, message = self._why(error)
        self._tell_heard()
        if status == "queued":
            return self._record(status=status)
        node = error.node if isinstance(error, NodeFailed) else self.recorder.failed_node
        if node is None and (unkept := self._unkept(error)):
            node, key = unkept
            message += (
                f", which node {node!r} wrote in {key!r}: keep it out of the state, which is plain data, messages, "
                "dataclasses and Pydantic models"
            )
        message = self.recorder.words(message)
        if self.resumed and not any(isinstance(event, RunStarted) for event in self._seen):  # it stood still until now
            self._keep(RunStarted(graph=str(self.graph.name), thread_id=self.live.id, resumed=True))
        self._keep(RunFailed(kind=kind, message=message), last=True)
        try:
            self._tell_clients(self.run.failed(error), last=True)
        except Exception:
            logger.exception("run %s: its clients could not be told how it ended", self.live.id)
        frames = frames_of(error) if status == "failed" else ()
        return self._ended(status, error=message, error_type=kind, error_node=node, error_frames=frames)

    def _unkept(self, error: BaseException) -> tuple[str, str] | None:
        """The node and the key of what it wrote that no checkpoint can hold, if that is what the error says."""
        saver = self.graph.checkpointer
        if isinstance(error, TypeError) and isinstance(saver, BaseCheckpointSaver):
            for event in (each for each in self._seen if isinstance(each, NodeFinished)):
                for key, value in event.update.items():
                    try:
                        saver.serde.dumps_typed(value)
                    except Exception as found:  # of a channel that is not kept, it may be any
                        if str(found) == str(error):
                            return event.node, key
        return None

    def _why(self, error: BaseException) -> tuple[RunStatus, str, str]:
        """The status, the error's type and its message."""
        limits = self.live.limits
        match self.live.stopping, error:
            case "cancelled", _:
                return "cancelled", "Cancelled", "the run was cancelled"
            case _, GraphDrained() | asyncio.CancelledError():
                # The process stops: the run waits its turn, for another one or for the next start.
                return "queued", "", ""
            case _, _ if isinstance(cause_of(error), CheckpointsAway):
                logger.warning("run %s waits once more: %s", self.live.id, cause_of(error))
                return "queued", "", ""
            case _, TimeoutError() if self._deadline and self._deadline.expired():
                return "failed", "RunTimeout", f"the run was stopped after {limits.seconds:g} s"
            case _:
                cause = cause_of(error)
                # What nobody foresaw is told in full by the log alone.
                level = logging.INFO if isinstance(cause, LoopwrightError) else logging.ERROR
                logger.log(level, "run %s failed", self.live.id, exc_info=error)
                told = error.told if isinstance(error, NodeFailed) else words_of(error)
                return "failed", type(cause).__name__, told


def kept_outcome(outcome: Outcome) -> Outcome:
    """An outcome as it is kept: in plain JSON, bounded in size, without figures that are no numbers."""
    fields = plain(outcome.model_dump(), _OUTCOME)
    fields["citations"] = fields["citations"][: _OUTCOME.items]
    fields["scores"] = {name: score for name, score in outcome.scores.items() if isfinite(score)}
    fields["quality"] = outcome.quality if outcome.quality is not None and isfinite(outcome.quality) else None
    return Outcome.model_validate(fields)


def frames_of(error: BaseException) -> tuple[Frame, ...]:
    """The frames that an error passed on its way, the innermost last; those of libraries and of the engine left out."""
    passed = traceback.extract_tb(cause_of(error).__traceback__, limit=-200)
    return tuple(_frame(frame) for frame in [each for each in passed if _is_own(each.filename)][-FRAMES:])


def _is_own(file: str) -> bool:
    return not file.startswith((*_LIBRARIES, "<")) and (file.startswith(_SHIPPED) or not file.startswith(_OURS))


def _frame(frame: traceback.FrameSummary) -> Frame:
    path, line = Path(frame.filename), frame.lineno or 1
    first, lines = max(1, line - AROUND), linecache.getlines(frame.filename)
    code = [shortened(each.rstrip(), _WIDEST) for each in lines[first - 1 : line + AROUND]]
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else Path(path.name)
    return Frame(file=str(shown), line=line, function=frame.name, first=first, code=(*code,))
