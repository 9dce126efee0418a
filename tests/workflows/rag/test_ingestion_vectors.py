"""Vectors follow the documents: resumable, stoppable, and never in the way of lexical search."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest
from documents import make_jsonl
from embedders import WordEmbedder
from ingesting import people

from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.stores import open_store
from loopwright.workflows.rag.sources import fill_vectors, ingest


@pytest.fixture
def store():
    with open_store("memory") as opened:
        yield opened


@pytest.fixture
def source(tmp_path):
    return make_jsonl(tmp_path / "people.jsonl", people(50))


def test_every_passage_gets_the_vector_of_its_title_and_text(store, source):
    embedder = WordEmbedder()
    assert isinstance(embedder, Embedder)
    report = ingest([source], store, embedder=embedder)
    assert report.vectors == report.vectors_total == store.stats().vectors == 50
    passage = store.passages_of(store.documents()[3].id)[0]
    vector = embedder.embed_query(f"{passage.title}\n{passage.text}")
    assert store.search_vector(vector, 1, model=embedder.model)[0].passage_id == passage.id


def test_stopped_and_resumed(store, source):
    ingest([source], store)
    seen: list[tuple[int, int]] = []

    def look(done: int, total: int) -> None:
        seen.append((done, total))
        if done >= 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill_vectors(store, WordEmbedder(), batch=10, on_progress=look)
    assert seen == [(10, 50), (20, 50)]
    assert store.stats().vectors == 20
    assert fill_vectors(store, WordEmbedder(), batch=10) == 30
    assert fill_vectors(store, WordEmbedder(), batch=10) == 0


def test_words_are_found_while_vectors_are_made(store, source):
    asked, answered = threading.Event(), threading.Event()

    class Waiting(WordEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            asked.set()
            assert answered.wait(30)
            return super().embed(texts)

    ingest([source], store)
    filling = threading.Thread(target=fill_vectors, args=(store, Waiting()), kwargs={"batch": 10})
    filling.start()
    try:
        assert asked.wait(30)
        assert store.search_text("Works7", 1)
        assert store.stats().vectors == 0
        store.delete([store.documents()[0].id])
    finally:
        answered.set()
        filling.join(30)
    assert store.stats().vectors == store.stats().passages == 49
