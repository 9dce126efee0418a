"""Large values are kept once, and come back as they were."""

from __future__ import annotations

import dataclasses
import hashlib
import random
import sqlite3
import time
from enum import Enum
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_blobs import MemoryBlobs
from pydantic import BaseModel

from loopwright.checkpoints.allowlist import strict_serializer
from loopwright.checkpoints.blobs import BlobStore
from loopwright.checkpoints.content import TAG, ContentSerializer, references
from loopwright.checkpoints.sqlite_blobs import SqliteBlobs
from loopwright.errors import CheckpointError


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    name: str
    items: list[Any] = []


@dataclasses.dataclass
class Record:
    text: str
    number: int


TYPES = [Colour, Model, Record]


def serializer(blobs: BlobStore | None = None, threshold: int = 256) -> ContentSerializer:
    return ContentSerializer(strict_serializer(TYPES), blobs if blobs is not None else MemoryBlobs(), threshold)


def noise(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


def text(size: int, seed: int = 1) -> str:
    return noise(size // 2, seed).hex()


def checkpoint(**values: Any) -> dict[str, Any]:
    return {"v": 1, "id": "1", "ts": "now", "channel_values": values, "channel_versions": {}, "versions_seen": {}}


def total(blobs: BlobStore) -> int:
    return sum(blobs.sizes().values())


# --- exact -------------------------------------------------------------------------------------------------------

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.binary(max_size=40)
    | st.sampled_from([Colour.RED, "x" * 5000, b"y" * 5000, text(3000), [TAG, 1, b"0" * 32], {"sha256": "ab" * 32}])
    | st.builds(Record, st.sampled_from(["short", text(700)]), st.integers(0, 9))
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.text(max_size=8), inner, max_size=5)
        | st.builds(Model, name=st.text(max_size=5), items=st.lists(inner, max_size=3))
    ),
    max_leaves=12,
)


@settings(max_examples=examples(150), deadline=None)
@given(value=VALUES, channels=st.dictionaries(st.text(max_size=8), VALUES, max_size=4))
def test_every_value_comes_back_as_it_does_without_the_wrapper(value: Any, channels: dict[str, Any]) -> None:
    inner, wrapped = strict_serializer(TYPES), serializer()
    for item in (value, checkpoint(**channels), {"channel_values": value}):
        expected = inner.loads_typed(inner.dumps_typed(item))
        found = wrapped.loads_typed(wrapped.dumps_typed(item))
        assert found == expected
        assert inner.dumps_typed(found) == inner.dumps_typed(expected)


def test_a_users_value_that_looks_like_an_envelope_survives() -> None:
    wrapped = serializer()
    forged = wrapped.dumps_typed(text(900))
    for item in (forged, [*forged], {"tag": TAG, "data": forged[1]}, forged[1], ormsgpack.unpackb(forged[1])):
        found = wrapped.loads_typed(wrapped.dumps_typed(checkpoint(a=item, b=text(900))))
        plain = strict_serializer(()).loads_typed(strict_serializer(()).dumps_typed(item))
        assert found["channel_values"]["a"] == plain


# --- once --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [lambda items: items, lambda items: Model(name="m", items=items), lambda items: {"a": items}]
)
@pytest.mark.parametrize("where", ["end", "middle", "start"])
def test_a_list_that_grows_shares_what_is_old(make: Any, where: str) -> None:
    blobs = MemoryBlobs()
    wrapped = serializer(blobs, threshold=1024)
    items = [text(1000, seed) for seed in range(100)]
    wrapped.dumps_typed(checkpoint(data=make(items)))
    before = total(blobs)
    items.insert({"end": 100, "middle": 50, "start": 0}[where], text(1000, 1000))
    wrapped.dumps_typed(checkpoint(data=make(items)))
    assert total(blobs) - before < 20_000


# --- missing, damaged, refused -----------------------------------------------------------------------------------


def test_a_missing_piece_is_named_with_its_store_and_the_fix() -> None:
    blobs = MemoryBlobs()
    wrapped = serializer(blobs)
    typed = wrapped.dumps_typed(text(9000))
    gone = next(iter(references(typed, blobs)))
    blobs.delete([gone], before=time.time() + 1)
    with pytest.raises(CheckpointError) as error:
        wrapped.loads_typed(typed)
    assert gone.hex() in str(error.value)
    assert blobs.place in str(error.value)
    assert "backup" in str(error.value)


# --- allowlists and encryption -----------------------------------------------------------------------------------


# --- how the stores note use -------------------------------------------------------------------------------------


def test_a_piece_put_again_counts_as_new(tmp_path: Path) -> None:
    piece = {hashlib.sha256(b"piece").digest(): b"piece"}

    def opened() -> tuple[SqliteBlobs, sqlite3.Connection]:
        blobs = SqliteBlobs(tmp_path / "blobs.db")
        return blobs, sqlite3.connect(tmp_path / "blobs.db", factory=blobs.joined())

    blobs, connection = opened()
    blobs.put(piece)
    assert blobs.get(piece.keys()) == piece
    connection.commit()
    connection.execute("UPDATE loopwright_blobs SET used = 1000")
    connection.commit()
    blobs, connection = opened()
    assert blobs.sizes(before=2000) == {next(iter(piece)): 5}
    blobs.put(piece)
    connection.commit()
    assert blobs.sizes(before=2000) == {}
    blobs.delete(piece.keys(), before=2000)
    assert blobs.get(piece.keys()) == piece
