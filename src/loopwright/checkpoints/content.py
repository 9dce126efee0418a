"""A serializer that keeps each large value once, and puts a reference in its place.

It wraps the serializer of any saver. What that makes of a value is cut into pieces (see `pieces`), each kept in a store
under its SHA-256; the list of the hashes takes the place of the value, and is cut again if it is long itself. Savers
that write a whole checkpoint at once (SQLite) are met half-way: each large value of its channels is taken out of it.

References never stand among the user's own values, so no value can be mistaken for one: they are in an envelope around
them, with a tag of its own. Small values have no envelope, and are as they would be without the wrapper.
"""

from __future__ import annotations

import copy
import hashlib
import time
from collections.abc import Iterable, Iterator
from typing import Any, cast

import ormsgpack
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from loopwright.checkpoints.blobs import NOTED_EVERY, BlobStore
from loopwright.errors import CheckpointError, ConfigError

TAG = "loopwright.content"
"""The tag of an envelope. No plus sign: LangGraph's encryption puts one between a tag and its own."""

THRESHOLD = 2048
"""From how many bytes on a value is kept apart, unless said otherwise."""

_LEAST_THRESHOLD = 256
_LONG_LIST = 256  # bytes of hashes; a list of eight pieces or more is kept apart too
_HASH = hashlib.sha256().digest_size

Stored = tuple[str, int, bytes]
"""A value in an envelope: the inner serializer's tag; how often the bytes were replaced by the hashes of their pieces;
what was left in the end."""

TypedBytes = tuple[str, bytes]
"""What LangGraph's serializers produce: a tag such as ``"msgpack"``, and the bytes."""


class ContentSerializer(JsonPlusSerializer):
    """Keeps values from some size on in a store, each piece of them once.

    A `JsonPlusSerializer` only by name: LangGraph gives its allowlists to no other class.
    """

    def __init__(self, inner: SerializerProtocol, blobs: BlobStore, threshold: int = THRESHOLD) -> None:
        """Wrap a serializer.

        Args:
            inner: Turns values into bytes and back. One that encrypts makes other bytes of the same value each time, so
                it gains nothing here; let it wrap this one, and the pieces are not encrypted.
            blobs: Where large values are kept.
            threshold: From how many bytes on a value is kept apart; also the shortest piece, and an eighth of the
                longest.

        Raises:
            ConfigError: If the threshold is below 256 bytes.
        """
        super().__init__(allowed_msgpack_modules=None)
        if threshold < _LEAST_THRESHOLD:
            raise ConfigError(f"threshold is {threshold} bytes; give {_LEAST_THRESHOLD} or more.")
        self.inner = inner
        self.blobs = blobs
        self.threshold = threshold
        self._last: dict[str, tuple[bytes, Stored, float]] = {}

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> ContentSerializer:
        """Give a serializer that brings back more classes, with the same store."""
        inner = _with_allowlist(self.inner, [*extra_allowlist])
        if inner is self.inner:
            return self
        derived = copy.copy(self)
        derived.inner = inner
        return derived

    def dumps_typed(self, obj: Any) -> TypedBytes:
        """Turn a value into a tag and bytes.

        Returns:
            What the inner serializer gives, if nothing in it is large; or an envelope.

        Raises:
            CheckpointError: If the store cannot be written to.
        """
        large = self._large_channels(obj)
        if large:
            obj = {**obj, "channel_values": {**obj["channel_values"], **dict.fromkeys(large)}}
        tag, data = self.inner.dumps_typed(obj)
        if not large and len(data) < self.threshold:
            return tag, data
        # A checkpoint without its large values is different at each step, so keeping it apart would gain nothing.
        whole: Stored = (tag, 0, data) if large else self._stored("", (tag, data))
        channels = {name: self._stored(name, typed) for name, typed in large.items()}
        return TAG, ormsgpack.packb([whole, channels], option=ormsgpack.OPT_REPLACE_SURROGATES)

    def loads_typed(self, data: TypedBytes) -> Any:
        """Turn what `dumps_typed` gave, also without this wrapper, into the value again.

        Raises:
            CheckpointError: If a piece is missing from the store, or is damaged.
        """
        if data[0] != TAG:
            return self.inner.loads_typed(data)
        whole, channels = _opened(data)
        value = self.inner.loads_typed(self._restored(whole))
        for name, stored in channels.items():
            value["channel_values"][name] = self.inner.loads_typed(self._restored(stored))
        return value

    def _large_channels(self, obj: Any) -> dict[str, TypedBytes]:
        """Give the large values of a checkpoint's channels, serialised; nothing if this is something else."""
        values: Any = cast("dict[Any, Any]", obj).get("channel_values") if type(obj) is dict else None
        if type(values) is not dict:
            return {}
        large: dict[str, TypedBytes] = {}
        for name, value in cast("dict[Any, Any]", values).items():
            if type(name) is str and not self._is_plainly_small(value):
                typed = self.inner.dumps_typed(value)
                if len(typed[1]) >= self.threshold:
                    large[name] = typed
        return large

    def _is_plainly_small(self, value: Any) -> bool:
        """Say whether a value is small, if that can be said without serialising it."""
        if isinstance(value, str | bytes):
            return 4 * len(value) + 16 < self.threshold  # a character has at most four bytes
        return value is None or isinstance(value, bool | int | float)

    def _stored(self, name: str, typed: TypedBytes) -> Stored:
        """Put the pieces of some bytes into the store, then their hashes, until what stands for them is small."""
        tag, data, now = typed[0], bytes(typed[1]), time.monotonic()
        # Of most values the bytes are those of last time; comparing is ten times faster than cutting and hashing.
        last, stored, when = self._last.get(name, (b"", (tag, 0, b""), 0.0))
        if last == data and stored[0] == tag and now - when < NOTED_EVERY:
            return stored
        new: dict[bytes, bytes] = {}
        depth, left = 0, data
        while not depth or len(left) >= _LONG_LIST:
            cut = [(hashlib.sha256(piece).digest(), piece) for piece in pieces(left, self.threshold)]
            new.update(cut)
            left = b"".join(key for key, _ in cut)
            depth += 1
        self.blobs.put(new)
        self._last[name] = (data, (tag, depth, left), now)
        return tag, depth, left

    def _restored(self, stored: Stored) -> TypedBytes:
        tag, depth, data = stored
        for _ in range(depth):
            data = b"".join(fetched(self.blobs, split_hashes(data)))
        return tag, data


