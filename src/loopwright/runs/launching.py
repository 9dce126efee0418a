"""Makes runs ready to be driven: new ones, those that go on, and those that begin at another one's checkpoint."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Command

from loopwright.checkpoints.fencing import fence
from loopwright.config import Allowance
from loopwright.diagram.shown import ShownGraph
from loopwright.engine import BoundedGraph
from loopwright.engine.budget.budget import PriceTable
from loopwright.engine.fingerprint import FORCE, require_same_graph
from loopwright.errors import ConfigError, GraphChanged, InputError, UnknownNameError
from loopwright.runs import states
from loopwright.runs.allowances import RunAllowances
from loopwright.runs.checkpoints import pausing, thread, without_passes
from loopwright.runs.driving import Drive
from loopwright.runs.live import LiveRun
from loopwright.runs.plain import Bounds, plain, shortened
from loopwright.runs.preparing import chosen_models, models_at_start, prompts_at_start, settings_of
from loopwright.runs.recording import Recorder
from loopwright.runs.recovering import recovered
from loopwright.runs.schemas import Channel, Parent, RunLimits, RunRecord, RunStatus
from loopwright.runs.store.history import RunStore
from loopwright.runs.tally import Tally
from loopwright.runs.writer import Writer
from loopwright.workflows.api import Run, RunChanges, Setting, Workflow

logger = logging.getLogger(__name__)

T = TypeVar("T")

Place = Callable[[BoundedGraph, Run], Awaitable[None]]
"""Puts a checkpoint where a new run finds it."""

_TITLE = 200
"""Characters of a run's title."""

_INPUT = Bounds(text=1_000_000, items=10_000)
"""How much is kept of a run's input: it is needed when the run goes on."""


@dataclass(frozen=True)
class NewRun:
    """A run that is kept, and has not begun."""

    record: RunRecord
    """The run."""
    graph: BoundedGraph
    """Its graph."""
    run: Run
    """Its input, and what is made of its events."""
    settings: Sequence[Setting]
    """Context variables to set while it goes on."""
    input: Any
    """What its graph is run with."""


