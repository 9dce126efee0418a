"""Real corpora, and files as large as they may be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from documents import THAI

from loopwright.workflows.rag.sources.reading import passages_of, read_source
from loopwright.workflows.rag.sources.reading.text_spans import words_in

CORPORA = Path(__file__).parents[4] / "shared" / "data" / "qa"

# Prints how many documents and passages there are, and the most memory that was used, in kilobytes. The kernel's own
# high-water mark, because ru_maxrss begins with that of the parent.
COUNT = """
import re, sys
from pathlib import Path
from loopwright.workflows.rag.sources.reading import passages_of, read_source
documents = passages = 0
for document in read_source(Path(sys.argv[1])):
    documents += 1
    # Cutting takes most of the time, and keeps nothing from one document to the next.
    if documents % 20 == 0:
        passages += len(passages_of(document))
print(documents, passages, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.parametrize(("name", "count"), [("hotpotqa", 994), ("musique", 1890)])
def test_corpora(name: str, count: int):
    path = CORPORA / f"{name}.corpus.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    records = {record["id"]: record for record in map(json.loads, path.read_text().splitlines())}
    seen = 0
    for document in read_source(path):
        seen += 1
        record = records[document.key]
        assert (document.title, document.text) == (" ".join(record["title"].split()), record["text"])
        passages = passages_of(document)
        assert all(document.text[passage.start : passage.end] == passage.text for passage in passages)
        if words_in(document.text) <= 120:
            assert [passage.text for passage in passages] == [document.text]
        assert max(words_in(passage.text) for passage in passages) <= 200
    assert seen == count


def measure(path: Path) -> tuple[int, int, int]:
    ran = subprocess.run([sys.executable, "-c", COUNT, str(path)], capture_output=True, text=True, check=True)
    documents, passages, kilobytes = map(int, ran.stdout.split())
    return documents, passages, kilobytes


def fill(path: Path, first: str, record: str, most: int) -> int:
    """Write records, which hold their number at {}, up to a size, and say how many there are."""
    count = written = 0
    with path.open("wb") as file:
        written += file.write(first.encode())
        while True:
            line = record.replace("{}", str(count)).encode()
            if written + len(line) > most:
                return count
            written += file.write(line)
            count += 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "first", "record"),
    [
        ("big.jsonl", "", json.dumps({"id": "r{}", "title": "T {}", "text": f"{THAI} {'Some words. ' * 250}"}) + "\n"),
        ("big.csv", "id,title,note\n", f'r{{}},T {{}},"{THAI} {"Some words. " * 250}"\n'),
    ],
)
def test_two_hundred_megabytes_in_flat_memory(tmp_path: Path, name: str, first: str, record: str):
    path = tmp_path / name
    count = fill(path, first, record, 20 * 2**20)
    documents, _, small = measure(path)
    assert documents == count
    count = fill(path, first, record, 200 * 2**20)
    assert path.stat().st_size > 199 * 2**20
    documents, passages, large = measure(path)
    path.unlink()
    assert documents == count and passages > 3 * (count // 20)
    # What grows are the keys, to notice the same id twice.
    assert large - small < 40_000
