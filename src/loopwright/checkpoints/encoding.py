"""How one serialised value is written into a JSON file, and read back without loss.

A saver hands over what its serializer made: a tag and bytes. Two forms exist in the file:

- **Plain**: the value itself. Chosen exactly if reading the JSON back and serialising it again gives the same bytes, so
  the choice can never lose anything.
- **Wrapped**: ``{"readable": ..., "$msgpack": BASE64, "type": TAG}`` for everything else (models, enums, sets, bytes,
  dates, NaN, arrays). ``readable`` is a rendering for people and is ignored on reading; ``type`` is left out if it is
  ``msgpack``. Encrypted bytes have no rendering.

Nothing here imports or builds a class that a file names: that is left to the saver's serializer and its allowlist.
"""

import base64
import json
from contextlib import suppress
from typing import Any, cast

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic_core import to_json

TypedBytes = tuple[str, bytes]
"""What LangGraph's serializers produce: a tag such as ``"msgpack"``, and the bytes."""

WRAPPED = "$msgpack"
"""The key that marks a wrapped value."""


def encode(typed: TypedBytes, value: Any = None) -> Any:
    """Turn a serialised value into what `json` can write: the value itself if it is plain JSON, or the wrapped form.

    Args:
        typed: The serialised value.
        value: The value, to be rendered beside it where its bytes are not encrypted.
    """
    tag, data = typed
    if tag == "null" and not data:
        return None
    if tag == "msgpack":
        with suppress(TypeError, ValueError, RecursionError):
            return _plain(typed)
    shown = _readable(value) if tag == "msgpack" else None
    wrapped: dict[str, Any] = {} if shown is None else {"readable": shown}
    wrapped[WRAPPED] = base64.b64encode(data).decode("ascii")
    if tag != "msgpack":
        wrapped["type"] = tag
    return wrapped


def decode(value: Any) -> TypedBytes:
    """Undo `encode`.

    Raises:
        ValueError: If a wrapped value is damaged.
        TypeError: If a wrapped value holds something other than text.
    """
    if isinstance(value, dict) and WRAPPED in value:
        wrapped = cast("dict[str, Any]", value)
        return str(wrapped.get("type", "msgpack")), base64.b64decode(wrapped[WRAPPED], validate=True)
    return _STRICTLY_PLAIN.dumps_typed(value)


def _readable(value: Any) -> Any:
    """A value for a person to read; None if it cannot be shown."""
    with suppress(ValueError, RecursionError):
        return json.loads(to_json(value, fallback=str, inf_nan_mode="strings", bytes_mode="base64"))
    return None


def _plain(typed: TypedBytes) -> Any:
    """Give the value if it is plain JSON, or raise."""
    value = _STRICTLY_PLAIN.loads_typed(typed)
    if isinstance(value, dict) and WRAPPED in value:
        raise ValueError("looks like a wrapped value")
    if _STRICTLY_PLAIN.dumps_typed(json.loads(json.dumps(value, allow_nan=False))) != typed:
        raise ValueError("JSON would change it")
    return value


def _refuse(code: int, data: bytes) -> Any:
    """Refuse everything that msgpack alone cannot say."""
    raise ValueError(f"extension {code} is not plain")


_STRICTLY_PLAIN = JsonPlusSerializer(__unpack_ext_hook__=_refuse)
