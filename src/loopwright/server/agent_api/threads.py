"""Threads: each is a row of runs, the first named as the thread, and each further turn taking up the state before it.

So every turn is a run like any other, on the page too, and what is known of a thread follows from its runs. One that
has none yet is known to this process alone, and taken for an empty one where servers share their runs.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Container, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from weakref import WeakValueDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.errors import InvalidUpdateError
from langgraph.types import StateSnapshot
from pydantic import BaseModel, BeforeValidator

from loopwright.checkpoints.archive import EPOCH
from loopwright.engine.gate import is_engine_node
from loopwright.errors import Busy, GraphError, InputError
from loopwright.runs.checkpoints import copied, pausing
from loopwright.runs.checkpoints import thread as place_of
from loopwright.runs.driving import PAUSED
from loopwright.runs.schemas import ENDED, RESUMABLE, RunRecord
from loopwright.server.context import Context
from loopwright.server.given import AnyGiven, Given, check_state
from loopwright.server.problems import Problem
from loopwright.workflows.api import RunChanges, plain_json

Strategy = Literal["reject", "interrupt", "rollback", "enqueue"]
"""What becomes of a run that is asked for while another one of its thread goes on."""

STATUS = {
    "queued": "busy", "running": "busy", "waiting": "interrupted", "interrupted": "interrupted", "failed": "error",
}  # fmt: skip
"""Status of a thread's last run -> that of the thread; else it is idle."""

Nodes = Annotated[tuple[str, ...], BeforeValidator(lambda given: [given] if isinstance(given, str) else given or ())]
"""Names of nodes; one alone may be given without brackets."""

