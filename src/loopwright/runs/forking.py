"""Puts a checkpoint of one run into the thread of another: as it was, edited, or behind a gate that refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NotRequired, Required, cast, get_args, get_origin, get_type_hints

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import RunnableConfig
from langgraph.channels import BinaryOperatorAggregate
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, copy_checkpoint
from langgraph.errors import InvalidUpdateError
from langgraph.types import Command, Overwrite
from pydantic import TypeAdapter, ValidationError

from loopwright.engine import BoundedGraph
from loopwright.engine.books import HIDDEN, REQUESTS
from loopwright.engine.events import LoopDecided
from loopwright.engine.gate import Gate
from loopwright.errors import InputError, UnknownNameError
from loopwright.runs.recovering import START


def thread(run_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    """Where a run's checkpoints are.

    Args:
        run_id: The run.
        checkpoint_id: One of them; None for the last.
    """
    place = {"thread_id": run_id, "checkpoint_ns": ""}
    return {"configurable": {**place, "checkpoint_id": checkpoint_id} if checkpoint_id else place}


async def copied(graph: BoundedGraph, saved: CheckpointTuple, run_id: str) -> None:
    """Copy a checkpoint to a new run. What its next nodes wrote already is not copied: they run again.

    Args:
        graph: The graph; its saver keeps both.
        saved: The checkpoint.
        run_id: The new run.
    """
    await _put(graph, saved, run_id, {})


async def _put(graph: BoundedGraph, saved: CheckpointTuple, run_id: str, values: Mapping[str, Any]) -> None:
    saver = cast("BaseCheckpointSaver[str]", graph.checkpointer)
    checkpoint = copy_checkpoint(saved.checkpoint)
    checkpoint["channel_values"] = {**checkpoint["channel_values"], **values}
    await saver.aput(thread(run_id), checkpoint, saved.metadata, dict(checkpoint["channel_versions"]))


async def edit(graph: BoundedGraph, saved: CheckpointTuple, run_id: str, values: Mapping[str, Any]) -> None:
    """Put edited values in the place of a new run's, as LangGraph's ``update_state`` does: edges are asked again.

    Args:
        graph: The graph.
        saved: The checkpoint of which the run has a copy.
        run_id: The new run.
        values: Key of the state -> its new value, which replaces the old one whatever the key's reducer is.
    """
    given = saved.checkpoint["channel_values"].get(START)
    if isinstance(given, Mapping):  # before the first superstep the state is the input
        await _put(graph, saved, run_id, {START: {**cast("Mapping[str, Any]", given), **values}})
        return
    update = {
        key: Overwrite(value) if isinstance(graph.channels.get(key), BinaryOperatorAggregate) else value
        for key, value in values.items()
    }
    try:
        await graph.aupdate_state(thread(run_id), update)
    except InvalidUpdateError:
        # Several nodes ran last, and nobody can say whose edges to ask: what comes next stays as it was.
        await _put(graph, saved, run_id, values)


def read_values(graph: BoundedGraph, schema: type[Any] | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Read edited values back into what the state holds.

    Args:
        graph: The graph.
        schema: The class of its state; None leaves the values plain.
        given: Key of the state -> its value in plain JSON.

    Raises:
        InputError: If the state has no such key, or a value does not fit it; the message names the key.
    """
    hints = get_type_hints(schema, include_extras=True) if schema else {}
    own = set(hints) or set(graph.builder.channels)
    known = {key for key in own if key not in HIDDEN and key in graph.channels}
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            raise UnknownNameError("key of the state", key, known)
        values[key] = _read(key, value, hints[key]) if key in hints else value
    return values


def _read(key: str, value: Any, hint: Any) -> Any:
    while get_origin(hint) in (Required, NotRequired):
        (hint,) = get_args(hint)
    try:
        if _holds_messages(hint) and isinstance(value, list):
            return convert_to_messages(cast("list[Any]", value))
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join([key, *map(str, first["loc"])])
        raise InputError(f"the state's {place} cannot be {first['input']!r:.200}: {first['msg']}") from error
    except (ValueError, NotImplementedError, TypeError) as error:
        raise InputError(f"the state's {key} cannot be read: {error}") from error


def _holds_messages(hint: Any) -> bool:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return any(isinstance(each, type) and issubclass(each, BaseMessage) for each in get_args(hint)) or any(
        _holds_messages(each) for each in get_args(hint) if get_origin(each) is not None
    )


async def leave_out(
    graph: BoundedGraph, saved: CheckpointTuple, run_id: str, decided: LoopDecided
) -> LoopDecided:  # fmt: skip
    """Let a new run's gate refuse, as if its loop's limit were 0, where it granted the first pass.

    Args:
        graph: The graph.
        saved: The checkpoint before the gate, of which the run has a copy.
        run_id: The new run.
        decided: What the gate decided.

    Returns:
        What it decides instead.
    """
    loop = next(loop for loop in graph.loops if loop.name == decided.loop)
    never = dataclasses.replace(loop, limit=0, reason=_constant(decided.reason))
    channels = saved.checkpoint["channel_values"]
    state = {**channels, REQUESTS: {**channels.get(REQUESTS, {}), loop.name: [*decided.sources]}}
    answer = Gate(never, lambda plain: plain).invoke(
        cast("Any", state), {"metadata": {"langgraph_step": decided.step}}
    )  # fmt: skip
    goto = [str(node) for node in cast("list[Any]", answer.goto)]
    others = [node for node in (await graph.aget_state(thread(run_id))).next if node != loop.gate]
    jump: Command[Any] = Command(update=answer.update, goto=[*goto, *others])
    await graph.aupdate_state(thread(run_id), jump, as_node=loop.gate)
    return LoopDecided(
        loop=loop.name, decision="exhausted", spent=0, limit=0, reason=decided.reason, goto=goto, step=decided.step,
        why="the run leaves this loop's passes out", sources=decided.sources,
    )  # fmt: skip


def _constant(text: str) -> Callable[[Any], str]:
    return lambda state: text
