"""Ingesting: what is stored, skipped, replaced, deleted and reported; and the vectors that follow the documents."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from documents import make_jsonl
from embedders import WordEmbedder
from ingesting import contents, fresh, in_new_process, ingest_with_little_room, people, write
from store_contract import contribution

from loopwright.errors import StoreError
from loopwright.retrieval.stores import open_store
from loopwright.workflows.rag.commands import _documents_named
from loopwright.workflows.rag.sources import IngestReport, UnreadDocument, fill_vectors, ingest

ADA = "Ada Lovelace was born in London. Ada Lovelace worked with Charles Babbage."
BRIDGE = "Tower Bridge is a bridge in London. Tower Bridge was designed by Horace Jones."


@pytest.fixture
def store():
    with open_store("memory") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path) -> Path:
    return write(tmp_path / "docs", ada__txt=ADA, bridge__md=f"# Tower Bridge\n\n{BRIDGE}\n")


def entities(store) -> set[str]:
    return {key for _, _, keys in store.links() for key in keys}


def titles(store) -> list[str]:
    return [document.title for document in store.documents()]


def test_again_changes_nothing(store, folder, tmp_path):
    make_jsonl(folder / "people.jsonl", people(10))
    ingest([folder], store)
    revision, before = store.revision(), contents(store)
    report = ingest([folder], store, prune=True)
    assert (report.skipped, report.documents, report.stored, report.deleted) == (12, 12, 0, 0)
    assert (store.revision(), contents(store)) == (revision, before)


def test_renew_stores_unchanged_documents_anew(store, folder):
    ingest([folder], store)
    assert ingest([folder], store, tags=["new"]).stored == 0
    assert ingest([folder], store, tags=["new"], renew=True).stored == 2
    assert all(document.tags == ("new",) for document in store.documents())


def test_a_changed_document_takes_away_what_only_it_supported(store, folder):
    ingest([folder], store)
    (folder / "ada.txt").write_text("Ada Lovelace was born in London. Ada Lovelace met Michael Faraday.")
    report = ingest([folder], store)
    assert (report.stored, report.skipped) == (1, 1) and contents(store) == fresh([folder])
    assert not any("babbage" in entity for entity in entities(store))
    assert "london" in entities(store)
    (folder / "ada.txt").rename(folder / "lovelace.txt")  # under its new name it is there once
    report = ingest([folder], store)
    assert (report.stored, report.deleted) == (1, 1) and contents(store) == fresh([folder])
    (folder / "jan.tsv").write_text("Item\tSold\nTea\t1\nMilk\t2\n")
    ingest([folder], store)
    (folder / "jan.tsv").rename(folder / "feb.tsv").write_text("Item\tSold\nTea\t1\nMilk\t3\n")
    assert ingest([folder], store).deleted == 0  # half of it is no copy of it


def test_prune_deletes_what_is_gone_and_nothing_else(store, folder, tmp_path):
    other = write(tmp_path / "docs2", note__txt="Orion Group is a company in Oslo.")
    source = make_jsonl(folder / "people.jsonl", people(6))
    ingest([folder, other], store)
    (folder / "ada.txt").unlink()
    (other / "note.txt").unlink()
    make_jsonl(source, people(4))
    assert ingest([folder], store).deleted == 2  # what a changed file holds no longer
    report = ingest([folder], store, prune=True)
    assert report.deleted == 1  # a file; the other folder was not given
    assert sorted(titles(store)) == sorted(["Tower Bridge", "note", *(f"Person{n} Sand" for n in range(4))])


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_a_record_goes_with_its_line_but_stays_while_its_file_cannot_be_read(store, tmp_path, kind):
    path, other = tmp_path / f"staff.{kind}", tmp_path / f"staff.{kind}#2.md"
    path.write_text("Name,Phone\nAnn,111\nBen,222\nCy,333\n")
    other.write_text("A file of its own.")
    ingest([tmp_path], store)
    path.write_text("Name,Phone\nBen,222\n")
    assert ingest([path], store).deleted == 2
    assert [*store.digests()] == [f"{path}#2", str(other)]
    assert not store.search_text("333", 1)
    for damaged in ("Name,Phone\n", 'Name,Phone\n"Ann,111\nBen,222\n'):
        path.write_text(damaged)
        report = ingest([path], store)
        assert (report.deleted, report.failed) == (0, 1)


def test_prune_of_very_many_files_that_are_named(store, tmp_path):
    files = [*write(tmp_path / "docs", **{f"n{number}__txt": f"Note {number}." for number in range(1_001)}).iterdir()]
    store.put([contribution(f"{files[0]}#2", "What it held once.")])
    report = ingest(files, store, batch=2_000, prune=True)
    assert (report.stored, report.deleted, len(store.digests())) == (1_001, 1, 1_001)


@pytest.mark.parametrize("damage", [b"\x00\xff\x00", b"", b"%PDF-1.7 nothing"])
def test_damaged_files_are_reported_and_keep_their_older_version(store, folder, damage):
    ingest([folder], store)
    (folder / "ada.txt").write_bytes(damage)
    write(folder, good__txt="Orion Group is a company in Oslo.", bad__json="{", bad__pdf="no pdf")
    report = ingest([folder], store, prune=True)
    failed = {Path(each.name).name for each in report.problems}
    assert {"bad.json", "bad.pdf"} <= failed
    if damage[:1] != b"%":  # text is text, whatever it begins with
        assert "ada.txt" in failed
        assert report.failed == 3 and store.search_text("Babbage", 1)
    assert all(each.problem and each.name not in each.problem for each in report.problems)
    assert store.search_text("Orion", 1) and store.search_text("Horace", 1)


def test_file_names_that_are_not_utf8(store, tmp_path):
    folder = write(tmp_path / "docs")
    paths = [os.fsencode(folder) + b"/a\xff.txt", os.fsencode(folder) + b"/a\xfe.txt"]
    for number, path in enumerate(paths):
        Path(os.fsdecode(path)).write_text(f"Note {number} from London.")
    ids = [f"{folder}/a%FE.txt", f"{folder}/a%FF.txt"]
    assert ingest([folder], store).stored == 2
    assert [document.id for document in store.documents()] == ids
    assert ingest([folder], store, prune=True).skipped == 2
    assert _documents_named(os.fsdecode(paths[0]))[1] == ids[1]
    assert _documents_named("/x/C") == ("/x/C", "/x/C", "/x/C/")  # and not what lies in "/x/C#"
    assert list(store.digests()) == ids
    os.unlink(paths[0])
    assert ingest([folder], store, prune=True).deleted == 1
    assert list(store.digests()) == ids[:1]
    Path(os.fsdecode(paths[1])).write_bytes(b"")
    assert ingest([folder], store, prune=True).problems == [UnreadDocument(ids[0], "is empty")]
    os.rename(paths[1], paths[1] + b".unknown")
    os.symlink(paths[1] + b".unknown", paths[1])
    assert ingest([folder], store, prune=True).deleted == 0


def test_an_id_that_no_store_keeps_costs_its_record_alone(store, tmp_path):
    records = [{"id": "x" * 3000, "text": "In London."}, {"id": "b", "text": "In Oslo."}]
    report = ingest([make_jsonl(tmp_path / "records.jsonl", records)], store)
    assert (report.failed, report.stored) == (1, 1) and "bytes" in report.problems[0].problem


def test_a_folder_that_cannot_be_read_is_reported(store, folder):
    deep = os.open(folder, os.O_RDONLY)
    for _ in range(20):  # longer than a path may be
        os.mkdir("x" * 250, dir_fd=deep)
        inner = os.open("x" * 250, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    report = ingest([folder], store)
    assert (report.failed, report.stored) == (1, 2)
    (unread,) = report.problems
    assert unread.problem.startswith("the folder cannot be read")


def test_what_is_missing_is_reported_and_not_pruned(store, folder, tmp_path):
    ingest([folder], store)
    folder.rename(tmp_path / "moved")
    report = ingest([folder, tmp_path / "moved"], store, prune=True)
    assert [each.name for each in report.problems] == [str(folder)]
    assert store.stats().documents == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_not_pruned(store, folder):
    inner = write(folder / "inner", note__txt="Orion Group is a company.")
    ingest([folder], store)
    inner.chmod(0)
    try:
        assert ingest([folder], store, prune=True).deleted == 0
    finally:
        inner.chmod(0o700)


def test_the_two_sides_of_a_triple_are_entities(store, tmp_path):
    triples = [
        {"subject": "Arden Mills", "relation": "supplies", "object": "paper clips", "confidence": 0.5},
        {"subject": "Arden Mills", "relation": "is not owned by", "object": "Orion Group", "source": "register"},
    ]
    assert ingest([make_jsonl(tmp_path / "triples.jsonl", triples)], store).stored == 2
    assert {"arden mills", "paper clips", "orion group"} <= entities(store)


def test_a_failing_store_stops_it_and_what_was_stored_stays(tmp_path):
    source = make_jsonl(tmp_path / "people.jsonl", people(30))
    store = open_store(f"sqlite:{tmp_path / 'k.db'}")

    def close(progress: IngestReport) -> None:
        if progress.stored >= 10:
            store.close()

    with pytest.raises(StoreError):
        ingest([source], store, batch=10, on_progress=close)
    with open_store(f"sqlite:{tmp_path / 'k.db'}") as again:
        assert again.stats().documents == 10


@pytest.mark.slow
def test_a_store_without_room(tmp_path):
    source = make_jsonl(tmp_path / "people.jsonl", people(400))
    target = tmp_path / "k.db"
    message, stored = in_new_process(ingest_with_little_room, str(source), str(target))
    assert str(target) in message and stored % 20 == 0
    with open_store(f"sqlite:{target}") as store:
        assert store.stats().documents == stored
        assert ingest([source], store).stored == 400 - stored


@pytest.fixture
def source(tmp_path):
    return make_jsonl(tmp_path / "people.jsonl", people(50))


def test_every_passage_gets_the_vector_of_its_title_and_text(store, source):
    embedder = WordEmbedder()
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
    assert seen == [(10, 50), (20, 50)] and store.stats().vectors == 20
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
        assert store.search_text("Works7", 1) and store.stats().vectors == 0
        store.delete([store.documents()[0].id])
    finally:
        answered.set()
        filling.join(30)
    assert store.stats().vectors == store.stats().passages == 49