THREAD_ID = re.compile(r"(?!.*\.turn[0-9]+$)[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
"""What a thread's id looks like; one that ends as a turn's would be taken for a turn of another thread."""


def turn_of(thread_id: str, run_id: str) -> int:
    """Which turn of a thread a run is, from 1; 0 for none of it."""
    number = re.fullmatch(r"([2-9]|[1-9][0-9]+)", run_id.removeprefix(f"{thread_id}.turn"))
    return 1 if run_id == thread_id else int(number[0]) if number else 0


class Place(BaseModel):
    """A checkpoint, as clients name it."""

    checkpoint_id: str | None = None


class At(BaseModel):
    """Where in a thread something is to begin."""

    checkpoint: Place | None = None
    checkpoint_id: str | None = None

    @property
    def at(self) -> str | None:
        """The checkpoint; None for the last."""
        return self.checkpoint_id or (self.checkpoint.checkpoint_id if self.checkpoint else None)


class Order(BaseModel):
    """What a command asks for beside an answer."""

    resume: AnyGiven = None
    update: Any = None
    goto: Any = None


class Turn(At):
    """What a thread is to do next: with an input, or else what it did last goes on."""

    input: Given | None = None
    command: Order | None = None
    multitask_strategy: Strategy = "enqueue"
    interrupt_before: Nodes = ()
    interrupt_after: Nodes = ()

    @property
    def answer(self) -> Any:
        """What a run that waits is answered."""
        return self.command.resume if self.command else None

    @property
    def changes(self) -> RunChanges:
        """Where it stops on its way."""
        return RunChanges(pause_before=self.interrupt_before, pause_after=self.interrupt_after)


class Threads:
    """The threads of one server. Belongs to one event loop."""

    def __init__(self, context: Context) -> None:
        self.context = context
        """What all routes share."""
        self._created: dict[str, datetime] = {}
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    # Threads

    def create(self, thread_id: str) -> None:
        """Note a thread, before its first run."""
        self._created[thread_id] = datetime.now(UTC)

    async def known(self, thread_id: str) -> bool:
        """Whether there is such a thread."""
        return thread_id in self._created or bool(await self._kept(thread_id, 1))

    async def turns(self, thread_id: str, newest: int | None = None) -> list[RunRecord]:
        """The runs of a thread, the last one first; so many of them, or all.

        Raises:
            HTTPException: With status 404, if there is no such thread.
        """
        found = await self._kept(thread_id, newest)
        if not found and thread_id not in self._created and not self.context.hub.shared:
            told = f"there is no thread {thread_id[:80]!r}: create it, or give if_not_exists='create'"
            raise Problem(told, "UnknownThread", status=404)
        return found

    async def _kept(self, thread_id: str, newest: int | None) -> list[RunRecord]:
        """The runs of a thread that are kept, the last one first; retention takes the first ones away."""
        if not THREAD_ID.fullmatch(thread_id):
            told = "needs 1 to 80 letters of ASCII, digits and _.-, the first no sign, and no .turnN as its end"
            raise InputError(f"a thread's id {told}: it is {thread_id[:80]!r}")
        store = self.context.hub.store
        found = await store.aside(store.beginning, thread_id, f"{thread_id}.turn", newest)
        turns = {turn_of(thread_id, record.id): record for record in found}
        return [turns[number] for number in sorted(turns, reverse=True) if number]

    async def described(self, thread_id: str) -> dict[str, Any]:
        """A thread, as clients see it."""
        turns, state = await self.turns(thread_id), await self.state(thread_id)
        created = updated = self._created.get(thread_id)
        status = "idle"
        if turns:
            created, updated = turns[-1].started_at, turns[0].ended_at or turns[0].started_at
            # What it asked may have been answered by a state that was written since.
            if turns[0].status != "waiting" or state["next"]:
                status = STATUS.get(turns[0].status, status)
        return plain_json(
            {
                "thread_id": thread_id, "created_at": created, "updated_at": updated,
                "metadata": {"graph_id": turns[0].workflow} if turns else {}, "status": status, "config": {},
                "values": state["values"] or None,
                "interrupts": {task["id"]: task["interrupts"] for task in state["tasks"] if task["interrupts"]},
            }
        )  # fmt: skip

    async def delete(self, thread_id: str) -> None:
        """Forget a thread with its runs."""
        for record in await self.turns(thread_id):
            await self.context.hub.cancel(record.id)
            await self.context.hub.delete(record.id)
        self._created.pop(thread_id, None)

    # Runs

    async def run(self, thread_id: str, workflow: str, asked: Turn) -> tuple[RunRecord, int]:
        """Begin a thread's next run, or go on with its last one.

        Returns:
            The run, and how many events it had before.

        Raises:
            HTTPException: With status 409, if another one goes on and it shall not wait.
        """
        if asked.multitask_strategy != "enqueue":  # also where another message waits already
            await self._free(thread_id, workflow, asked)
        async with self._locks.setdefault(thread_id, asyncio.Lock()):
            while True:
                turns = await self._free(thread_id, workflow, asked)
                number = turn_of(thread_id, turns[0].id) + 1 if turns else 1
                turn = thread_id if number == 1 else f"{thread_id}.turn{number}"
                try:
                    return await self._begun(workflow, asked, turns, turn)
                except InputError:
                    if await self.context.hub.record(turn) is None:  # else another server began this turn in between
                        raise

    async def _begun(self, workflow: str, asked: Turn, turns: Sequence[RunRecord], turn: str) -> tuple[RunRecord, int]:
        hub, given, changes, at = self.context.hub, asked.input, asked.changes, asked.at
        if at is None and given is None and asked.answer is None:
            at = await self._written(turns)
        if at is not None:
            origin = (await self._at(turns, at))[0].id
            return await hub.fork(origin, at, given=given, changes=changes, fork_id=turn), 0
        if given is None:
            if not turns or turns[0].status not in RESUMABLE:
                raise InputError("there is nothing to go on with: give an input")
            before = await hub.store.aside(hub.store.count, turns[0].id)
            return await hub.resume(turns[0].id, answer=asked.answer, changes=changes), before
        # One that was cancelled while it waited left no state to go on from; one that finished has one.
        done = turns and turns[0].status == "finished"
        if not (done or (turns and (await self._at(turns, None))[1].created_at)):
            return await hub.start(workflow, given, run_id=turn, changes=changes), 0
        return await hub.fork(turns[0].id, None, given=given, changes=changes, fork_id=turn), 0

    async def _written(self, turns: Sequence[RunRecord]) -> str | None:
        """The last state of a thread if it was written by hand, behind a run that finished, or asks what that answers.

        A run that ended otherwise goes on from there itself.
        """
        if not turns or turns[0].status not in ("finished", "waiting"):
            return None
        snapshot, parent = (await self._at(turns, None))[1], turns[0].parent
        here = snapshot.config.get("configurable", {}).get("checkpoint_id")
        by_hand = (snapshot.metadata or {}).get("source") == "update"
        return here if by_hand and not (parent and parent.checkpoint_id == here) else None

    async def _free(self, thread_id: str, workflow: str, asked: Turn) -> list[RunRecord]:
        """The runs of a thread, as soon as none of them goes on, on whichever server."""
        hub, newest = self.context.hub, None if asked.at else 1
        while turns := await self._kept(thread_id, newest):
            if asked.input is not None and turns[0].workflow != workflow:
                raise InputError(f"thread {thread_id} belongs to {turns[0].workflow!r}: begin another one")
            if turns[0].status in ENDED:
                break
            if asked.multitask_strategy == "reject":
                raise Problem(f"thread {thread_id} is busy", "Busy", can_retry=True, status=409)
            if asked.multitask_strategy != "enqueue":
                await self._require_possible(workflow, asked, turns)
                await hub.cancel(turns[0].id)
            if (await hub.until_ended(turns[0].id)).status not in ENDED:
                raise Busy("the server is stopping: ask again when it is back")
        return turns

    async def _require_possible(self, workflow: str, asked: Turn, turns: Sequence[RunRecord]) -> None:
        """Refuse what would be refused also once the run that goes on is ended for it."""
        hub, changes = self.context.hub, asked.changes
        if asked.answer is not None:
            raise InputError(f"run {turns[0].id!r} goes on, and asks nothing: answer it once it waits")
        pausing(hub.graph(turns[0].workflow), changes.pause_before, changes.pause_after)
        if asked.at is not None:
            await self._at(turns, asked.at)
        if asked.input is not None:
            await hub.prepared(workflow, asked.input, changes, turns[0].id)
        if hub.refusal:
            raise Busy(hub.refusal)

    # States

    async def state(self, thread_id: str, checkpoint_id: str | None = None) -> dict[str, Any]:
        """The state of a thread, now or at a checkpoint.

        Raises:
            HTTPException: With status 404, if there is no such thread or checkpoint.
        """
        turns = await self.turns(thread_id, None if checkpoint_id else 1)
        if not turns and checkpoint_id is None:
            empty = StateSnapshot({}, (), place_of(thread_id), None, None, None, (), ())
            return self.shown(empty, None, thread_id)
        record, snapshot = await self._at(turns, checkpoint_id)
        return self.shown(snapshot, record, thread_id)

    async def _at(self, turns: Sequence[RunRecord], checkpoint_id: str | None) -> tuple[RunRecord, StateSnapshot]:
        """The state of a thread, now or at a checkpoint, and the run that it belongs to."""
        for record in turns:
            graph = self.context.hub.graph(record.workflow)
            try:
                snapshot = await graph.aget_state(place_of(record.id, checkpoint_id))
            except InvalidUpdateError:  # what its last nodes wrote does not fit together: the state before them counts
                snapshot = await anext(graph.aget_state_history(place_of(record.id), limit=1))
            if snapshot.created_at is not None or checkpoint_id is None:
                return record, snapshot
        raise Problem(f"there is no checkpoint {checkpoint_id!r}", "UnknownCheckpoint", status=404)

    async def history(self, thread_id: str, before: str | None) -> AsyncIterator[dict[str, Any]]:
        """The states of a thread, or those before a checkpoint of it, the last one first, each once."""
        seen: set[str] = set()
        waiting = before is not None
        for record in await self.turns(thread_id):
            graph = self.context.hub.graph(record.workflow)
            async for snapshot in graph.aget_state_history(place_of(record.id)):
                checkpoint_id = snapshot.config.get("configurable", {})["checkpoint_id"]
                if not waiting and checkpoint_id not in seen:
                    yield self.shown(snapshot, record, thread_id)
                seen.add(checkpoint_id)
                waiting = waiting and checkpoint_id != before

    async def update(
        self, thread_id: str, values: Any, as_node: str | None, checkpoint_id: str | None
    ) -> dict[str, Any]:
        """Change the state of a thread whose last run has ended; the next turn takes it up."""
        turns = await self.turns(thread_id, None if checkpoint_id else 1)
        if not turns:
            raise InputError(f"thread {thread_id} has no state yet: run it first")
        last = turns[0]
        if last.status not in ENDED:
            raise Problem(f"thread {thread_id} is busy", "Busy", can_retry=True, status=409)
        if isinstance(values, Mapping):
            check_state(self.context.hub.hosted(last.workflow), values)
        if checkpoint_id is not None and (of := (await self._at(turns, checkpoint_id))[0]) is not last:
            # Of an earlier turn: what is written goes on from it, in the thread of the last one.
            saved = await self.context.hub.saved(of, checkpoint_id)
            kept: Any = {key: value for key, value in saved.metadata.items() if key != EPOCH}
            await copied(self.context.hub.saver, saved._replace(metadata=kept), last.id)
        try:
            graph = self.context.hub.graph(last.workflow)
            made = await graph.aupdate_state(place_of(last.id, checkpoint_id), values, as_node=as_node)
        except GraphError:
            raise
        except Exception as error:  # LangGraph's word on what cannot be written, and routes are the user's own code
            raise InputError(f"the state cannot be updated: {type(error).__name__}: {error}") from error
        return _checkpoint(made, thread_id)

    def shown(self, snapshot: StateSnapshot, record: RunRecord | None, thread_id: str) -> dict[str, Any]:
        """A state, as clients see it."""
        tasks = [
            {
                "id": task.id, "name": task.name, "error": str(task.error) if task.error else None, "checkpoint": None,
                "interrupts": [_interrupt(each) for each in task.interrupts], "state": None, "path": [*task.path],
                "result": self._seen(task.result, record),
            }
            for task in snapshot.tasks
        ]  # fmt: skip
        return {
            "values": self.values(snapshot, record), "next": [*snapshot.next], "tasks": tasks,
            "checkpoint": _checkpoint(snapshot.config, thread_id),
            "metadata": plain_json({**(snapshot.metadata or {}), "run_id": record.id if record else None}),
            "created_at": snapshot.created_at,
            "parent_checkpoint": _checkpoint(snapshot.parent_config, thread_id) if snapshot.parent_config else None,
            "interrupts": [_interrupt(each) for each in snapshot.interrupts],
        }  # fmt: skip

    def values(
        self, snapshot: StateSnapshot, record: RunRecord | None, output: Container[str] | None = None
    ) -> dict[str, Any]:
        """The values of a state in plain JSON; given the keys of the graph's output, those alone."""
        values: Any = snapshot.values
        if not isinstance(values, Mapping):
            values = {"__root__": values} if values is not None else {}
        return self._seen({key: each for key, each in values.items() if output is None or key in output}, record)

    def _seen(self, values: Any, record: RunRecord | None) -> Any:
        """Values in plain JSON, without those that name files of this machine."""
        places = self.context.hub.hosted(record.workflow).places if record else ()
        if isinstance(values, Mapping):
            values = {key: value for key, value in values.items() if key not in places}
        return plain_json(values)

    async def steps(self, record: RunRecord, checkpoint_id: str) -> tuple[list[dict[str, Any]], dict[str, Any] | None]:
        """What led to a checkpoint: the nodes' updates, and the output by then; none of a mere input."""
        graph = self.context.hub.graph(record.workflow)
        snapshot = await graph.aget_state(place_of(record.id, checkpoint_id))
        if (snapshot.metadata or {}).get("source") == "input":
            return [], None
        updates: list[dict[str, Any]] = []
        if snapshot.parent_config:
            before = await graph.aget_state(snapshot.parent_config)
            updates = [
                {task.name: self._seen(task.result, record)}
                for task in before.tasks
                if task.result is not None and not is_engine_node(task.name) and task.name != "__start__"
            ]
        return updates, self.values(snapshot, record, graph.output_channels)

    async def last(self, record: RunRecord) -> dict[str, Any]:
        """The output that a run ended with; with what it asks, if it waits."""
        graph = self.context.hub.graph(record.workflow)
        output = self.values(await graph.aget_state(place_of(record.id)), record, graph.output_channels)
        return {**output, "__interrupt__": asked_of(record)} if record.asked else output


def ended_well(record: RunRecord) -> bool:
    """Whether a run ended as it should, or stopped where it was to."""
    return record.status in ("finished", "waiting") or record.error_type == PAUSED


def asked_of(record: RunRecord) -> list[dict[str, Any]]:
    """What a run that waits asks."""
    return [{"value": each.value, "id": each.id} for each in record.asked]


def _interrupt(asked: Any) -> dict[str, Any]:
    return {"value": plain_json(asked.value), "id": asked.id}


def _checkpoint(config: RunnableConfig, thread_id: str) -> dict[str, Any]:
    here = config.get("configurable", {})
    return {
        "thread_id": thread_id, "checkpoint_ns": here.get("checkpoint_ns", ""),
        "checkpoint_id": here.get("checkpoint_id"), "checkpoint_map": here.get("checkpoint_map"),
    }  # fmt: skip
