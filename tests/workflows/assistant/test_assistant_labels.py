"""Labelled questions read from real files."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import pytest

from loopwright.errors import InputError
from loopwright.workflows.assistant.comparing.labels import read_labels, record_id

ASKED = {"id": "q1", "question": "What is there about looms?", "relevant": ["12", "stand:Loom Co"], "kind": "topical"}
KNOWN = ("sessions:12", "exhibitors:Loom Co", "speakers:3")


def written(path: Path, *rows: object) -> Path:
    """A file with one row a line; texts as they are."""
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "record"),
    [
        ("6196", "sessions:6196"),
        ("stand:Loom Co", "exhibitors:Loom Co"),
        ("speakers:3", "speakers:3"),
        ("stand:sessions:1", "exhibitors:sessions:1"),
        ("8d3f:1", "sessions:8d3f:1"),
    ],
)
def test_short_names_stand_for_record_ids(name, record):
    assert record_id(name) == record


def test_questions_are_read_in_order_with_what_is_relevant_and_when_they_are_asked(tmp_path):
    later = {**ASKED, "id": "q2", "relevant": ["12", "sessions:12"], "now": "2025-02-01T14:00:00+01:00", "note": "x"}
    nothing = {**ASKED, "id": "q3", "relevant": [], "kind": "no_answer", "now": None}
    labels = read_labels(written(tmp_path / "q.jsonl", ASKED, "", later, nothing), KNOWN)
    assert [label.id for label in labels] == ["q1", "q2", "q3"]
    assert [label.relevant for label in labels] == [("sessions:12", "exhibitors:Loom Co"), ("sessions:12",), ()]
    assert [label.now for label in labels] == [None, datetime.fromisoformat("2025-02-01T14:00:00+01:00"), None]


def test_line_separators_inside_of_json_do_not_split_a_line(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(json.dumps({**ASKED, "question": "one\u2028two"}, ensure_ascii=False), encoding="utf-8")
    assert read_labels(path, KNOWN)[0].question == "one\u2028two"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "line 2 is no question"),
        ("[]", "line 2 is no question"),
        ({**ASKED, "id": "q1"}, "line 2: an earlier question has the id 'q1'"),
        ({**ASKED, "id": "q2", "relevant": ["13"]}, "line 2: question 'q2' names the record 'sessions:13'"),
        ({**ASKED, "id": "q2", "now": "noon"}, "line 2 is no question: now"),
        ({**ASKED, "id": "q2", "question": " "}, "line 2 is no question: question"),
        ({"id": "q2", "question": "Why?", "kind": "topical"}, "line 2 is no question: relevant"),
    ],
)
def test_a_mistake_names_the_file_and_the_line(tmp_path, row, said):
    path = written(tmp_path / "q.jsonl", ASKED, row)
    with pytest.raises(InputError) as told:
        read_labels(path, KNOWN)
    assert said in str(told.value) and str(path) in str(told.value)


def test_a_file_without_questions_is_refused(tmp_path):
    with pytest.raises(InputError, match="there are no questions"):
        read_labels(written(tmp_path / "q.jsonl", "", " "), KNOWN)
    with pytest.raises(InputError, match="cannot be read"):
        read_labels(tmp_path / "missing.jsonl", KNOWN)
