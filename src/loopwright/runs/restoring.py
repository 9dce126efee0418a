"""Brings back what people see only in part: an edited value keeps, where it was not edited, what the state has.

What people see of a state is shortened, and without secrets. Who changes one item of a list sends the whole list back,
with everything that was left out of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, cast

from langchain_core.messages import BaseMessage
from pydantic import BaseModel

from loopwright.errors import InputError
from loopwright.runs.plain import REST, is_shortened


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
        now, before = cast("dict[str, Any]", given), cast("dict[str, Any]", shown)
        if isinstance(value, Mapping):
            return _mapping(now, before, cast("Mapping[Any, Any]", value), place)
        if (fields := _fields(value)) is not None:
            return _model(now, before, fields, place)
    if isinstance(given, list) and isinstance(shown, list) and isinstance(value, list | tuple):
        return _sequence(cast("list[Any]", given), cast("list[Any]", shown), cast("Sequence[Any]", value), place)
    return _whole(given, place)


def _mapping(given: dict[str, Any], shown: dict[str, Any], value: Mapping[Any, Any], place: str) -> dict[Any, Any]:
    keys = {str(key): key for key in value}
    made: dict[Any, Any] = {}
    for name, item in given.items():
        if name == REST and _same(item, shown.get(REST)):
            made |= {key: value[key] for known, key in keys.items() if known not in shown}
        elif name in shown and name in keys:
            made[keys[name]] = restored(item, shown[name], value[keys[name]], f"{place}.{name}")
        else:
            made[name] = _whole(item, f"{place}.{name}")
    return made


def _model(given: dict[str, Any], shown: dict[str, Any], fields: dict[str, Any], place: str) -> dict[str, Any]:
    made = {name: field for name, field in fields.items() if name not in shown}
    for name, item in given.items():
        if name in fields:
            made[name] = restored(item, shown.get(name), fields[name], f"{place}.{name}")
        elif not _same(item, shown.get(name)):
            raise InputError(
                f"the state's {place}.{name} cannot be edited: it is shown in short, and no field of what the state has"
            )
    return made


def _sequence(given: list[Any], shown: list[Any], value: Sequence[Any], place: str) -> list[Any]:
    made: list[Any] = []
    for at, item in enumerate(given):
        if shown and len(value) >= len(shown) and is_shortened(item) and _same(item, shown[-1]):
            made += value[len(shown) - 1 :]  # the rest of the list, or the one long text at its end
            continue
        # Items may have been put in or taken out: one that is seen unchanged anywhere is that one.
        same = next((number for number, one in enumerate(shown[: len(value)]) if _same(item, one)), None)
        if same is not None:
            made.append(value[at if at < len(shown) and _same(item, shown[at]) else same])
        elif len(given) == len(shown) and at < len(value):
            made.append(restored(item, shown[at], value[at], f"{place}.{at}"))
        else:
            made.append(_whole(item, f"{place}.{at}"))
    return made


def _whole(given: Any, place: str) -> Any:
    """A part that is new; it must not be what stands in the place of another value."""
    if is_shortened(given):
        raise InputError(
            f"the state's {place} cannot be {str(given)[-60:]!r}: that is a shortened view of a value; leave it as it "
            "was, or give the whole value"
        )
    if isinstance(given, dict):
        for name, item in cast("dict[str, Any]", given).items():
            _whole(item, f"{place}.{name}")
    elif isinstance(given, list):
        for at, item in enumerate(cast("list[Any]", given)):
            _whole(item, f"{place}.{at}")
    return given


def _fields(value: Any) -> dict[str, Any] | None:
    if isinstance(value, BaseMessage):  # people see it in the form that chat models take
        return None
    if isinstance(value, BaseModel):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _same(a: Any, b: Any) -> bool:
    """JSON that was edited in a browser may have ``1`` for ``1.0``; True is no number."""
    if isinstance(a, dict) and isinstance(b, dict):
        one, other = cast("dict[str, Any]", a), cast("dict[str, Any]", b)
        return one.keys() == other.keys() and all(_same(item, other[key]) for key, item in one.items())
    if isinstance(a, list) and isinstance(b, list):
        listed, others = cast("list[Any]", a), cast("list[Any]", b)
        return len(listed) == len(others) and all(map(_same, listed, others))
    return a == b and isinstance(a, bool) == isinstance(b, bool)
