"""Text as every store can keep it, so that one contract holds for all: without signs that some refuse, and bounded."""

from __future__ import annotations

import hashlib
import re
from dataclasses import is_dataclass, replace
from operator import is_not
from typing import Any, cast

from loopwright.errors import StoreError
from loopwright.retrieval.records import Contribution

MOST_ID_BYTES = 2_000
"""The longest id of a document, in UTF-8; an entry of PostgreSQL's ordered index holds 2,704 bytes."""
MOST_NAME_BYTES = 1_000
"""The longest name, tag or value that is told apart as it stands; two of them share an entry of an index."""

_PASSAGE_BYTES = 100  # what a passage's id may have besides that of its document
_DIGEST_DIGITS = 16
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """A text of the same length that every store takes: U+FFFD instead of NUL and lone surrogates."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_value(value: Any) -> Any:
    """A parameter of a statement, made storable if it is text."""
    return storable(value) if isinstance(value, str) else value


def bounded(text: str) -> str:
    """A name, tag or value as it is indexed: one that is too long is cut, and ends with a digest of the whole."""
    if len(text) * 4 <= MOST_NAME_BYTES:
        return text
    data = storable(text).encode()
    if len(data) <= MOST_NAME_BYTES:
        return text
    kept = data[: MOST_NAME_BYTES - _DIGEST_DIGITS - 1].decode(errors="ignore")
    return f"{kept}~{hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]}"


def storable_contribution(item: Contribution) -> Contribution:
    """A contribution whose texts are storable, all in the same way, so that they still name each other.

    Raises:
        StoreError: If an id is too long.
    """
    item = cast(Contribution, _cleaned(item))
    _check_id("document", item.document.id, MOST_ID_BYTES)
    for passage in item.passages:
        _check_id("passage", passage.id, MOST_ID_BYTES + _PASSAGE_BYTES)
    return item


def _check_id(what: str, id: str, most: int) -> None:
    if len(id) * 4 > most and (length := len(id.encode())) > most:
        raise StoreError(f"the id of a {what} has {length} bytes, at most {most} are kept; shorten it: {id[:100]!r}...")


def _cleaned(value: Any) -> Any:
    # Nearly everything is storable already, and there may be millions of mentions: what need not change is not copied.
    if isinstance(value, str):
        return storable(value) if _UNSTORABLE.search(value) else value
    if isinstance(value, tuple):
        given = cast("tuple[Any, ...]", value)
        cleaned = tuple(map(_cleaned, given))
        return cleaned if any(map(is_not, cleaned, given)) else given
    if is_dataclass(value) and not isinstance(value, type):
        parts = {name: getattr(value, name) for name in value.__dataclass_fields__}
        changed = {name: new for name, part in parts.items() if (new := _cleaned(part)) is not part}
        return replace(value, **changed) if changed else value
    if isinstance(value, dict):
        return {_cleaned(name): _cleaned(inner) for name, inner in cast("dict[Any, Any]", value).items()}
    return value
