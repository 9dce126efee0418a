"""JSONL, JSON and CSV: records, triples, and what is broken in them."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from documents import CHINESE, THAI, make_jsonl, refusal, written

from loopwright.workflows.rag.sources.reading import ReadDocument, ReadingLimits, ReadingProblem, Section, read_source


def read(path: Path, limits: ReadingLimits | None = None) -> tuple[list[ReadDocument], list[str]]:
    problems: list[ReadingProblem] = []
    found = list(read_source(path, limits=limits or ReadingLimits(), on_problem=problems.append))
    assert all(str(problem.error).startswith(str(path)) for problem in problems)
    return found, [str(problem.error) for problem in problems]


def key_of(document: ReadDocument) -> str:
    return document.id.rpartition("#")[2]


def keys(found: list[ReadDocument]) -> list[str]:
    return [*map(key_of, found)]


def test_jsonl_records_with_everything(tmp_path: Path):
    record = {
        "id": "t1", "title": "A talk", "text": f"  {THAI}\n{CHINESE} ", "date": "2024-02-03T10:00:00+01:00",
        "tags": ["python", "graphs", "python"], "vector": [0.25] * 99, "at": {"room": "C2"},
    }  # fmt: skip
    path = make_jsonl(
        tmp_path / "talks.jsonl", [record, {"subject": "A", "relation": "has", "object": 3, "text": "second"}]
    )
    (first, second), problems = read(path)
    assert not problems
    assert first.id == f"{path.as_posix()}#t1"
    assert first.title == "A talk" and first.text == f"{record['text']}\n\ndate: {record['date']}\nat.room: C2"
    assert first.date == datetime.fromisoformat("2024-02-03T10:00:00+01:00")
    assert first.tags == ("python", "graphs")
    canonical = json.dumps(record, sort_keys=True, separators=(",", ":"))
    assert first.digest == hashlib.sha256(canonical.encode()).hexdigest()
    told = "second\n\nsubject: A\nrelation: has\nobject: 3"
    assert (second.id, second.title, second.text, second.names) == (f"{path.as_posix()}#2", "talks", told, ())
    assert second.date == datetime.fromtimestamp(path.stat().st_mtime, UTC)


def test_broken_lines_do_not_lose_the_others(tmp_path: Path):
    lines = [
        b'{"id": "a", "text": "good"}', b'{"id": "b", "text": ', b"[1, 2]", b'{"id": "a", "text": "again"}',
        b'{"id": "c", "text": ""}', b'{"id": "d", "text": 5}', b'{"id": "e", "text": "\xff\xfe"}', b"",
        b'{"id": "f", "text": "dated", "date": "yesterday"}', b'{"id": "g", "n": ' + b"9" * 5000 + b"}", b"[" * 100_000,
        b'{"id": "h", "deep": ' + b"[" * 200 + b"]" * 200 + b"}", b'{"id": "z", "text": "last"}',
    ]  # fmt: skip
    path = written(tmp_path, "bad.jsonl", b"\n".join(lines))
    problems: list[ReadingProblem] = []
    found = list(read_source(path, on_problem=problems.append))
    assert keys(found) == ["a", "e", "f", "z"]
    told = [str(problem.error).removeprefix(str(path)) for problem in problems]
    assert [each.split(":")[0] for each in told] == ["#2", "#3", "#a", "#c", "#d", "#f", "#10", "#11", "#12"]
    assert [each.split(":")[0] for each, problem in zip(told, problems, strict=True) if not problem.left_out] == ["#f"]
    assert "an earlier record of the file has this id" in told[2]
    assert "json_depth" in told[-1] and "json_depth" in told[-2]


def test_too_long_a_line_is_left_out(tmp_path: Path):
    path = make_jsonl(tmp_path / "long.jsonl", [{"text": "x" * 5000}, {"text": "short"}, {"text": "y" * 990}])
    found, problems = read(path, ReadingLimits(record_bytes=1000))
    assert keys(found) == ["2"] and len(problems) == 2 and "record_bytes" in problems[0]
    assert len(read(path, ReadingLimits(record_bytes=1003))[0]) == 2


def test_other_objects_become_lines(tmp_path: Path):
    record = {
        "name": "Ada", "born": 1815, "alive": False, "nothing": None, "work": {"topics": ["a", "b"]}, "x": [{"y": 1}],
    }  # fmt: skip
    (document,), problems = read(make_jsonl(tmp_path / "o.jsonl", [record]))
    assert document.text == "name: Ada\nborn: 1815\nalive: false\nwork.topics: a, b\nx.1.y: 1"
    # Its file says of what it is a row.
    assert document.title == "Ada"
    assert document.sections == (Section(headings=("o",), start=0, end=len(document.text)),)
    assert not problems


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"id": "one", "text": "x"}', ["one"]), ('[{"text": "x"}, {"id": 7, "text": "y"}]', ["1", "7"]),
        ('{"documents": [{"text": "x"}, {"text": "y"}, null], "version": 3}', ["1", "2"]),
        ('{"documents": "none", "a": 1}', ["1"]), ('{"a": 1, "documents": ["pass", "slip"]}', ["1"]),
        ('{"documents": [], "people": [{"name": "Ada"}]}', ["people.1"]),
    ],
)  # fmt: skip
def test_json_shapes(tmp_path: Path, text: str, keys: list[str]):
    path = written(tmp_path, "j.json", text)
    found, problems = read(path)
    assert [*map(key_of, found)] == keys and len(problems) == text.count("null")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"", "is empty"), ("a.json", b"[]", "has no records"), ("a.json", b"[" * 200_000, "json_depth"),
        ("a.json", b'{"a": ', "no valid JSON: Expecting value: line 1"), ("a.json", b"\x00\x01\x02", "is not text"),
        ("a.json", b'{"a": 1}\n{"a": 2}\n', "name it .jsonl"),
        ("a.json", b'{"a":' * 150 + b"1" + b"}" * 150, "json_depth"), ("a.csv", b"\n\n", "no header"),
        ("a.csv", b"a,b\n", "no records"), ("a.csv", b"", "empty"), ("a.csv", b"a\x00b", "not text"),
        ("a.txt", b"\x01\x00\x02\x00\x07\x00" * 10, "NUL bytes"),
        ("a.txt", b" \n\t ", "has no text"), ("a.html", b"<p hidden>x</p><script>y</script>", "has no text"),
        ("a.txt", b"\x7fELF\x00\x00\x01", "is not text"), ("a.txt", b"", "is empty"),
        ("a.xyz", b"text", "'.xyz' is no known kind; known: .adoc, .asciidoc, .csv"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(tmp_path: Path, name: str, content: bytes, message: str):
    told = refusal(written(tmp_path, name, content))
    assert name in told and message in told


def test_csv_rows(tmp_path: Path):
    text = 'id,Title,Note,tags\nx1,"Bangkok","big, hot\ncity",a;b\n,Chiang Mai,กำแพงเมือง,\n\nx1,Twice,no,\n'
    path = written(tmp_path, "cities.csv", text)
    found, problems = read(path)
    assert keys(found) == ["x1", "4"]
    assert found[0].title == "Bangkok" and found[0].tags == ("a", "b")
    assert found[0].text == "id: x1\nTitle: Bangkok\nNote: big, hot\ncity\ntags: a;b"
    assert found[1].text == "Title: Chiang Mai\nNote: กำแพงเมือง"
    assert len(problems) == 1 and "#x1: an earlier record" in problems[0]


def test_csv_problems_do_not_lose_the_rest(tmp_path: Path):
    rows = ["name;age;", "Ada;36;x", "Bob;1;2;3", f"Long;{'z' * 140_000};", "Cy;7"]
    path = written(tmp_path, "bad.csv", "\r\n".join(rows))
    found, problems = read(path)
    assert [document.text[:9] for document in found] == ["name: Ada", "name: Lon", "name: Cy\n"]
    assert len(found[1].text) > 140_000
    assert len(problems) == 1 and "#3: the row has 4 cells, the header 3" in problems[0]


def test_beside_its_text_a_row_has_its_other_columns_and_empty_cells_too_many_are_nothing(tmp_path: Path):
    path = written(tmp_path, "staff.csv", "id,name,title,text\nT-4,Ann,CEO,Joined.,\nT-5,,Bo,Left.,,\n")
    found, problems = read(path)
    assert [each.text for each in found] == ["Joined.\n\nid: T-4\nname: Ann", "Left.\n\nid: T-5"]
    (named,), _ = read(written(tmp_path, "named.csv", "name,capital,text\nRome,Rome,Old.\n"))
    assert (named.title, named.text, problems) == ("Rome", "Old.\n\ncapital: Rome", [])


def test_triples_are_documents_of_a_sentence_each(tmp_path: Path):
    text = (
        "subject,relation,object,source\n"
        "Marie Curie,was born in,Warsaw,bio\n"
        "Warsaw,is the capital of,Poland,\n"
        "Marie Curie,won,the Nobel Prize.,bio\n"
        "Nobody,,nothing,bio\n"
    )
    path = written(tmp_path, "facts.csv", text)
    found, problems = read(path)
    assert [each.text for each in found] == [
        "Marie Curie was born in Warsaw.", "Warsaw is the capital of Poland.", "Marie Curie won the Nobel Prize.",
    ]  # fmt: skip
    assert [each.title for each in found] == ["bio", "facts", "bio"]
    assert found[0].id == f"{path.as_posix()}#2"
    assert found[0].names == ("Marie Curie", "Warsaw")
    assert [problem.split(": ")[0][-2:] for problem in problems] == ["#5"]


def test_lists_in_an_object_hold_records_and_the_rest_is_one(tmp_path: Path):
    value = {"kept_by": "Ina", "dogs": [{"name": "Fly", "finds": 9}, {"age": 3}], "a": {"closed": [{"day": "1 May"}]}}
    found, problems = read(written(tmp_path, "kennel_list.json", json.dumps(value)))
    assert not problems
    assert [(key_of(each), each.title, each.sections[0].headings, each.text) for each in found] == [
        ("dogs.1", "Fly", ("kennel list", "dogs"), "name: Fly\nfinds: 9"),
        ("dogs.2", "kennel list", ("kennel list", "dogs"), "age: 3"),
        ("a.closed.1", "kennel list", ("kennel list", "a.closed"), "day: 1 May"),
        ("rest", "kennel list", ("kennel list",), "kept_by: Ina"),
    ]
    whole = {"title": "A talk", "text": "It is long.", "comments": [{"by": "Bo"}]}
    (only,), _ = read(written(tmp_path, "talk.json", json.dumps(whole)))
    assert (key_of(only), only.text) == ("1", "It is long.")
