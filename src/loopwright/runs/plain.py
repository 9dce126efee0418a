"""Any value as plain JSON that people can read: bounded in size, without secrets, whatever the value is.

A state may hold anything: arrays, pictures, messages, objects that cannot be shown at all. What is made of it never
breaks a run, and is never larger than its bounds.
"""

import dataclasses
import math
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence, Set
from enum import Enum
from functools import lru_cache, partial
from itertools import islice
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from loopwright.engine.nodes.redact import SECRET

HIDDEN_VALUE = "***"
"""What stands in the place of a value whose name says that it is a secret."""


@dataclasses.dataclass(frozen=True)
class Bounds:
    """How much of a value is shown."""

    text: int
    """Characters of one text."""
    items: int
    """Items of one sequence or mapping."""
    depth: int = 16
    """Levels of nesting."""
    vector: int = 32
    """Numbers of a list from which on it is a vector, which nobody reads."""


USUAL = Bounds(text=20_000, items=500)
"""What developers see of a value."""

TIGHTER = (Bounds(text=2_000, items=50), Bounds(text=200, items=10, depth=6))
"""What they see where an event would be too large otherwise."""

FIRST = 8
"""Numbers that are shown of a vector or an array."""

REST = "…"
"""The key that stands for what is left out of a mapping."""

_SHORT = 500
"""Characters shown of an object that is shown as Python has it."""

_BEYOND = 8_000
"""Characters behind those shown that are searched for keys too, since one may reach across the cut. What is further
behind is not looked at: to search 20 MB holds up all other threads for seconds, the heartbeat's too."""

_CLOSES = ".________.@"
"""Ends any long key in which a text was cut, so that it is found: more is searched then."""

_SHORTENED = re.compile(
    r".*… \([\d,]+ more characters\)|… [\d,]+ more|<[\d,]+ bytes>|<\w+ that cannot be shown: \w+>|\*\*\*", re.DOTALL
)
"""Texts that this module writes in the place of what it leaves out."""
_KEYS = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|xox[abp]|hf)[-_][A-Za-z0-9_-]{16,}|\bAKIA[0-9A-Z]{16}\b|(?<=Bearer )\S{16,}"
    r"|(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|(?P<place>(?<![\w+.-])[\w+.-]+://[^\s/:@]*:)[^\s/@]+(?=@)"
    r"|(?P<name>\b(?:password|passwd|pwd|secret|api[_-]?key|access_token)=)[^\s&;,'\"]+",
    re.IGNORECASE,
)
"""What looks like a key of the usual providers, a JSON Web Token, a password in an address, or ``password=...``.

What may be long begins where its word does: no long word is read to its end from each place in it."""

_hidden = partial(_KEYS.sub, r"\g<place>\g<name>***")

_OF_TOKENS = re.compile(
    r"tokens(?![a-z])|token[_-]?(?=budget|count|limit|num|total|usage|used|max|min|cost|price|size|len)", re.IGNORECASE
)


def plain(value: Any, bounds: Bounds = USUAL, depth: int = 0) -> Any:
    """A value in plain JSON, with what looks like a secret by its name replaced.

    Args:
        value: Anything.
        bounds: How much is shown of it.
        depth: How deep it is nested already.

    Returns:
        None, a bool, an int of at most 64 bits, a finite float, a text that UTF-8 can hold, or lists and dicts of
        these.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return shortened(value, bounds.text)
    try:
        if kind is int:
            return value if value.bit_length() < 64 else shortened(str(value), bounds.text)
        if kind is float:
            return value if math.isfinite(value) else str(value)
        if depth >= bounds.depth:
            return shortened(reprlib.repr(value), min(_SHORT, bounds.text))
        return _of_kind(value, bounds, depth + 1)
    except Exception as error:  # whatever an object does when it is looked at: the run is not to suffer
        return f"<{kind.__name__} that cannot be shown: {type(error).__name__}>"


def shortened(text: str, most: int) -> str:
    """Any text as UTF-8 and databases take it, cut behind so many characters, without what looks like a key."""
    end = most + _BEYOND
    while end < len(text) and len(_hidden(text[:end] + _CLOSES)) < most + _BEYOND:
        end *= 4
    left_out, text = max(0, len(text) - end), _hidden(text[:end])
    left_out += len(text) - most
    if left_out > 0:
        text = text[:most]
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return f"{text}… ({left_out:,} more characters)" if left_out > 0 else text


def is_shortened(value: Any) -> bool:
    """Whether a value that `plain` gave stands in the place of one that is not shown, or not as a whole."""
    if isinstance(value, dict):
        return REST in value or value.keys() == {"array", "shape", "first"}
    return isinstance(value, str) and _SHORTENED.fullmatch(value) is not None


def message_text(message: BaseMessage) -> str:
    """A message's text; parts that are no text in words."""
    content: Any = message.content
    if isinstance(content, str):
        return content
    return "\n".join(map(part_shown, cast("list[Any]", content)))


