"""The checkpoints of a run: what its log tells of them, where a loop began, and how one is copied to another run."""

import copy
import dataclasses
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, copy_checkpoint
from langgraph.constants import END, START
from pydantic import ValidationError

import loopwright
from loopwright.config import Frozen
from loopwright.engine import BoundedGraph, Loop
from loopwright.engine.events.schema import LoopDecided, RunEvent, StateSaved, run_event
from loopwright.engine.gate import Gate, is_engine_node
from loopwright.engine.langgraph_private import ROOT
from loopwright.engine.proof.read import read_topology
from loopwright.errors import InputError, StoreError, UnknownNameError
from loopwright.runs.store.history import RunStore


class CheckpointView(Frozen):
    """A checkpoint of a run."""

    step: int
    """The superstep, -1 for the input."""
    checkpoint_id: str
    """Names it."""
    next: tuple[str, ...]
    """The nodes that run next; none at the end."""
    at: datetime
    """When it was made, UTC."""


def logged(store: RunStore, run_id: str, *kinds: str) -> Iterator[RunEvent]:
    """The events of a run's log in order; blocks.

    Raises:
        StoreError: If one is none that this version of Loopwright knows.
    """
    for kept in store.log(run_id):
        if not kinds or kept.name in kinds:
            try:
                yield run_event.validate_json(kept.data)
            except ValidationError as error:
                raise StoreError(
                    f"event {kept.seq} ({kept.name[:50]}) of run {run_id[:80]} is damaged, or of another version of "
                    f"Loopwright than this one ({loopwright.__version__}): look at the run with the version that made "
                    "it, or delete it"
                ) from error


def checkpoints(store: RunStore, run_id: str) -> list[CheckpointView]:
    """The checkpoints of a run, oldest first; blocks."""
    return [
        CheckpointView(step=event.step, checkpoint_id=event.checkpoint_id, next=(*event.next,), at=event.at)
        for event in logged(store, run_id, "state")
        if isinstance(event, StateSaved)
    ]


def state_at(store: RunStore, run_id: str, checkpoint_id: str) -> dict[str, Any]:
    """The whole state at a checkpoint in plain JSON, put together from the differences before it; blocks.

    Raises:
        UnknownNameError: If the run has no such checkpoint.
    """
    known: list[str] = []
    for event, values in saved_states(logged(store, run_id, "state")):
        if event.checkpoint_id == checkpoint_id:
            return values
        known.append(event.checkpoint_id)
    raise UnknownNameError("checkpoint", checkpoint_id, known[-5:])


def saved_states(events: Iterable[RunEvent]) -> Iterator[tuple[StateSaved, dict[str, Any]]]:
    """Each checkpoint that events tell of, with the whole state at it."""
    values: dict[str, Any] = {}
    for event in events:
        if isinstance(event, StateSaved):
            values = {key: value for key, value in values.items() if key not in event.removed} | event.changed
            yield event, values


def before_pass(store: RunStore, run_id: str, loop: str, after: int = 0) -> StateSaved | None:
    """The last checkpoint before a loop's first granted pass, or the one `after` so many; None without it; blocks."""
    saved: StateSaved | None = None
    granted = dict[int, None]()  # by superstep: a gate that was cut off decides again
    for event in logged(store, run_id, "state", "loop"):
        if isinstance(event, StateSaved):
            # Of parallel branches one may be told of its end before the gate has decided.
            saved = event if f"loop.{loop}" in event.next else saved
        elif isinstance(event, LoopDecided) and event.loop == loop and event.decision == "granted" and event.spent:
            granted[event.step] = None
            if len(granted) > after:
                return saved
    return None


def without_passes(graph: BoundedGraph, name: str) -> BoundedGraph:
    """A copy of a graph in which a loop's limit is 0 from now on, whatever its scope and its ledger.

    A loop that leads to the end where the graph itself would not have gone is left as its source leaves it otherwise.

    Raises:
        InputError: If its source could have gone on in several ways, or in none: the run would be compared with
            something else.
    """
    loop = next(loop for loop in graph.loops if loop.name == name)
    node = graph.nodes[loop.gate]
    gate = copy.copy(cast("Gate", node.bound))
    exhausted = loop.exhausted
    if loop.fallbacks == (END,):
        ways = read_topology(graph.given).ways()
        exhausted = {source: _left_by(loop, source, [*ways.get(source, ())]) for source in loop.sources}
        if len({*exhausted.values()}) > 1 and name not in graph.builder.noted:
            raise _unknown(
                name, f"{' and '.join(map(repr, loop.sources))} go to different nodes, and which asked is not noted"
            )
    gate.loop = dataclasses.replace(loop, limit=0, exhausted=exhausted)
    return graph.copy({"nodes": {**graph.nodes, loop.gate: node.copy({"bound": gate})}})


