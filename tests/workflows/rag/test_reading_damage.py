"""Finding files; damaged ones: documents or a DocumentError that names the file, never another exception."""

import os
from pathlib import Path

import pytest
from chances import examples
from documents import CHINESE, THAI, make_docx, make_jsonl, make_pdf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import DocumentError
from loopwright.workflows.rag.sources.reading import ReadingProblem, find_sources, passages_of, read_source

RECORDS = [{"id": f"r{n}", "title": "T", "text": THAI, "tags": ["a"], "date": "2024-01-01"} for n in range(4)]
HTML = f"<html><head><title>T</title></head><body><h1>H</h1><p>{CHINESE}</p><table><tr><td>a<td>b</table></body></html>"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one good file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    make_pdf(folder / "a.pdf", ["Rivers flow.", CHINESE[:30]], title="T")
    make_pdf(folder / "locked.pdf", ["Rivers flow."], password="owner", owner_only=True)
    make_docx(folder / "a.docx", [(1, "H"), THAI, [["a", "b"], ["c", "d"]]], title="T", keywords="x")
    make_jsonl(folder / "a.jsonl", RECORDS)
    (folder / "a.json").write_text(str(RECORDS).replace("'", '"'))
    (folder / "a.csv").write_text(f"id,title,text\n1,a,{THAI}\n2,b,{CHINESE}\n")
    (folder / "t.csv").write_text("subject,relation,object,source,confidence\na,b,c,s,0.5\nd,e,f,s,1\n")
    (folder / "a.html").write_text(HTML)
    (folder / "a.md").write_text(f"---\ntitle: T\ntags: [a]\ndate: 2024-01-01\n---\n# H\n\n{THAI}\n\n## I\n\ntext\n")
    (folder / "a.txt").write_text(f"{THAI}\n\n{CHINESE}\n")
    problems: list[ReadingProblem] = []
    assert all([*read_source(path, on_problem=problems.append)] for path in folder.iterdir()) and not problems
    return folder


NAMES = ["a.pdf", "locked.pdf", "a.docx", "a.jsonl", "a.json", "a.csv", "t.csv", "a.html", "a.md", "a.txt"]


def survives(path: Path) -> None:
    problems: list[DocumentError] = []
    try:
        for document in read_source(path, on_problem=lambda problem: problems.append(problem.error)):
            document.text.encode()
            for passage in passages_of(document, size=20):
                assert document.text[passage.start : passage.end] == passage.text
    except DocumentError as error:
        problems.append(error)
    assert all(str(path) in str(problem) for problem in problems)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_flipped_and_cut_bytes(whole: Path, name: str, data: st.DataObject):
    good = (whole / name).read_bytes()
    damaged = bytearray(good)
    places = st.integers(0, len(good) - 1)
    for place, value in data.draw(st.lists(st.tuples(places, st.integers(0, 255)), max_size=12)):
        damaged[place] = value
    if data.draw(st.booleans()):
        del damaged[data.draw(places) :]
    if data.draw(st.booleans()):
        start = data.draw(places)
        del damaged[start : start + data.draw(st.integers(1, 40))]
    path = whole / f"damaged-{name}"
    path.write_bytes(damaged)
    survives(path)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(40), deadline=None)
@given(data=st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_any_bytes_under_any_name(whole: Path, name: str, data: bytes):
    path = whole / f"any-{name}"
    path.write_bytes({"a.pdf": b"%PDF-1.4\n", "a.docx": b"PK\x03\x04"}.get(name, b"") + data)
    survives(path)


def test_a_folder_is_walked_in_order(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    root = tmp_path / "root"
    outside = tmp_path / "outside"
    for name in "b.md a/z.TXT a/b/c.pdf a.txt .hidden.md .git/x.md image.png noextension ไทย.md".split():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "linked").symlink_to(outside)
    (root / "a" / "loop").symlink_to(root)
    os.mkfifo(root / "pipe.txt")
    found = [path.relative_to(root.resolve()).as_posix() for path in find_sources(root)]
    assert found == ["a/b/c.pdf", "a/z.TXT", "a.txt", "b.md", "ไทย.md"]
    assert caplog.messages[-1].endswith("5 links and other files were left out (3 links, 1 without extension, 1 .png)")


def test_one_file_is_itself_whatever_its_name(tmp_path: Path):
    path = tmp_path / ".odd.name"
    path.write_text("x")
    assert list(find_sources(path)) == [path.resolve()]
    with pytest.raises(DocumentError, match="no known kind"):
        list(read_source(path))
