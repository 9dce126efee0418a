"""One JSON object is found in any surroundings; a broken one is never mended."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.models.conversation import find_json_object

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), values, max_size=4)
prose = st.text(st.characters(exclude_characters="{}"))


@given(objects, prose, prose, st.booleans(), st.sampled_from([None, 2]))
def test_any_object_is_found_in_any_prose(value, before, after, ascii_only, indent):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    assert find_json_object(before + text + after) == text


@given(st.dictionaries(st.text(), values, min_size=1, max_size=4), prose, st.data())
def test_no_object_is_read_from_a_truncated_one(value, before, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(1, len(text) - 1))
    with pytest.raises(ValueError, match="does not end"):
        find_json_object(before + text[:cut])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('```json\n{"a": 1}\n```', '{"a": 1}'),
        ('The set {x} is empty, so: {"a": "}"} and {"b": 2}', '{"a": "}"}'),
        (r'{"a": "\"}{"}', r'{"a": "\"}{"}'),
        ('She said "hello" and \'twas {"a": {"b": {}}}', '{"a": {"b": {}}}'),
        ('} {"a": []}', '{"a": []}'),
    ],
)
def test_examples(text, found):
    assert find_json_object(text) == found


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('{"verdict": {"answer": "no"}, "why": "it is', "does not end"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ('{"a": NaN}', "NaN is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ('{"a": 1e999}', "1e999 is too large"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
    ],
)
def test_refusals_say_why(text, problem):
    with pytest.raises(ValueError, match=problem):
        find_json_object(text)


def test_hostile_text_takes_linear_time():
    started = time.process_time()
    for text in ("{" * 500_000, '{"a":' * 100_000, "{}x" * 5, '"' * 500_000, "{x}" * 100_000):
        try:
            find_json_object(text)
        except ValueError:
            pass
    assert time.process_time() - started < 5
