"""Real corpora, and files as large as they may be."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loopwright.workflows.rag.sources.reading import passages_of, read_source
from loopwright.workflows.rag.sources.reading.text_spans import words_in

CORPORA = Path(__file__).parents[4] / "shared" / "data" / "qa"


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
