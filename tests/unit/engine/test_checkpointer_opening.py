"""Checkpointers are opened by an address, or say why not; what is saved comes back as it was, and nothing that was not allowed."""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel, SecretStr

from loopwright.checkpoints import JsonFileSaver, aopen_checkpointer, open_checkpointer, state_types
from loopwright.checkpoints.encoding import decode, encode
from loopwright.errors import CheckpointError, ConfigError


async def test_each_spec_gives_its_saver(tmp_path: Path) -> None:
    places = {
        "memory": InMemorySaver,
        f" json:{tmp_path}/a/b ": JsonFileSaver,
        f"sqlite:{tmp_path}/c/d.db": SqliteSaver,
    }
    for spec, kind in places.items():
        async with aopen_checkpointer(spec) as saver:
            assert isinstance(saver, kind)
    assert (tmp_path / "a/b").is_dir() and (tmp_path / "c/d.db").stat().st_size > 0


@pytest.mark.parametrize("opened", [open_checkpointer, aopen_checkpointer])
@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sqlit:runs.db", "unknown checkpointer 'sqlit'. Did you mean 'sqlite'? Known: json, memory, postgresql,"),
        ("mysql://me:hunter2@host/db", "unknown checkpointer 'mysql'."),
        ("postgresql:runs", "'postgresql:runs' cannot be opened. Write 'memory', 'json:DIR', 'sqlite:FILE'"),
        ("", "unknown checkpointer ''"),
        (Path("x.db"), "unknown checkpointer 'x.db'"),
        (
            "runs.db",
            "Write 'memory', 'json:DIR', 'sqlite:FILE' or 'postgresql://USER:PASSWORD@HOST/DATABASE', with a path as it is.",
        ),
        ("memory:x", "Write 'memory'"),
        ("json:", "'json:' cannot be opened."),
        ("sqlite", "'sqlite' cannot be opened."),
        ("sqlite:///runs.db", "with a path as it is"),
        ("sqlite::memory:", "Write 'memory'"),
    ],
)
def test_a_wrong_spec_is_refused_at_once(opened: object, spec: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        opened(spec)  # type: ignore[operator]


async def test_places_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a database, but long enough to be looked at " * 10)
    before = (tmp_path / "file").read_bytes()
    for spec in (
        f"json:{tmp_path}/file/x",
        f"sqlite:{tmp_path}/file/x",
        f"sqlite:{tmp_path}",
        f"sqlite:{tmp_path}/file",
    ):
        with pytest.raises(CheckpointError, match=re.escape(spec.partition(":")[2])):
            async with aopen_checkpointer(spec):
                pass
    assert (tmp_path / "file").read_bytes() == before


def test_sqlite_is_not_closed_under_a_thread_that_saves(tmp_path: Path) -> None:
    def save(saver: SqliteSaver) -> list[tuple[int]]:
        with saver.lock:
            saving.set()
            time.sleep(0.3)  # nobody leaves while this goes on
            return saver.conn.execute("SELECT 1").fetchall()

    saving = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        with open_checkpointer(f"sqlite:{tmp_path / 'runs.db'}") as saver:
            saved = threads.submit(save, saver)
            assert saving.wait(10)
        assert saved.result() == [(1,)]


SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


def through_a_file(typed: tuple[str, bytes]) -> tuple[str, bytes]:
    return decode(json.loads(json.dumps(encode(typed))))


text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | text
keys = text | st.sampled_from(["$msgpack", "readable", "type"])
odd = st.one_of(
    st.binary(), st.floats(), st.sets(st.integers(0, 99)), st.datetimes(), st.dates(), st.timedeltas(),
    st.decimals(allow_nan=False), st.uuids(), st.complex_numbers().map(lambda value: (value.real, value.imag)),
)  # fmt: skip
anything = st.recursive(
    scalars | odd,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(keys | st.integers(0, 9), inner),
    max_leaves=12,
)


@settings(deadline=None)
@given(anything)
def test_every_value_comes_back_byte_for_byte(value: Any) -> None:
    typed = SERDE.dumps_typed(value)
    assert through_a_file(typed) == typed


class Colour(Enum):
    RED = "red"


class Model(BaseModel):
    colour: Colour
    size: int


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Model(colour=Colour.RED, size=3), {"colour": "red", "size": 3}),
        ([b"abc"], ["YWJj"]),
        (dt.datetime(2026, 11, 21, tzinfo=dt.UTC), "2026-11-21T00:00:00Z"),
        ([math.inf], ["Infinity"]),
        (np.zeros(2), "[0. 0.]"),
        ({"$msgpack": "mine"}, {"$msgpack": "mine"}),
    ],
)
def test_other_values_are_wrapped_and_shown(value: Any, shown: Any) -> None:
    typed = SERDE.dumps_typed(value)
    written = encode(typed, value)
    assert written["readable"] == shown
    assert set(written) <= {"readable", "$msgpack", "type"}
    assert through_a_file(typed) == typed


def test_state_types_says_which_schema_cannot_be_read() -> None:
    class Broken(TypedDict):
        a: Missing  # noqa: F821 - that is the fault

    with pytest.raises(ConfigError, match=r"Broken cannot be read.*Missing"):
        state_types(Broken)
    named = NamedTuple("named", [("key", SecretStr)])  # noqa: UP014
    assert state_types(named) == {named, SecretStr}