def pausing(graph: BoundedGraph, before: Sequence[str], after: Sequence[str]) -> BoundedGraph:
    """A graph that stops before or after some of its nodes, as LangGraph's ``interrupt_before`` has it.

    Raises:
        UnknownNameError: If it has no such node.
    """
    nodes = [node for node in graph.nodes if node != START and not is_engine_node(node)]
    for name in (*before, *after):
        if name not in (*nodes, "*"):
            raise UnknownNameError("node", name, nodes)
    stops = {"interrupt_before_nodes": before, "interrupt_after_nodes": after}
    # LangGraph's own "*" stops at the gates of loops too.
    return graph.copy({key: nodes if "*" in names else [*names] for key, names in stops.items()})


def _left_by(loop: Loop, source: str, ways: list[str]) -> str:
    """Where a source goes that does not ask for a pass."""
    others = [way for way in ways if way != loop.target]
    if END in others or len(others) == 1:
        return END if END in others else others[0]
    known = f"could have gone on to {' or '.join(map(repr, others))}" if others else "goes nowhere else"
    raise _unknown(loop.name, f"{source!r} {known}")


def _unknown(loop: str, why: str) -> InputError:
    return InputError(
        f"not comparable: without the loop {loop!r}, {why}, so nothing tells what the run would have done. "
        "Declare the loop with the route that it takes when its bound is reached: Loop(..., exhausted=...)"
    )


def thread(run_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """Where a run's checkpoint is; None for the last."""
    if checkpoint_id and not checkpoint_id.isprintable():  # databases refuse NUL and halves of characters
        raise InputError(f"there is no checkpoint {checkpoint_id[:80]!r}")
    place = {"thread_id": run_id, "checkpoint_ns": ""}
    return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


async def remembered(graph: BoundedGraph, saved: CheckpointTuple) -> AsyncIterator[CheckpointTuple]:
    """What the graphs inside with ``checkpointer=True`` knew at a checkpoint, `whole`."""
    saver, here = cast("BaseCheckpointSaver[str]", graph.checkpointer), saved.config.get("configurable", {})
    # Where they can be: LangGraph finds some of the graphs that a node calls, and those inside of these.
    spaces = {**dict.fromkeys(graph.nodes), **dict(graph.get_subgraphs(recurse=True))}
    for space, inner in spaces.items():
        for call in count():  # the second graph that a node calls is its ``1``, and the first may keep nothing
            at = {"thread_id": here["thread_id"], "checkpoint_ns": f"{space}|{call}" if call else space}
            found = [each async for each in saver.alist({"configurable": at}, before=saved.config, limit=1)]
            if found:
                yield await whole(graph, found[0], inner) if inner else found[0]
            elif call:
                break


async def whole(graph: BoundedGraph, saved: CheckpointTuple, inner: Any = None) -> CheckpointTuple:
    """A checkpoint with what the checkpoints before it have of its values, so that it can be copied without them."""
    kept, versions = saved.checkpoint["channel_values"], saved.checkpoint["channel_versions"]
    deltas = [key for key, channel in (inner or graph).channels.items() if isinstance(channel, DeltaChannel)]
    missing = [key for key in deltas if key in versions and key not in kept]
    if not missing:
        return saved
    state: Any = (await graph.aget_state(saved.config)).values
    values = {**kept, **{key: state if key == ROOT else state[key] for key in missing}}
    return saved._replace(checkpoint={**saved.checkpoint, "channel_values": values})


async def copied(
    saver: BaseCheckpointSaver[str], saved: CheckpointTuple, run_id: str, values: Mapping[str, Any] | None = None
) -> None:
    """Copy a checkpoint to a new run. What its next nodes wrote already is not copied: they run again.

    Args:
        saver: Where both are kept.
        saved: The checkpoint, `whole`.
        run_id: The new run.
        values: Key of the state -> its value, where that is another one in the copy.
    """
    checkpoint = copy_checkpoint(saved.checkpoint)
    versions = checkpoint["channel_versions"]
    checkpoint["channel_values"] = {**checkpoint["channel_values"], **(values or {})}
    # Savers that keep each value under its version would pass over a key that has none yet.
    newest: Any = max(versions.values(), default=None)
    new = {key: saver.get_next_version(newest, None) for key in values or {} if key not in versions}
    checkpoint["channel_versions"] = {**versions, **new}
    here = saved.config.get("configurable", {})
    at = {"thread_id": run_id, "checkpoint_ns": here.get("checkpoint_ns", "")}  # that of a graph inside, or empty
    await saver.aput({"configurable": at}, checkpoint, saved.metadata, dict(checkpoint["channel_versions"]))