def references(typed: TypedBytes, blobs: BlobStore) -> Iterator[bytes]:
    """The hashes of all pieces that reading a value would take, without building it.

    Raises:
        CheckpointError: If a piece that lists others is missing.
    """
    if typed[0] != TAG:
        return
    whole, channels = _opened(typed)
    for _, depth, data in (whole, *channels.values()):
        for level in range(depth, 0, -1):
            keys = split_hashes(data)
            yield from keys
            if level > 1:
                data = b"".join(fetched(blobs, keys))


def split_hashes(data: bytes) -> list[bytes]:
    """Split joined hashes."""
    return [data[start : start + _HASH] for start in range(0, len(data), _HASH)]


def fetched(blobs: BlobStore, keys: list[bytes]) -> list[bytes]:
    """Fetch pieces from a store, in the order of the hashes.

    Raises:
        CheckpointError: If one is missing or damaged.
    """
    found = blobs.get(keys)
    for key in keys:
        data = found.get(key)
        if data is None or hashlib.sha256(data).digest() != key:
            state = "not in" if data is None else "damaged in"
            raise CheckpointError(
                f"a part of this checkpoint is missing: the value {key.hex()} is {state} {blobs.place}. "
                "Copy it there from a backup (checkpoints and values belong together), or go on from an older step."
            )
    return [found[key] for key in keys]


def _opened(typed: TypedBytes) -> tuple[Stored, dict[str, Stored]]:
    """Open an envelope."""
    whole, channels = ormsgpack.unpackb(typed[1])
    return whole, channels


def _with_allowlist(serde: SerializerProtocol, extra: list[tuple[str, ...] | type]) -> SerializerProtocol:
    """Widen the allowlist of LangGraph's serializers; others have none."""
    if isinstance(serde, JsonPlusSerializer):
        return serde.with_msgpack_allowlist(extra)
    if isinstance(serde, EncryptedSerializer):
        inner = _with_allowlist(serde.serde, extra)
        return serde if inner is serde.serde else EncryptedSerializer(serde.cipher, inner)
    return serde


# Pieces


_LETTERS = bytes(hashlib.sha256(bytes([value])).digest()[0] % 4 for value in range(256))
"""One of four letters for each value of a byte, as if by chance."""

_MARK = bytes([0, 1, 1, 3, 2])
"""The mark in these letters: five of four kinds, so one position in 1,024. No part of it begins another mark."""

_LONGEST = 8
"""A piece is at most so many times as long as the least."""


def pieces(data: bytes, least: int) -> Iterator[bytes]:
    """Cut bytes into pieces that stay the same when something is added, removed or changed elsewhere in them.

    A cut follows a mark, which about one position in a thousand bears, whatever comes before it. So two versions of a
    list of messages have all pieces in common but those around the change. Bytes without marks are cut at equal lengths
    from the start, which is still right for what only grows.

    Args:
        data: What to cut.
        least: The shortest piece, in bytes; only the last may be shorter. The longest is eight times as long.

    Yields:
        The pieces, in order; joined they are the bytes.
    """
    letters = data.translate(_LETTERS)
    start, most = 0, least * _LONGEST
    while len(data) - start > least:
        mark = letters.find(_MARK, start + least - len(_MARK), start + most)
        end = mark + len(_MARK) if mark >= 0 else start + most
        yield data[start:end]
        start = end
    if start < len(data):
        yield data[start:]
