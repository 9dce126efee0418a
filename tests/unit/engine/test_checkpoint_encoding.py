"""Values in the JSON file: plain where JSON can say them, wrapped where it cannot, and exact in both cases."""

from __future__ import annotations

import datetime as dt
import json
import math
from enum import Enum
from typing import Any, NamedTuple, TypedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel, SecretStr

from loopwright.checkpoints import state_types
from loopwright.checkpoints.encoding import decode, encode
from loopwright.errors import ConfigError

SERDE = JsonPlusSerializer(allowed_msgpack_modules=None)


def through_a_file(typed: tuple[str, bytes]) -> tuple[str, bytes]:
    return decode(json.loads(json.dumps(encode(typed))))


text = st.text(st.characters(exclude_categories=["Cs"]))
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | text
finite = scalars.filter(lambda value: not (isinstance(value, float) and math.isinf(value)))
keys = text | st.sampled_from(["$msgpack", "readable", "type"])
plain = st.recursive(finite, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=12)
odd = (
    st.binary()
    | st.floats()
    | st.sets(st.integers(0, 99))
    | st.datetimes()
    | st.dates()
    | st.timedeltas()
    | st.decimals(allow_nan=False)
    | st.uuids()
    | st.complex_numbers().map(lambda value: (value.real, value.imag))
)
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


# --- which classes a state can hold -------------------------------------------------------------------------------


def test_state_types_says_which_schema_cannot_be_read() -> None:
    class Broken(TypedDict):
        a: Missing  # noqa: F821 - that is the fault

    with pytest.raises(ConfigError, match=r"Broken cannot be read.*Missing"):
        state_types(Broken)
    named = NamedTuple("named", [("key", SecretStr)])  # noqa: UP014
    assert state_types(named) == {named, SecretStr}
