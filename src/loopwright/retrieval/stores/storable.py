"""Names and ids as every store can index them: bounded, so that one contract holds for all."""

from __future__ import annotations

import hashlib

from loopwright.database.values import storable
from loopwright.errors import StoreError

__all__ = ["MOST_ID_BYTES", "MOST_NAME_BYTES", "bounded", "check_id", "storable"]

MOST_ID_BYTES = 2_000
"""The longest id of a document, in UTF-8; an entry of PostgreSQL's ordered index holds 2,704 bytes."""
MOST_NAME_BYTES = 1_000
"""The longest name, tag or value that is told apart as it stands; two of them share an entry of an index."""

_DIGEST_DIGITS = 16


def bounded(text: str) -> str:
    """A name, tag or value as it is indexed: one that is too long is cut, and ends with a digest of the whole."""
    if len(text) * 4 <= MOST_NAME_BYTES:
        return text
    data = storable(text).encode()
    if len(data) <= MOST_NAME_BYTES:
        return text
    kept = data[: MOST_NAME_BYTES - _DIGEST_DIGITS - 1].decode(errors="ignore")
    return f"{kept}~{hashlib.sha256(data).hexdigest()[:_DIGEST_DIGITS]}"


def check_id(id: str) -> str:
    """The id of a document as it is kept.

    Raises:
        StoreError: If it is too long.
    """
    id = storable(id)
    if len(id) * 4 > MOST_ID_BYTES and (length := len(id.encode())) > MOST_ID_BYTES:
        raise StoreError(
            f"the id of a document has {length} bytes, at most {MOST_ID_BYTES} are kept; shorten it: {id[:100]!r}..."
        )
    return id
