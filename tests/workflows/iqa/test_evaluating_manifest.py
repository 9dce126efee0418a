"""Manifests with the truth: what is read, and what is said of wrong lines."""

from __future__ import annotations

import json

import pytest

from loopwright.errors import InputError
from loopwright.workflows.iqa.evaluating.manifest import Scale, read_rows, scale_of


def write(path, *rows):
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_json_lines_and_csv_say_the_same(tmp_path):
    lines = write(
        tmp_path / "m.jsonl",
        {"image": "a.png", "reference": "r.png", "mos": 3.5, "type": "gaussian_blur", "group": "g", "level": 2},
        {"image_path": "b.png", "mos": 2},
    )
    table = write(
        tmp_path / "m.csv",
        "image_path,reference_path,mos,distortion,group,level",
        "a.png,r.png,3.5,gaussian blur,g,2",
        "b.png,,2,,,",
    )
    from dataclasses import replace

    first, second = ([replace(row, line=0) for row in read_rows(path)] for path in (lines, table))
    assert first == second
    assert (first[0].distortion, first[0].level, first[0].mos) == ("gaussian blur", "2", 3.5)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_tables_as_spreadsheets_write_them(tmp_path, separator):
    lines = ["Bild, größe.png|r.png|3|1", "b.png||4|"]
    text = "\r\n".join(["image|reference| mos |note", *lines, ""])
    quoted = text.replace("Bild, größe.png", '"Bild, größe.png"').replace("|", separator)
    path = tmp_path / "m.csv"
    path.write_bytes(b"\xef\xbb\xbf" + quoted.encode())
    assert [(row.line, row.image, row.reference, row.mos) for row in read_rows(path)] == [
        (2, "Bild, größe.png", "r.png", 3), (3, "b.png", None, 4),
    ]  # fmt: skip


def test_every_wrong_line_is_named(tmp_path):
    path = write(
        tmp_path / "m.jsonl",
        {"image_path": "a.png", "mos": 1},
        "{not json",
        {"mos": 2},
        {"image_path": "a.png"},
        {"image_path": "a.png", "mos": "high"},
        {"image_path": "a.png", "mos": 1, "refrence_path": "r"},
    )
    with pytest.raises(InputError) as caught:
        read_rows(path)
    said = str(caught.value)
    for part in (
        "line 2: no JSON object", "line 3: image_path: Field required", "line 4: no truth is given", "line 5: mos:",
        "did you mean 'reference_path'",
    ):  # fmt: skip
        assert part in said
    assert "line 1" not in said.replace("line 10", "")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("m.jsonl", b"", "has no row"),
        ("m.csv", b"image_path,mos\n", "has no row"),
        ("m.csv", b"image_path,mos\n\xff\xfe,1\n", "not UTF-8"),
        ("m.csv", b"\n\n", "has no row"),
        ("m.csv", b'image,mos\n"' + b"a" * 200_000, "line 2: field larger than field limit"),
        ("m.csv", b"file;score\na.png;1\n", "has no column image_path; its headings are file, score"),
        ("m.csv", b"image,refrence_path,mos\na.png,r.png,1\n", "headings: unknown key 'refrence_path'"),
        ("m.csv", b"image,mos\na, b.png,1\n", "line 2: 3 cells under 2 headings"),
        ("m.csv", b'image,mos\n\n"a\nb.png",1\nc.png,NaN\nd.png,\n', r"line 5: mos: .*; line 6: no truth is given"),
        ("m.jsonl", b"[" * 100_000, "line 1: maximum recursion depth"),
        ("m.jsonl", b'{"image": "a.png", "mos": ' + b"1" * 5000 + b"}", "line 1: Exceeds the limit"),
        ("m.jsonl", b'{"image": "a.png", "mos": 1}\n' * 2, "line 2: it says the same as line 1"),
        ("none.csv", None, "cannot read"),
        ("none.jsonl", None, "cannot read"),
    ],
)
def test_no_manifest_at_all(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_rows(tmp_path / name)


def test_groups_that_are_all_types_are_the_types(tmp_path):
    rows = [{"image_path": "a.png", "mos": 1, "group": group} for group in ("awgn", "jpeg2000", "chromatic_aberration")]
    path = write(tmp_path / "m.jsonl", *rows)
    assert [row.distortion for row in read_rows(path)] == ["noise", "jpeg2000", "color distortions"]
    path = write(tmp_path / "n.jsonl", *rows, {"image_path": "b.png", "mos": 1, "group": "holiday"})
    assert [row.distortion for row in read_rows(path)] == [None] * 4


def test_the_scale_maps_to_the_five_levels():
    assert Scale.parse("0,9").on_levels(4.5) == 3
    assert Scale.parse("0,100", lower_is_better=True).on_levels(0) == 5
    assert str(Scale.of([0.2, 0.9])) == "0 to 1, higher is better"
    assert str(Scale.of([1.2, 4.9])) == "1 to 5, higher is better"
    assert str(Scale.of([0, 7.2])) == "0 to 9, higher is better"
    assert Scale.of([-3, 250]) == Scale(-3, 250)


@pytest.mark.parametrize("text", ["9,0", "1", "a,b", "1,1", "nan,5", "0,inf", "1,2,3"])
def test_no_scale(text):
    with pytest.raises(InputError, match="give the least and the greatest score"):
        Scale.parse(text)


def test_a_score_outside_of_the_given_scale_is_named(tmp_path):
    path = write(tmp_path / "m.jsonl", {"image_path": "a.png", "mos": 3}, {"image_path": "a.png", "mos": 6})
    with pytest.raises(InputError, match="line 2: mos 6 lies outside of the scale 1,5"):
        scale_of(read_rows(path), "1,5", lower_is_better=False, path=path)
