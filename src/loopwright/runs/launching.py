"""Makes runs: new ones, those that begin at another one's checkpoint; and what drives one that has its turn."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from contextvars import Context
from dataclasses import InitVar, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Command

from loopwright.checkpoints.archive import fence
from loopwright.config import Allowance
from loopwright.diagram.shown import ShownGraph
from loopwright.engine import BoundedGraph
from loopwright.engine.budget.budget import PriceTable
from loopwright.engine.events.schema import NodeStarted, StateSaved
from loopwright.engine.ledger import LEDGER
from loopwright.engine.proof.fingerprint import require_same_graph
from loopwright.errors import ConfigError, GraphChanged, InputError, UnknownWorkflow
from loopwright.runs import editing
from loopwright.runs.allowances import RunAllowances, thread_of
from loopwright.runs.checkpoints import copied, logged, pausing, remembered, thread, whole, without_passes
from loopwright.runs.driving import Drive
from loopwright.runs.jobs.protocol import Job
from loopwright.runs.live import LiveRun, Writer
from loopwright.runs.plain import Bounds, plain, shortened
from loopwright.runs.preparing import chosen_models, models_at_start, prompts_at_start, settings_of
from loopwright.runs.reading import RunReader
from loopwright.runs.recording import Recorder
from loopwright.runs.recovering import recovered
from loopwright.runs.schemas import Channel, Parent, RunLimits, RunRecord
from loopwright.runs.tally import Tally
from loopwright.workflows.api import LONGEST_TITLE, Run, RunChanges, Workflow

logger = logging.getLogger(__name__)

_AFRESH = {"ended_at": None, "error": None, "error_type": None, "error_node": None, "error_frames": ()}
"""What a run that goes on forgets of its end."""

_INPUT = Bounds(text=1_000_000, items=1_000_000, depth=66, vector=1_000_000)
"""How much is kept of a run's input: it is needed when the run goes on."""


