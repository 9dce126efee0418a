"""Ingesting: what is stored, what is skipped, replaced and deleted, and what is reported."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import threading
from pathlib import Path

import pytest
from ingesting import contents, fresh, jsonl, people, write

from loopwright.errors import StoreError
from loopwright.retrieval.stores import open_store
from loopwright.retrieval.stores.sqlite import SqliteStore
from loopwright.testing import ScriptedChatModel, always, run_in_process
from loopwright.workflows.rag.sources import IngestProgress, aingest, ingest

ADA = "Ada Lovelace was born in London. Ada Lovelace worked with Charles Babbage."
BRIDGE = "Tower Bridge is a bridge in London. Tower Bridge was designed by Horace Jones."


@pytest.fixture
def store():
    with open_store("memory") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path) -> Path:
    return write(tmp_path / "docs", ada__txt=ADA, bridge__md=f"# Tower Bridge\n\n{BRIDGE}\n")


def titles(store) -> list[str]:
    return [document.title for document in store.documents()]


def test_documents_become_searchable_passages_and_entities(store, folder):
    report = ingest([folder], store, tags=["notes"])
    counts = report.progress
    assert (counts.documents, counts.stored, counts.skipped, counts.failed) == (2, 2, 0, 0)
    assert counts.passages == store.stats().passages == 2
    assert counts.facts == store.stats().facts == 0
    assert counts.bytes == counts.total_bytes == sum(path.stat().st_size for path in folder.iterdir())
    best = store.passages([hit.passage_id for hit in store.search_text("who designed the bridge", 1)])
    assert "Horace Jones" in best[0].text
    assert all(document.tags == ("notes",) for document in store.documents())
    assert "london" in store.links().entities


def test_a_changed_document_takes_away_what_only_it_supported(store, folder):
    ingest([folder], store)
    (folder / "ada.txt").write_text("Ada Lovelace was born in London. Ada Lovelace met Michael Faraday.")
    report = ingest([folder], store)
    assert (report.progress.stored, report.progress.skipped) == (1, 1)
    assert contents(store) == fresh([folder])
    links = store.links()
    assert not any("babbage" in entity for entity in links.entities)
    assert "london" in links.entities


def test_prune_deletes_what_is_gone_and_nothing_else(store, folder, tmp_path):
    other = write(tmp_path / "docs2", note__txt="Orion Group is a company in Oslo.")
    source = jsonl(folder / "people.jsonl", people(6))
    ingest([folder, other], store)
    (folder / "ada.txt").unlink()
    (other / "note.txt").unlink()
    jsonl(source, people(4))
    assert ingest([folder], store).progress.deleted == 0
    report = ingest([folder], store, prune=True)
    assert report.progress.deleted == 3  # one file and two records; the other folder was not given
    assert sorted(titles(store)) == sorted(["Tower Bridge", "note", *(f"Person{n} Sand" for n in range(4))])


@pytest.mark.parametrize("damage", [b"\x00\xff\x00", b"", b"%PDF-1.7 nothing"])
def test_damaged_files_are_reported_and_keep_their_older_version(store, folder, damage):
    ingest([folder], store)
    (folder / "ada.txt").write_bytes(damage)
    write(folder, good__txt="Orion Group is a company in Oslo.", bad__json="{", bad__pdf="no pdf")
    report = ingest([folder], store, prune=True)
    failed = {Path(source).name for source, _ in report.problems}
    assert {"bad.json", "bad.pdf"} <= failed
    if damage[:1] != b"%":  # text is text, whatever it begins with
        assert "ada.txt" in failed
        assert report.progress.failed == 3
        assert store.search_text("Babbage", 1)
    assert all(message and source not in message for source, message in report.problems)
    assert store.search_text("Orion", 1)
    assert store.search_text("Horace", 1)


def test_file_names_that_are_not_utf8(store, tmp_path):
    folder = write(tmp_path / "docs")
    paths = [os.fsencode(folder) + b"/a\xff.txt", os.fsencode(folder) + b"/a\xfe.txt"]
    for number, path in enumerate(paths):
        Path(os.fsdecode(path)).write_text(f"Note {number} from London.")
    ids = [f"{folder}/a%FE.txt", f"{folder}/a%FF.txt"]
    assert ingest([folder], store).progress.stored == 2
    assert [document.id for document in store.documents()] == ids
    assert ingest([folder], store, prune=True).progress.skipped == 2
    assert list(store.digests()) == ids
    os.unlink(paths[0])
    assert ingest([folder], store, prune=True).progress.deleted == 1
    assert list(store.digests()) == ids[:1]
    Path(os.fsdecode(paths[1])).write_bytes(b"")
    assert ingest([folder], store, prune=True).problems == [(ids[0], "is empty")]
    os.rename(paths[1], paths[1] + b".unknown")
    os.symlink(paths[1] + b".unknown", paths[1])
    assert ingest([folder], store, prune=True).progress.deleted == 0


def test_an_id_that_no_store_keeps_costs_its_record_alone(store, tmp_path):
    records = [{"id": "x" * 3000, "text": "In London."}, {"id": "b", "text": "In Oslo."}]
    report = ingest([jsonl(tmp_path / "records.jsonl", records)], store)
    assert (report.progress.failed, report.progress.stored) == (1, 1)
    assert "bytes" in report.problems[0][1]


def test_a_folder_that_cannot_be_read_is_reported(store, folder):
    deep = os.open(folder, os.O_RDONLY)
    for _ in range(20):  # longer than a path may be
        os.mkdir("x" * 250, dir_fd=deep)
        inner = os.open("x" * 250, os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = inner
    os.close(deep)
    report = ingest([folder], store)
    assert (report.progress.failed, report.progress.stored) == (1, 2)
    ((_, message),) = report.problems
    assert message.startswith("the folder cannot be read")


def test_what_is_missing_is_reported_and_not_pruned(store, folder, tmp_path):
    ingest([folder], store)
    folder.rename(tmp_path / "moved")
    report = ingest([folder, tmp_path / "moved"], store, prune=True)
    assert [source for source, _ in report.problems] == [str(folder)]
    assert store.stats().documents == 4


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_read_is_not_pruned(store, folder):
    inner = write(folder / "inner", note__txt="Orion Group is a company.")
    ingest([folder], store)
    inner.chmod(0)
    try:
        assert ingest([folder], store, prune=True).progress.deleted == 0
    finally:
        inner.chmod(0o700)


def test_imported_triples_are_facts(store, tmp_path):
    source = jsonl(
        tmp_path / "triples.jsonl",
        [
            {"subject": "Arden Mills", "relation": "supplies", "object": "paper clips", "confidence": 0.5},
            {"subject": "Arden Mills", "relation": "is not owned by", "object": "Orion Group", "source": "register"},
        ],
    )
    report = ingest([source], store)
    assert report.progress.facts == 2
    facts = {(f.subject, f.relation, f.object, f.confidence, f.extractor) for f in store.facts()}
    assert facts == {
        ("Arden Mills", "supplies", "paper clips", 0.5, "import"),
        ("Arden Mills", "is not owned by", "Orion Group", 1.0, "import"),
    }
    assert {"arden mills", "paper clips", "orion group"} <= {*store.links().entities}
    for fact in store.facts():
        (passage,) = store.passages([fact.passage_id])
        assert fact.object in passage.text[fact.start : fact.end]
        assert fact.ingested_at is not None


def test_progress_only_grows_and_ends_at_the_report(store, folder):
    jsonl(folder / "people.jsonl", people(30))
    steps: list[IngestProgress] = []
    report = ingest([folder], store, batch=7, on_progress=steps.append)
    for earlier, later in itertools.pairwise(steps):
        for name in ("documents", "stored", "passages", "facts", "bytes", "seconds"):
            assert getattr(earlier, name) <= getattr(later, name)
    assert steps[0].total_bytes == steps[-1].bytes == report.progress.bytes
    assert 0 < len({step.stored for step in steps if 0 < step.stored < 32})
    assert report.progress.rate > 0
    assert all(0 <= step.bytes <= step.total_bytes for step in steps)


def test_stop_ends_early_and_a_later_call_goes_on(store, folder):
    jsonl(folder / "people.jsonl", people(30))
    stop = threading.Event()

    def look(progress: IngestProgress) -> None:
        if progress.stored >= 10:
            stop.set()

    report = ingest([folder], store, batch=5, stop=stop, on_progress=look, prune=True)
    assert report.stopped
    assert 10 <= store.stats().documents < 32
    assert not ingest([folder], store).stopped
    assert contents(store) == fresh([folder])


def test_a_failing_store_stops_it_and_what_was_stored_stays(tmp_path):
    source = jsonl(tmp_path / "people.jsonl", people(30))
    store = SqliteStore(tmp_path / "k.db")

    def close(progress: IngestProgress) -> None:
        if progress.stored >= 10:
            store.close()

    with pytest.raises(StoreError):
        ingest([source], store, batch=10, on_progress=close)
    with SqliteStore(tmp_path / "k.db") as again:
        assert again.stats().documents == 10


def ingest_with_little_room(source: str, target: str) -> tuple[str, int]:
    """The error of an ingest that may make files of 300 kB at most, and how many documents it stored."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    with SqliteStore(target) as store:
        try:
            ingest([Path(source)], store, batch=20)
        except StoreError as error:
            return str(error), store.stats().documents
    return "", 0