def part_shown(part: Any) -> str:
    """What people see of a part of a message's content."""
    if isinstance(part, str):
        return part
    kind = part.get("type", "part")
    return str(part.get("text", "")) if kind in ("text", "input_text", "output_text") else f"[{kind}]"


def fields_of(value: Any) -> dict[str, Any] | None:
    """The fields of a model or a data class; None for anything else, and for a message, which has a form of its own."""
    if isinstance(value, BaseModel):
        return None if isinstance(value, BaseMessage) else dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    return None


def _of_kind(value: Any, bounds: Bounds, depth: int) -> Any:
    if isinstance(value, Enum):
        return plain(value.value, bounds, depth)
    if isinstance(value, str):
        return shortened(str.__str__(value), bounds.text)
    if isinstance(value, Mapping):
        return _mapping(cast("Mapping[Any, Any]", value), bounds, depth)
    if isinstance(value, BaseMessage):
        return _message(value, bounds, depth)
    if (fields := fields_of(value)) is not None:
        return _mapping(fields, bounds, depth)
    if isinstance(value, bytes | bytearray | memoryview):
        return f"<{len(cast('bytes', value)):,} bytes>"
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "flat"):
        return _array(value, bounds, depth)
    if isinstance(value, Sequence | Set):
        return _sequence(cast("Sequence[Any] | Set[Any]", value), bounds, depth)
    return _other(value, bounds, depth)


def _mapping(values: Mapping[Any, Any], bounds: Bounds, depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, value in islice(values.items(), bounds.items):
        name = _key(str(key))
        shown[name] = HIDDEN_VALUE if _is_secret(name, value) else plain(value, bounds, depth)
    if len(values) > bounds.items:
        shown[REST] = f"{len(values) - bounds.items:,} more"
    return shown


@lru_cache(maxsize=4096)
def _key(name: str) -> str:
    return shortened(name, _SHORT)


def _is_secret(name: str, value: Any) -> bool:
    if value is None or isinstance(value, bool | float):
        return False
    # A number of tokens opens no door: "input_tokens", "token_budget". One that is a "token" may.
    return _sounds_secret(name) and not (isinstance(value, int) and not _sounds_secret(_OF_TOKENS.sub("", name)))


@lru_cache(maxsize=4096)
def _sounds_secret(name: str) -> bool:
    return SECRET.search(name) is not None


def _sequence(value: Sequence[Any] | Set[Any], bounds: Bounds, depth: int) -> list[Any]:
    most = bounds.items
    if len(value) > bounds.vector and all(isinstance(item, float) for item in islice(value, bounds.vector)):
        most = FIRST
    shown = [plain(item, bounds, depth) for item in islice(value, most)]
    if len(value) > most:
        shown.append(f"… {len(value) - most:,} more")
    return shown


def _array(value: Any, bounds: Bounds, depth: int) -> Any:
    if not value.shape:
        return plain(value.item(), bounds, depth)
    first = [plain(item.item() if hasattr(item, "item") else item, bounds, depth) for item in value.flat[:FIRST]]
    return {"array": str(value.dtype), "shape": [*value.shape], "first": first}


def _message(message: BaseMessage, bounds: Bounds, depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": message.type, "content": shortened(message_text(message), bounds.text)}
    if message.name:
        shown["name"] = shortened(message.name, _SHORT)
    if message.id:
        shown["id"] = message.id
    if isinstance(message, AIMessage) and message.tool_calls:
        shown["tool_calls"] = plain(message.tool_calls, bounds, depth)
    if isinstance(message, ToolMessage):
        shown["tool_call_id"] = message.tool_call_id
    return shown


def _other(value: Any, bounds: Bounds, depth: int) -> Any:
    if isinstance(value, Iterator):  # looking into it would use it up
        return shortened(repr(cast("Any", value)), _SHORT)
    made = to_jsonable_python(value, fallback=lambda unknown: shortened(repr(unknown), _SHORT))
    return plain(made, bounds, depth)