@dataclass(eq=False)
class Launcher(RunReader):
    """Makes runs ready to be driven; the part of a `RunHub` that decides nothing about whose turn it is."""

    served: InitVar[Iterable[Workflow]]
    """The workflows."""
    saver: BaseCheckpointSaver[str]
    """Where their states are kept."""
    limits: RunLimits = field(default_factory=RunLimits)
    """How much runs may hold."""
    prices: PriceTable | None = None
    """What models cost; None leaves the cost unknown."""
    uploads: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Id of an uploaded file -> where it lies, for runs that go on or are forked."""
    allowances: Sequence[Allowance] = ()
    """What runs may spend together, also with those of other processes on the same store."""
    workflows: Mapping[str, Workflow] = field(init=False)
    """The workflows by name."""
    writer: Writer = field(init=False)
    """Keeps what happens."""
    _shown: dict[str, ShownGraph] = field(default_factory=dict[str, ShownGraph], init=False)

    def __post_init__(self, served: Iterable[Workflow]) -> None:
        self.workflows = {hosted.name: hosted for hosted in served}

    def hosted(self, workflow: str) -> Workflow[Any]:
        """A workflow.

        Raises:
            UnknownWorkflow: If there is none of this name.
        """
        if workflow not in self.workflows:
            raise UnknownWorkflow("workflow", workflow[:80], self.workflows)
        return self.workflows[workflow]

    def graph(self, workflow: str) -> BoundedGraph:
        """A workflow's graph as its runs have it, with what keeps their states.

        Raises:
            UnknownWorkflow: If there is no such workflow.
        """
        return self.hosted(workflow).graph(self.saver)

    def shown(self, workflow: str) -> ShownGraph:
        """A workflow's graph as pages show it, proven once; blocks.

        Raises:
            UnknownWorkflow: If there is no such workflow.
        """
        if workflow not in self._shown:
            self._shown[workflow] = self.hosted(workflow).shown()
        return self._shown[workflow]

    async def prepared(self, workflow: str, given: Mapping[str, Any], changes: RunChanges, run_id: str) -> RunRecord:
        """A new run, which is not kept yet; see `RunHub.start`."""
        hosted = self.hosted(workflow)
        # They go with the run, to whoever works on it.
        models = await self.store.aside(chosen_models, self.store, hosted) | changes.models
        changes = changes.model_copy(update={"models": models})
        return (await self._begun(hosted, given, changes, run_id))[2]

    async def require_resumable(self, record: RunRecord) -> None:
        """Raise `InputError` if a run's last checkpoint is not kept here, or is of a graph of another structure."""
        hosted = self.hosted(record.workflow)
        settings = await self._settings(hosted, record.changes, record.prompts)
        await self._origin(record, self._graph(hosted, record, settings))

    async def resumed(self, record: RunRecord, job: Job) -> Drive:
        """Make a run ready to begin, or to go on from its last checkpoint."""
        hosted = self.hosted(record.workflow)
        settings = await self._settings(hosted, record.changes, record.prompts)
        new = record.epoch == 0
        make, asked = hosted.run if new else hosted.recovered, job.given or record.input
        editing.require_whole(asked.get(hosted.context or ""), "context")  # all else of it is in the state by now
        run = settings.copy().run(make, asked, self.uploads, record.id)
        graph = run.within(self._graph(hosted, record, settings))
        recorder, tally = Recorder(run), Tally()
        counts: dict[Channel, int] = {"run": 0, "client": 0}
        saved = None
        if not new:
            counts = await self.store.aside(self._replay, record.id, recorder, tally)
        if not new or record.parent:
            saved = await self._origin(record, graph)
        missing, done = ([], set[str]()) if new else await recovered(graph, record.id, recorder)
        recorder.passed_over |= done
        going = record.model_copy(update={"status": "running", "epoch": record.epoch + 1, "asked": (), **_AFRESH})
        await self.store.aside(self.store.begin, going)
        await fence(self.saver, going.id, going.epoch)  # whoever asked for it may have died before its first
        given: Any = None if saved else run.graph_input
        if saved and _is_before(record, saved):
            given = run.onward(saved.checkpoint["channel_values"])
        if record.asked and job.answer is not None:
            # LangGraph takes an empty mapping for one that answers nothing.
            given = Command(resume={each.id: {} for each in record.asked} if job.answer == {} else job.answer)
        shared = None
        if self.allowances:
            shared = RunAllowances(self.store, self.allowances, going, self.prices, self.writer.patience)
        return Drive(
            live=LiveRun(going, self.writer, self.limits, counts), graph=graph, run=run, input=given,
            recorder=recorder, tally=tally, settings=settings, prices=self.prices, allowance=shared,
            resumed=not new, before=missing,
        )  # fmt: skip

    async def branch(
        self,
        origin: RunRecord,
        checkpoint_id: str | None,
        changes: RunChanges,
        run_id: str,
        *,
        given: Mapping[str, Any] | None = None,
        state: Mapping[str, Any] | None = None,
        **about: Any,
    ) -> RunRecord:
        """Make a new run that begins at a checkpoint of another one, and waits for its turn.

        Args:
            origin: The other run.
            checkpoint_id: The checkpoint; None for the last.
            changes: What the new run does otherwise than the other one.
            run_id: Names the new run.
            given: Its own input; None goes on with the other run's.
            state: Key of the state -> its new value in plain JSON.
            **about: The ``kind`` of its `Parent`, and what belongs to that.
        """
        hosted, saved = self.hosted(origin.workflow), await self.saved(origin, checkpoint_id)
        # A turn begins with new books.
        taken = {} if about["kind"] == "turn" else await self.store.aside(self._taken_over, origin, saved)
        step = int(saved.metadata.get("step", -1))
        parent = Parent(
            run_id=origin.id, checkpoint_id=saved.checkpoint["id"], step=step, edited=(*sorted(state or {}),),
            thread=thread_of(origin), **about, **taken,
        )  # fmt: skip
        before = origin.changes
        both = {"models": {**before.models, **changes.models}, "prompts": {**before.prompts, **changes.prompts}}
        all_changes = changes.model_copy(update=both)
        graph, run, record = await self._begun(hosted, given, all_changes, run_id, origin, parent)
        values = editing.read_values(graph, hosted.state_schema, state, saved, run) if state else {}
        record = await self.create(record)
        # Not before: another run may have this id, begun elsewhere.
        try:
            async for each in remembered(self.graph(origin.workflow), saved):
                await copied(self.saver, each, run_id)
            await (editing.edited(graph, saved, run_id, values) if values else copied(self.saver, saved, run_id))
        except Exception:
            await self.writer.write(record.model_copy(update={"status": "cancelled"}))
            await self.store.aside(self.store.delete, run_id, self.saver.delete_thread)
            raise
        return record

    def _taken_over(self, origin: RunRecord, saved: CheckpointTuple) -> dict[str, Any]:
        """What a fork goes on with: passes that the checkpoint's ledger had spent, and nodes that had run; blocks."""
        ledger: Mapping[str, Any] = saved.checkpoint["channel_values"].get(LEDGER) or {}
        nodes = dict.fromkeys(origin.parent.nodes if origin.parent else ())
        for event in logged(self.store, origin.id):
            if isinstance(event, StateSaved) and event.checkpoint_id == saved.checkpoint["id"]:
                break
            if isinstance(event, NodeStarted):
                nodes[event.node] = None
        passes = {name: spend["spent"] for name, spend in ledger.items() if "spent" in spend}
        return {"passes": passes, "nodes": (*nodes,)}

    async def waiting(self, record: RunRecord) -> RunRecord:
        """Let a run wait for its turn to go on.

        Raises:
            AttemptLost: If somebody else was faster.
        """
        waits = record.model_copy(update={"status": "queued", "epoch": record.epoch + 1, **_AFRESH})
        await self.store.aside(self.store.begin, waits)
        return waits

    async def taken_over(self, record: RunRecord) -> RunRecord:
        """Take a run from a process that is gone: from now on nothing that it might still do is kept.

        Returns:
            The run, which waits for its turn; with how often in a row it was lost at the same checkpoint.

        Raises:
            AttemptLost: If somebody else was faster.
        """
        fenced = await self.waiting(record)
        await fence(self.saver, fenced.id, fenced.epoch)
        saved = await self.saver.aget_tuple(thread(record.id))
        place = saved.checkpoint["id"] if saved else ""
        lost = record.lost + 1 if place == record.lost_at else 1
        taken = fenced.model_copy(update={"lost": lost, "lost_at": place})
        await self.writer.write(taken)
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

    async def saved(self, record: RunRecord, checkpoint_id: str | None) -> CheckpointTuple:
        """A checkpoint of a run, None for the last, with all of its values.

        Raises:
            InputError: If it is not kept here.
        """
        saved = await self.saver.aget_tuple(thread(record.id, checkpoint_id))
        if saved is None:
            what = f"checkpoint {checkpoint_id!r}" if checkpoint_id else "a checkpoint"
            raise InputError(f"{what} of run {record.id!r} is not kept here: it is unknown, or was deleted")
        return await whole(self.graph(record.workflow), saved)

    def _changed(self, graph: BoundedGraph, changes: RunChanges, parent: Parent | None = None) -> BoundedGraph:
        if changes.pause_before or changes.pause_after:
            graph = pausing(graph, changes.pause_before, changes.pause_after)
        leaves_out = parent.loop if parent and parent.kind == "counterfactual" else None
        return without_passes(graph, leaves_out) if leaves_out else graph

    def _graph(self, hosted: Workflow, record: RunRecord, settings: Context) -> BoundedGraph:
        return self._changed(settings.copy().run(hosted.graph, self.saver), record.changes, record.parent)

    async def _origin(self, record: RunRecord, graph: BoundedGraph) -> CheckpointTuple | None:
        """The checkpoint that a run goes on from; None where it was cut off before its first one."""
        begun = await self.store.aside(lambda: any(logged(self.store, record.id, "state")))
        saved = await (self.saved(record, None) if begun else self.saver.aget_tuple(thread(record.id)))
        if saved is None and record.parent:
            raise InputError(f"run {record.id!r} cannot begin: its server ended before it had a state; ask again")
        # A turn is new input with new books: it may be of another structure than the turn before.
        if saved and not _is_before(record, saved):
            try:
                require_same_graph(str(graph.name), graph.structure, graph.nodes, saved)
            except GraphChanged as error:
                raise InputError(f"run {record.id!r} cannot go on: {error}") from error
        return saved

    async def create(self, record: RunRecord) -> RunRecord:
        """Keep a new run, which waits for its turn."""
        shown = await asyncio.to_thread(self.shown, record.workflow)
        await self.store.aside(self.store.create, record, shown)
        await fence(self.saver, record.id, record.epoch)
        return record

    async def _begun(
        self,
        hosted: Workflow,
        given: Mapping[str, Any] | None,
        changes: RunChanges,
        run_id: str,
        origin: RunRecord | None = None,
        parent: Parent | None = None,
    ) -> tuple[BoundedGraph, Run, RunRecord]:
        """A new run, with the input of the one that it comes from where it is given none; its graph, and its record."""
        if given is None:
            make, asked = hosted.recovered, origin.input if origin else {}
        else:
            make, asked = hosted.run, given
            hosted.require_no_path(given)
            editing.require_whole(dict(given), "input")
        # A comparison differs in one thing alone.
        same = origin.prompts if origin and parent and parent.kind == "counterfactual" else {}
        settings = await self._settings(hosted, changes, same)
        run = settings.copy().run(make, asked, self.uploads, run_id)
        try:
            models = settings.copy().run(models_at_start, hosted)
            graph = settings.copy().run(hosted.graph, self.saver)
        except ConfigError as error:
            raise InputError(str(error)) from error
        title, kept = shortened(" ".join(run.title.split()), LONGEST_TITLE), plain(run.given, _INPUT)
        if given is None and origin:
            title, kept = origin.title, origin.input
        record = RunRecord(
            id=run_id, workflow=hosted.name, title=title, status="queued", started_at=datetime.now(UTC), input=kept,
            changes=changes, models=models, prompts=settings.copy().run(prompts_at_start, hosted), parent=parent,
        )  # fmt: skip
        self._changed(graph, changes, parent)  # says if it cannot stop there
        return graph, run, record

    async def _settings(self, hosted: Workflow, changes: RunChanges, began: Mapping[str, int | None]) -> Context:
        written = await self.store.aside(self.store.prompt_versions, hosted.name) if hosted.prompts else ()
        # What people write later is for runs that begin later.
        known = [version for version in written if version.version <= (began.get(version.prompt) or version.version)]
        return settings_of(hosted, changes, known)

    def _replay(self, run_id: str, recorder: Recorder, tally: Tally) -> dict[Channel, int]:
        for event in logged(self.store, run_id):
            recorder.replay(event)
            tally.see(event)
        return {"run": self.store.count(run_id, "run"), "client": self.store.count(run_id, "client")}


def _is_before(record: RunRecord, saved: CheckpointTuple) -> bool:
    """Whether a checkpoint of a turn is the one that it took up: its input is not in it yet."""
    parent = record.parent
    return parent is not None and parent.kind == "turn" and parent.checkpoint_id == saved.checkpoint["id"]
