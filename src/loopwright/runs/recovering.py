"""Finds what happened in a run that was cut off and is missing from its log.

A checkpoint is kept before the events that tell of it. Of a process that is killed between the two, the saver knows
more than the log; what nodes wrote, and what gates decided, is told from the checkpoints then.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, cast

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.constants import START
from langgraph.types import PregelTask, StateSnapshot

from loopwright.engine import BoundedGraph
from loopwright.engine.events.reasons import stops_of
from loopwright.engine.events.schema import LoopDecided, NodeFinished, NodeStarted, RunEvent, StateSaved
from loopwright.engine.gate import is_engine_node
from loopwright.engine.langgraph_private import AHEAD
from loopwright.engine.ledger import LEDGER, STOP_REASON
from loopwright.engine.loop import Spend
from loopwright.runs.checkpoints import thread
from loopwright.runs.recording import Recorder

UNFINISHED = ("__error__", "__error_source_node__", "__interrupt__", "__resume__")
"""What LangGraph writes of a task that did not end well: such a task runs again when the run goes on."""


async def recovered(graph: BoundedGraph, run_id: str, recorder: Recorder) -> tuple[list[RunEvent], set[str]]:
    """Look for what the saver knows of a run and its log, which the recorder knows, does not.

    Returns:
        What happened, in order; and the visits of the superstep that was under way that had ended: they do not run
        again.
    """
    missing: list[StateSnapshot] = []
    before: StateSnapshot | None = None
    async for snapshot in graph.aget_state_history(thread(run_id)):
        if _id(snapshot) in recorder.saved:
            before = snapshot
            break
        missing.append(snapshot)
    saver = cast("BaseCheckpointSaver[str]", graph.checkpointer)
    events: list[RunEvent] = []
    for snapshot in reversed(missing):
        if before is not None:
            events += await _between(saver, before, snapshot, recorder)
        saved = StateSaved(
            at=_at(snapshot), step=_step(snapshot), checkpoint_id=_id(snapshot),
            next=[*snapshot.next], values=dict(snapshot.values),
        )  # fmt: skip
        events.append(saved)
        before = snapshot
    if before is None:
        return [], set()
    kept = await saver.aget_tuple(before.config)
    writes: dict[str, dict[str, Any]] = {}
    for task, channel, value in (kept and kept.pending_writes) or ():
        if channel not in UNFINISHED:
            writes.setdefault(task, {})[channel] = value
    done = [task for task in before.tasks if task.id in writes]
    ledger = _ledger(kept)
    for task in done:
        if is_engine_node(task.name):
            goto = [channel.removeprefix(AHEAD) for channel in writes[task.id] if channel.startswith(AHEAD)]
            events += _decided(task.name, ledger, writes[task.id], goto, _at(before), _step(before) + 1)
        events += _visited(task, recorder, _at(before), 0.0)
    return events, {task.id for task in done}


async def _between(
    saver: BaseCheckpointSaver[str], before: StateSnapshot, after: StateSnapshot, recorder: Recorder
) -> list[RunEvent]:
    """What happened from one checkpoint to the next."""
    events: list[RunEvent] = []
    seconds = max(0.0, (_at(after) - _at(before)).total_seconds())
    for task in before.tasks:
        if is_engine_node(task.name):
            ledgers = [_ledger(await saver.aget_tuple(each.config)) for each in (before, after)]
            values = {LEDGER: ledgers[1], STOP_REASON: after.values.get(STOP_REASON)}
            events += _decided(task.name, ledgers[0], values, [*after.next], _at(after), _step(after))
        events += _visited(task, recorder, _at(after), seconds)
    return events


def _visited(task: PregelTask, recorder: Recorder, at: datetime, seconds: float) -> list[RunEvent]:
    # Of a gate a log has what it decided and no visit, as it is hidden from LangGraph's streams.
    if task.name == START or is_engine_node(task.name) or task.id in recorder.finished:
        return []
    result: Any = task.result
    events: list[RunEvent] = []
    if task.id not in recorder.visit_of:
        events.append(NodeStarted(at=at, node=task.name, task_id=task.id, visit=1))
    update = dict(cast("Mapping[str, Any]", result)) if isinstance(result, Mapping) else {}
    finished = NodeFinished(at=at, node=task.name, task_id=task.id, visit=1, seconds=seconds, update=update)
    return [*events, finished]


def _decided(
    gate: str, ledger: Mapping[str, Spend], after: Mapping[str, Any], goto: list[str], at: datetime, step: int
) -> list[RunEvent]:
    """What a gate decided, by the ledger before and by what was kept after it."""
    loop = gate.partition(".")[2]
    later: Spend | None = (after.get(LEDGER) or {}).get(loop)
    if later is None:
        return []
    granted = later.get("total", 0) > (ledger[loop].get("total", 0) if loop in ledger else 0)
    decision: Literal["granted", "exhausted", "stalled", "over_budget"] = "granted"
    if not granted:
        own = next((stop for stop in stops_of(after.get(STOP_REASON)) if stop["loop"] == loop), None)
        decision = own["outcome"] if own else "exhausted"
    decided = LoopDecided(
        at=at, loop=loop, decision=decision, spent=later["spent"], limit=later["limit"], reason="", goto=goto,
        step=step, kept=True,
    )  # fmt: skip
    return [decided]


def _ledger(saved: CheckpointTuple | None) -> Mapping[str, Spend]:
    return saved.checkpoint["channel_values"].get(LEDGER, {}) if saved else {}


def _step(snapshot: StateSnapshot) -> int:
    return int((snapshot.metadata or {}).get("step", -1))


def _id(snapshot: StateSnapshot) -> str:
    return snapshot.config.get("configurable", {})["checkpoint_id"]


def _at(snapshot: StateSnapshot) -> datetime:
    return datetime.fromisoformat(snapshot.created_at) if snapshot.created_at else datetime.now(UTC)
