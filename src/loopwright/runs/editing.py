"""Edited values of a state: read back from the plain JSON that people see, and put into a copy of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast, get_type_hints

from langchain_core.messages import convert_to_messages
from langgraph.channels import BinaryOperatorAggregate
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import InvalidUpdateError
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from loopwright.engine import BoundedGraph
from loopwright.engine.ledger import HIDDEN
from loopwright.errors import InputError, UnknownNameError
from loopwright.runs.checkpoints import START, copied, thread
from loopwright.runs.recording import Recorder
from loopwright.runs.restoring import restored
from loopwright.workflows.api import Run
from loopwright.workflows.user_graph import holds_messages, without_marks


def values_of(saved: CheckpointTuple) -> Mapping[str, Any]:
    """The state at a checkpoint; before the first superstep that is the input."""
    channels = saved.checkpoint["channel_values"]
    given = channels.get(START)
    return cast("Mapping[str, Any]", given) if isinstance(given, Mapping) else channels


def read_values(
    graph: BoundedGraph,
    schema: type[Any] | None,
    given: Mapping[str, Any],
    present: Mapping[str, Any],
    run: Run,
) -> dict[str, Any]:
    """Read edited values back into what the state holds. What was not changed of a value stays as it is in the state.

    Args:
        graph: The graph.
        schema: The class of its state; None leaves the values plain.
        given: Key of the state -> its value in plain JSON.
        present: The state before.
        run: Knows how people see the state.

    Raises:
        InputError: If the state has no such key, or a value does not fit it or is only a shortened view of one; the
            message names the key.
    """
    hints = get_type_hints(schema, include_extras=True) if schema else {}
    own = set(hints) or set(graph.builder.channels)
    known = {key for key in own if key not in HIDDEN and key in graph.channels}
    recorder = Recorder(run)
    values: dict[str, Any] = {}
    for key, value in given.items():
        if key not in known:
            raise UnknownNameError("key of the state", key, known)
        shown = recorder.plain({key: present[key]})[key] if key in present else None
        whole = restored(value, shown, present.get(key), key)
        as_it_was = key in present and whole is present[key]
        values[key] = whole if as_it_was or key not in hints else _read(key, whole, hints[key])
    return values


async def edited(graph: BoundedGraph, saved: CheckpointTuple, run_id: str, values: Mapping[str, Any]) -> None:
    """Copy a checkpoint to a new run, with edited values.

    What comes next is decided anew by the edges of the node that ran last, if they alone decided it: the edited values
    may lead elsewhere. After parallel nodes, a ``Send``, or a node that said itself where to go, it stays as it was.

    Args:
        graph: The graph.
        saved: The checkpoint.
        run_id: The new run.
        values: Key of the state -> its new value, which replaces the old one whatever the key's reducer is.

    Raises:
        InputError: If the edges fail on the edited values.
    """
    saver = cast("BaseCheckpointSaver[str]", graph.checkpointer)
    given = saved.checkpoint["channel_values"].get(START)
    if isinstance(given, Mapping):
        await copied(saver, saved, run_id, {START: {**cast("Mapping[str, Any]", given), **values}})
        return
    if not await _edges_decided(graph, saved, run_id):
        await copied(saver, saved, run_id, values)
        return
    update = {
        key: Overwrite(value) if isinstance(graph.channels.get(key), BinaryOperatorAggregate) else value
        for key, value in values.items()
    }
    await copied(saver, saved, run_id)
    try:
        await graph.aupdate_state(thread(run_id), update)
    except Exception as error:  # a route is the user's own code
        await saver.adelete_thread(run_id)
        problem = f"{type(error).__name__}: {error}"
        raise InputError(f"with these values the graph cannot say what comes next: {problem}") from error


async def _edges_decided(graph: BoundedGraph, saved: CheckpointTuple, run_id: str) -> bool:
    """Whether the edges of the node that ran last lead, asked again, to where the checkpoint says."""
    saver = InMemorySaver(serde=cast("BaseCheckpointSaver[str]", graph.checkpointer).serde)
    scratch = graph.copy({"checkpointer": saver})
    await copied(saver, saved, run_id)
    before = await scratch.aget_state(thread(run_id))
    try:
        await scratch.aupdate_state(thread(run_id), {})
    except InvalidUpdateError:  # several nodes ran last
        return False
    return sorted((await scratch.aget_state(thread(run_id))).next) == sorted(before.next)


def _read(key: str, value: Any, hint: Any) -> Any:
    hint = without_marks(hint)
    try:
        if holds_messages(hint) and isinstance(value, list):
            return convert_to_messages(cast("list[Any]", value))
        return TypeAdapter(hint).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join([key, *map(str, first["loc"])])
        raise InputError(f"the state's {place} cannot be {first['input']!r:.200}: {first['msg']}") from error
    except PydanticUserError as error:
        raise InputError(f"the state's {key} cannot be edited: values of its type cannot be read from JSON") from error
    except (ValueError, NotImplementedError, TypeError) as error:
        raise InputError(f"the state's {key} cannot be read: {error}") from error
