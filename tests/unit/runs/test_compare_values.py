"""Two states side by side."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.runs.comparing.values import compared_states

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text("ab/~", max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=3), inner, max_size=4),
    max_leaves=12,
)
STATES = st.dictionaries(st.sampled_from("abcd"), JSON, max_size=4)
MISSING = object()


def found(value, pointer):
    """What stands at a JSON pointer, by the rules of RFC 6901."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list):
            if int(key) >= len(value):
                return MISSING
            value = value[int(key)]
        elif key in value:
            value = value[key]
        else:
            return MISSING
    return value


def told(a, b):
    return {
        difference.key: [(each.pointer, each.where, each.a, each.b) for each in difference.differences]
        for difference in compared_states(a, b)
    }


def test_only_what_differs_is_told():
    a = {"query": "blue", "queries": ["blue", "green"], "found": {"talks": [{"id": 1, "score": 0.4}]}, "same": 1}
    b = {"query": "blue", "queries": ["blue"], "found": {"talks": [{"id": 1, "score": 0.6}], "x/y": 2}, "same": 1.0}
    assert told(a, b) == {
        "queries": [("/1", "a", "green", None)],
        "found": [("/talks/0/score", "both", 0.4, 0.6), ("/x~1y", "b", None, 2)],
    }


def test_what_differs_in_every_run_is_left_out():
    a = {
        "at": "2026-03-01T12:00:00.120034+00:00",
        "messages": [{"id": "0b7e2c3a-1111-4222-8333-94444aaaabbb", "content": "x"}],
        "logs": [{"seconds": 0.25}],
        "loop_ledger": {"retry": 1},
    }
    b = {
        "at": "2026-03-01T12:00:07.5Z",
        "messages": [{"id": "1b7e2c3a-1111-4222-8333-94444aaaabbb", "content": "x"}],
        "logs": [{"seconds": 0.75}],
        "loop_ledger": {"retry": 2},
    }
    assert told(a, b) == {}


@settings(deadline=None)
@given(STATES)
def test_a_state_is_the_same_as_itself(state):
    assert compared_states(state, state) == ()


@settings(deadline=None)
@given(STATES, STATES)
def test_every_pointer_leads_to_the_values(a, b):
    for difference in compared_states(a, b):
        for each in difference.differences:
            in_a, in_b = (
                found(state.get(difference.key, MISSING), each.pointer) if difference.key in state else MISSING
                for state in (a, b)
            )
            assert (in_a is not MISSING, in_b is not MISSING) == (each.where != "b", each.where != "a")
            assert each.where != "both" or in_a != in_b or type(in_a) is not type(in_b)


@settings(deadline=None)
@given(STATES, STATES)
def test_both_directions_tell_the_same(a, b):
    swapped = {"both": "both", "a": "b", "b": "a"}
    one = {(d.key, e.pointer, e.where) for d in compared_states(a, b) for e in d.differences}
    other = {(d.key, e.pointer, swapped[e.where]) for d in compared_states(b, a) for e in d.differences}
    assert one == other
