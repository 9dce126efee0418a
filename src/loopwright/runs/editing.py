"""Edited values of a state: read back from the plain JSON that people see, and put into a copy of a checkpoint.

What people see of a state is shortened, and without secrets. Who changes one item of a list sends the whole list back,
with everything that was left out of it: what was not edited stays as the state has it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast, get_type_hints

from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.channels import BinaryOperatorAggregate, DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.constants import START
from langgraph.errors import InvalidUpdateError
from langgraph.types import Overwrite
from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from loopwright.engine import BoundedGraph
from loopwright.engine.ledger import HIDDEN
from loopwright.errors import InputError, UnknownNameError
from loopwright.runs.checkpoints import copied, thread
from loopwright.runs.plain import fields_of, is_shortened, part_shown
from loopwright.runs.recording import Recorder
from loopwright.workflows.api import Run
from loopwright.workflows.user_graph import holds_messages, without_marks


def read_values(
    graph: BoundedGraph, schema: type[Any] | None, given: Mapping[str, Any], saved: CheckpointTuple, run: Run
) -> dict[str, Any]:
    """Read edited values back into what the state holds. What was not changed of a value stays as it is in the state.

    Args:
        graph: The graph.
        schema: The class of its state; None leaves the values plain.
        given: Key of the state -> its value in plain JSON.
        saved: The checkpoint whose state is edited; before the first superstep that is the input.
        run: Knows how people see the state.

    Raises:
        InputError: If the state has no such key, or a value does not fit it or is only a shortened view of one; the
            message names the key.
    """
    channels = saved.checkpoint["channel_values"]
    before = channels.get(START)
    present = cast("Mapping[str, Any]", before) if isinstance(before, Mapping) else channels
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
        values = {START: {**cast("Mapping[str, Any]", given), **values}}
    if isinstance(given, Mapping) or not await _edges_decided(graph, saved, run_id):
        return await copied(saver, saved, run_id, values)
    update = {
        key: Overwrite(value) if isinstance(graph.channels.get(key), BinaryOperatorAggregate | DeltaChannel) else value
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
    except (ValueError, NotImplementedError, TypeError, AttributeError) as error:
        raise InputError(f"the state's {key} cannot be read: {error}") from error


def restored(given: Any, shown: Any, value: Any, place: str) -> Any:
    """An edited value with everything that was not changed as the state has it.

    Args:
        given: The edited value in plain JSON.
        shown: What people saw of the value before, in plain JSON.
        value: The value before, as the state has it.
        place: Where it stands in the state, for the message.

    Raises:
        InputError: If a part that was changed is, or holds, only a shortened view of a value.
    """
    if _same(given, shown):
        return value
    if isinstance(given, dict) and isinstance(shown, dict):
        if isinstance(value, BaseMessage) and given.get("id") == shown.get("id"):  # else another one in its place
            rest = {name: item for name, item in cast("dict[str, Any]", given).items() if name != "role"}
            text, parts = rest.get("content"), value.content
            if isinstance(text, str) and isinstance(parts, list) and text != shown.get("content"):
                rest["content"] = _among(text, parts, f"{place}.content")
            # What a provider said of calls would be read in place of those that were taken out.
            own = {name: item for name, item in value.additional_kwargs.items() if name != "tool_calls"}
            known = {**dict(value), "additional_kwargs": own}
            made = _named(rest, cast("dict[str, Any]", shown), known, place, fixed=True)
            if given.get("role") != value.type:
                return {**given, "content": made.get("content")}
            return _read(place, made, type(value))
        fields = fields_of(value)
        if (known := value if fields is None else fields) is not None and isinstance(known, Mapping):
            now, before = cast("dict[str, Any]", given), cast("dict[str, Any]", shown)
            return _named(now, before, cast("Mapping[Any, Any]", known), place, fixed=fields is not None)
    if isinstance(given, list) and isinstance(shown, list) and isinstance(value, list | tuple):
        return _sequence(cast("list[Any]", given), cast("list[Any]", shown), cast("Sequence[Any]", value), place)
    return require_whole(given, f"state's {place}")


def _among(given: str, parts: list[Any], place: str) -> list[Any]:
    """The content of a message that has several parts, with one of its texts edited."""
    shown = [*map(part_shown, parts)]
    for at, part in enumerate(parts):
        before, after = "".join(f"{each}\n" for each in shown[:at]), "".join(f"\n{each}" for each in shown[at + 1 :])
        text = given[len(before) : len(given) - len(after)]
        if isinstance(part, dict) and part.get("text") == shown[at] and given == f"{before}{text}{after}":
            return [*parts[:at], {**part, "text": text}, *parts[at + 1 :]]
    raise InputError(f"the state's {place} has several parts: edit one text, the rest left as shown, or give a list")


def _named(
    given: dict[str, Any], shown: dict[str, Any], value: Mapping[Any, Any], place: str, *, fixed: bool
) -> dict[Any, Any]:
    """A mapping, or the fields of a model, to which no other can be added; what people did not see of it stays."""
    keys = {str(key): key for key in value}
    made = {value_key: value[value_key] for name, value_key in keys.items() if name not in shown}
    for name, item in given.items():
        if name in keys and name in shown:
            made[keys[name]] = restored(item, shown[name], value[keys[name]], f"{place}.{name}")
        elif name in shown and _same(item, shown[name]):
            continue  # what is left out, in words, or what is shown of several fields together
        elif fixed and name not in keys:
            raise InputError(
                f"the state's {place}.{name} cannot be edited: it is shown in short, and no field of what the state has"
            )
        else:
            made[keys.get(name, name)] = require_whole(item, f"state's {place}.{name}")
    return made


def _sequence(given: list[Any], shown: list[Any], value: Sequence[Any], place: str) -> list[Any]:
    made: list[Any] = []
    ids = [one.get("id") if isinstance(one, dict) else None for one in shown[: len(value)]]
    for at, item in enumerate(given):
        if shown and len(value) >= len(shown) and is_shortened(item) and _same(item, shown[-1]):
            made += value[len(shown) - 1 :]  # the rest of the list, or the one long text at its end
            continue
        # Items may have been put in or taken out: one that is seen unchanged anywhere is that one.
        same = next((number for number, one in enumerate(shown[: len(value)]) if _same(item, one)), None)
        if same is not None:
            made.append(value[at if at < len(shown) and _same(item, shown[at]) else same])
        elif isinstance(item, dict) and (key := cast("Any", item).get("id")) is not None and ids.count(key) == 1:
            made.append(restored(item, shown[ids.index(key)], value[ids.index(key)], f"{place}.{at}"))
        elif len(given) == len(shown) and at < len(value):
            made.append(restored(item, shown[at], value[at], f"{place}.{at}"))
        else:
            made.append(require_whole(item, f"state's {place}.{at}"))
    return made


def require_whole(given: Any, place: str) -> Any:
    """A part that is new; it must not be what stands in the place of another value.

    Raises:
        InputError: If it is.
    """
    if is_shortened(given):
        raise InputError(
            f"the {place} cannot be {str(given)[-60:]!r}: that is a shortened view of a value; leave it as it "
            "was, or give the whole value"
        )
    parts: Any = given.items() if isinstance(given, dict) else enumerate(given) if isinstance(given, list) else ()
    for name, item in parts:
        require_whole(item, f"{place}.{name}")
    return given


def _same(a: Any, b: Any) -> bool:
    """JSON that was edited in a browser may have ``1`` for ``1.0``; True is no number."""
    if isinstance(a, dict) and isinstance(b, dict):
        one, other = cast("dict[str, Any]", a), cast("dict[str, Any]", b)
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    if isinstance(a, list) and isinstance(b, list):
        listed, others = cast("list[Any]", a), cast("list[Any]", b)
        return len(listed) == len(others) and all(map(_same, listed, others))
    return a == b and isinstance(a, bool) == isinstance(b, bool)