@pytest.mark.slow
def test_a_store_without_room(tmp_path):
    source = jsonl(tmp_path / "people.jsonl", people(400))
    target = tmp_path / "k.db"
    message, stored = run_in_process(ingest_with_little_room, str(source), str(target)).require()
    assert str(target) in message
    assert stored % 20 == 0
    with SqliteStore(target) as store:
        assert store.stats().documents == stored
        assert ingest([source], store).progress.stored == 400 - stored


# A chat model as the extractor ---------------------------------------------------------------------------------------


def reply(messages):
    quote = "Ada Lovelace was born in London" if "Ada" in messages[-1].text else "not there"
    fact = {"subject": "Ada Lovelace", "relation": "was born in", "object": "London", "quote": quote}
    return {"facts": [fact]}


def test_facts_by_a_model(store, folder):
    chat = ScriptedChatModel(reply, repeat_last=True, delay=0.01)
    report = ingest([folder], store, extractor=chat)
    assert [(fact.object, fact.extractor) for fact in store.facts()] == [("London", "scripted")]
    assert report.dropped_facts == {"quote not in the passage": 1}
    assert len(chat.calls) == 2
    ingest([folder], store, extractor=chat)
    assert len(chat.calls) == 2


async def test_cancelling_stops_the_thread(store, tmp_path):
    source = jsonl(tmp_path / "people.jsonl", people(200))
    stop = threading.Event()
    chat = ScriptedChatModel({"facts": []}, repeat_last=True, delay=0.01)
    task = asyncio.create_task(aingest([source], store, extractor=chat, batch=1, stop=stop))
    while store.stats().documents < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stop.is_set()
    await asyncio.get_running_loop().shutdown_default_executor()
    assert 3 <= store.stats().documents < 200


def test_a_model_that_replies_badly_costs_its_documents_alone(store, folder):
    ingest([folder], store)
    (folder / "ada.txt").write_text("Ada Lovelace met Michael Faraday.")

    def only_bridge(messages):
        return {"facts": []} if "Tower Bridge" in messages[-1].text else "no JSON"

    chat = ScriptedChatModel(only_bridge, repeat_last=True)
    report = ingest([folder], store, extractor=chat, repairs=0, renew=True)
    assert report.progress.failed == 1
    ((source, message),) = report.problems
    assert source.endswith("ada.txt")
    assert "facts could not be extracted" in message
    assert store.search_text("Babbage", 1)  # the older version


def test_a_model_that_cannot_be_reached_stops_it(store, folder):
    with pytest.raises(ConnectionError):
        ingest([folder], store, extractor=always(ConnectionError("no route")))
    assert store.stats().documents == 0