class Launcher:
    """Makes runs ready to be driven.

    Args:
        store: Where runs are kept.
        workflows: The workflows.
        saver: Where their states are kept; without one, runs can be neither resumed nor forked.
        limits: How much runs may hold.
        prices: What models cost; None leaves the cost unknown.
        uploads: Id of an uploaded file -> where it lies, for runs that go on.
        writer: Keeps what happens.
        allowances: What runs may spend together.
        status: How a run stands that is made ready: whether it has its turn.
        turn: Waits until it is a run's turn.
    """

    def __init__(
        self,
        store: RunStore,
        workflows: Iterable[Workflow],
        saver: BaseCheckpointSaver[str] | None,
        limits: RunLimits,
        prices: PriceTable | None,
        uploads: Mapping[str, Path],
        writer: Writer,
        allowances: Sequence[Allowance],
        status: Callable[[str], RunStatus],
        turn: Callable[[str], Awaitable[None]],
    ) -> None:
        self.workflows = {hosted.name: hosted for hosted in workflows}
        self.saver = saver
        self.store = store
        self._limits = limits
        self._prices = prices
        self._uploads = uploads
        self._writer = writer
        self._allowances = allowances
        self._status = status
        self._turn = turn
        self._shown: dict[str, ShownGraph] = {}
        self._creating = asyncio.Lock()

    def hosted(self, workflow: str) -> Workflow:
        """A workflow.

        Raises:
            UnknownNameError: If there is none of this name.
        """
        if workflow not in self.workflows:
            raise UnknownNameError("workflow", workflow, self.workflows)
        return self.workflows[workflow]

    async def new(
        self,
        workflow: str,
        given: Mapping[str, Any],
        changes: RunChanges,
        run_id: str,
        request: str | None,
        priority: int,
    ) -> NewRun:
        """Make a new run; see `RunHub.start`."""
        hosted = self.hosted(workflow)
        # They go with the run, to whoever works on it.
        models = await asyncio.to_thread(chosen_models, self.store, hosted) | changes.models
        changes = changes.model_copy(update={"models": models})
        settings = await self._settings(hosted, changes)
        run = _within(settings, partial(hosted.run, given, self._uploads, run_id))
        graph, record = self._begun(hosted, run, settings, run_id, changes)
        record = record.model_copy(update={"request": request, "priority": priority})
        await self._create(record, hosted)
        return NewRun(record, self._changed(graph, changes), run, settings, run.graph_input)

    async def resumed(self, record: RunRecord, answer: Any, force: bool) -> Drive:
        """Make a run ready to go on; see `RunHub.resume`."""
        hosted = self.hosted(record.workflow)
        settings = await self._settings(hosted, record.changes)
        run = _within(settings, partial(hosted.recovered, record.input, self._uploads, record.id))
        graph = _within(settings, partial(hosted.graph, self.saver))
        graph = self._changed(graph, record.changes, record.parent)
        recorder, tally = Recorder(run), Tally()
        counts = await asyncio.to_thread(self._replay, record.id, recorder, tally)
        # A run that was cut off before its first checkpoint begins with its input again.
        begun = recorder.saved_any or record.source != "here" or self.saver is None
        saved = await self.saved(record.id, None) if begun else await self._last(record.id)
        if saved and not force:
            try:
                require_same_graph(str(graph.name), graph.structure, graph.nodes, saved)
            except GraphChanged as error:
                raise InputError(f"run {record.id!r} cannot go on: {error}") from error
        missing = await recovered(graph, record.id, recorder)
        recorder.pass_over(missing.done)
        update = {"ended_at": None, "error": None, "error_type": None, "error_node": None, "asked": ()}
        going = record.model_copy(update={"status": self._status(record.id), "epoch": record.epoch + 1, **update})
        await asyncio.to_thread(self.store.begin, going)
        await self._fence(going)
        # The checkpoint of a turn that was cut off before its own first one is the turn's before.
        is_turn = record.parent is not None and record.parent.kind == "turn" and not recorder.saved_any
        given: Any = None if saved and not is_turn else run.graph_input
        if record.status == "waiting" or (record.asked and answer is not None):
            given = Command(resume=answer)
        drive = self._drive(going, graph, run, settings, given, counts)
        drive.recorder, drive.tally, drive.before = recorder, tally, missing.events
        drive.resumed = record.status != "queued" or recorder.saved_any
        if force:
            drive.config = RunnableConfig(configurable={FORCE: True})
        return drive

    async def branch(
        self,
        origin: RunRecord,
        parent: Parent,
        changes: RunChanges,
        place: Place,
        run_id: str,
        given: Mapping[str, Any] | None = None,
    ) -> NewRun:
        """Make a new run that begins at a checkpoint of another one.

        Args:
            origin: The other run.
            parent: Where in it.
            changes: What the new run does otherwise than the other one.
            place: Puts the checkpoint where the new run finds it.
            run_id: Names the new run.
            given: Its own input; None goes on with the other run's.
        """
        hosted = self.hosted(origin.workflow)
        before = origin.changes
        both = {"models": {**before.models, **changes.models}, "prompts": {**before.prompts, **changes.prompts}}
        all_changes = changes.model_copy(update=both)
        settings = await self._settings(hosted, all_changes)
        make = partial(hosted.recovered, origin.input) if given is None else partial(hosted.run, given)
        run = _within(settings, partial(make, self._uploads, run_id))
        graph, record = self._begun(hosted, run, settings, run_id, all_changes)
        await place(graph, run)
        as_before = {"input": origin.input, "title": origin.title} if given is None else {}
        record = record.model_copy(update={"parent": parent, **as_before})
        await self._create(record, hosted)
        own = None if given is None else run.graph_input
        return NewRun(record, self._changed(graph, all_changes, parent), run, settings, own)

    def drive(self, new: NewRun) -> Drive:
        """Make a new run ready to be driven in this process."""
        return self._drive(new.record, new.graph, new.run, new.settings, new.input)

    async def waiting(self, record: RunRecord) -> RunRecord:
        """Let a run that ended wait for its turn to go on.

        Raises:
            AttemptLost: If somebody else was faster.
        """
        update = {"status": "queued", "ended_at": None, "error": None, "error_type": None, "error_node": None}
        waits = record.model_copy(update={**update, "epoch": record.epoch + 1})
        await asyncio.to_thread(self.store.begin, waits)
        return waits

    async def taken_over(self, record: RunRecord) -> RunRecord:
        """Take a run from a process that is gone: from now on nothing that it might still do is kept.

        Args:
            record: The run as that process left it.

        Returns:
            The run, which waits for its turn; with how often in a row it was lost at the same checkpoint.

        Raises:
            AttemptLost: If somebody else was faster.
        """
        fenced = record.model_copy(update={"status": "queued", "epoch": record.epoch + 1})
        await asyncio.to_thread(self.store.begin, fenced)
        await self._fence(fenced)
        saved = await self._last(record.id)
        place = saved.checkpoint["id"] if saved else ""
        lost = record.lost + 1 if place == record.lost_at else 1
        taken = fenced.model_copy(update={"lost": lost, "lost_at": place})
        await self._writer.write(taken)
        return taken

    def queues(self) -> list[str]:
        """What this process can work on: the workflows, and the graphs that it has of them."""
        known: list[str] = []
        for hosted in self.workflows.values():
            known.append(hosted.name)
            try:
                known.append(f"{hosted.name}@{hosted.graph(self.saver).structure}")
            except ConfigError as error:
                logger.warning("no graph of %s can be made: %s", hosted.name, error)
        return known

    async def saved(self, run_id: str, checkpoint_id: str | None) -> CheckpointTuple:
        """A checkpoint of a run.

        Args:
            run_id: The run.
            checkpoint_id: The checkpoint; None for the last.

        Raises:
            InputError: If it is not kept here.
        """
        if self.saver is None:
            raise InputError("this server keeps no checkpoints: runs can be neither resumed nor forked")
        saved = await self._last(run_id, checkpoint_id)
        if saved is None:
            what = f"checkpoint {checkpoint_id!r} of run {run_id!r}" if checkpoint_id else f"a checkpoint of {run_id!r}"
            raise InputError(f"{what} is not kept here: it is unknown, was deleted, or the run came from a file")
        return saved

    def _changed(self, graph: BoundedGraph, changes: RunChanges, parent: Parent | None = None) -> BoundedGraph:
        if changes.pause_before or changes.pause_after:
            graph = pausing(graph, changes.pause_before, changes.pause_after)
        leaves_out = parent.loop if parent and parent.kind == "counterfactual" else None
        return without_passes(graph, leaves_out) if leaves_out else graph

    async def _create(self, record: RunRecord, hosted: Workflow) -> None:
        if hosted.name not in self._shown:
            self._shown[hosted.name] = await asyncio.to_thread(hosted.shown)
        # SQLite lets one write at a time and gives up on who waits in vain: many at once would lock each other out.
        async with self._creating:
            await asyncio.to_thread(self.store.create, record, self._shown[hosted.name])
        await self._fence(record)

    async def _fence(self, record: RunRecord) -> None:
        if self.saver:
            await fence(self.saver, record.id, record.epoch)

    async def _last(self, run_id: str, checkpoint_id: str | None = None) -> CheckpointTuple | None:
        return await self.saver.aget_tuple(thread(run_id, checkpoint_id)) if self.saver else None

    def _begun(
        self, hosted: Workflow, run: Run, settings: Sequence[Setting], run_id: str, changes: RunChanges
    ) -> tuple[BoundedGraph, RunRecord]:
        def begin() -> tuple[BoundedGraph, RunRecord]:
            models, prompts = models_at_start(hosted), prompts_at_start(hosted)
            try:
                graph = hosted.graph(self.saver)
            except ConfigError as error:
                raise InputError(str(error)) from error
            title = shortened(" ".join(run.title.split()), _TITLE)
            return graph, RunRecord(
                id=run_id, workflow=hosted.name, title=title, status=self._status(run_id),
                started_at=datetime.now(UTC), input=plain(run.given, _INPUT), changes=changes, models=models,
                prompts=dict(prompts),
            )  # fmt: skip

        return _within(settings, begin)

    async def _settings(self, hosted: Workflow, changes: RunChanges) -> Sequence[Setting]:
        written = await asyncio.to_thread(self.store.prompt_versions, hosted.name) if hosted.prompts else ()
        return settings_of(hosted, changes, written)

    def _replay(self, run_id: str, recorder: Recorder, tally: Tally) -> dict[Channel, int]:
        for event in states.logged(self.store, run_id):
            recorder.replay(event)
            tally.see(event)
        return {"run": self.store.count(run_id, "run"), "client": self.store.count(run_id, "client")}

    def _drive(
        self,
        record: RunRecord,
        graph: BoundedGraph,
        run: Run,
        settings: Sequence[Setting],
        given: Any,
        counts: Mapping[Channel, int] | None = None,
    ) -> Drive:
        live = LiveRun(record, self._writer, self._limits, counts)
        shared = None
        if self._allowances:
            shared = RunAllowances(self.store, self._allowances, record, self._prices, self._writer.patience)
        return Drive(
            live=live, graph=graph, run=run, input=given, recorder=Recorder(run), tally=Tally(), settings=settings,
            prices=self._prices, allowance=shared, resumable=self.saver is not None,
            turn=partial(self._turn, record.id),
        )  # fmt: skip


def _within(settings: Sequence[Setting], call: Callable[[], T]) -> T:
    """Call something as it is called within the run."""

    def inside() -> T:
        for setting in settings:
            setting.variable.set(setting.value)
        return call()

    return contextvars.copy_context().run(inside)
