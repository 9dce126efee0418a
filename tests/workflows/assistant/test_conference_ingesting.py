"""Ingesting a conference: only what changed, all or nothing, and vectors afterwards."""

from pathlib import Path

import pytest
from embedders import WordEmbedder

from loopwright.errors import DocumentError
from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant.schemas import PlannedQuery, Table
from loopwright.workflows.assistant.searching.search import Search
from loopwright.workflows.assistant.sources.catalogue import current
from loopwright.workflows.assistant.sources.ingesting import embed_all, ingest

SCHEDULE = """Title,Speakers,Date,Start,Duration,Room,Abstract
Rye,Ana Só; Bo Li,2026-05-08,10:00,45,Oven,Why rye needs time
Oats,Bo Li,2026-05-08,11:00,45,Oven,Porridge for everyone
"""
STANDS = "name,offering\nMill,flour\nOven,heat\n"


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    schedule, stands = tmp_path / "schedule.csv", tmp_path / "stands.csv"
    schedule.write_text(SCHEDULE)
    stands.write_text(STANDS)
    return schedule, stands


def test_only_what_changed_is_stored(files):
    schedule, stands = files
    with open_store("memory") as store:
        first = ingest(store, schedule, exhibitors=stands)
        assert (first.added, first.changed, first.unchanged, first.removed) == (6, 0, 0, 0)
        revision = store.revision()
        again = ingest(store, schedule, exhibitors=stands)
        assert (again.added, again.changed, again.unchanged, again.removed) == (0, 0, 6, 0)
        assert store.revision() == revision
        # Ana is gone, her talk is Bo's alone, and another talk moved.
        schedule.write_text(SCHEDULE.replace("Ana Só; Bo Li", "Bo Li").replace("11:00", "12:00"))
        third = ingest(store, schedule, exhibitors=stands)
        assert (third.added, third.changed, third.unchanged, third.removed) == (0, 2, 3, 1)
        catalogue = current(store)
        assert [record.title for record in catalogue.of_table(Table.SPEAKERS)] == ["Bo Li"]
        assert catalogue.records["sessions:oats"].start.hour == 12
        schedule.write_text(SCHEDULE.replace("Abstract", "Status").replace("Porridge for everyone", "cancelled"))
        ingest(store, schedule)
        found = [Search(store).run(PlannedQuery(table=Table.SESSIONS, query_text=text)).hits for text in ("oats", "")]
        assert ["Cancelled: Oats" in str(hits) for hits in found] == [True, False]


def test_tables_whose_file_is_not_given_stay_and_a_damaged_file_changes_nothing(files):
    schedule, stands = files
    with open_store("memory") as store:
        ingest(store, schedule)
        assert ingest(store, exhibitors=stands).removed == 0
        stands.write_text("name,offering\nMill,flour\n")
        report = ingest(store, exhibitors=stands)
        assert (report.unchanged, report.removed) == (1, 1)
        catalogue = current(store)
        assert catalogue.info is not None
        assert len(catalogue.of_table(Table.SESSIONS)) == 2
        assert [record.title for record in catalogue.of_table(Table.EXHIBITORS)] == ["Mill"]
        revision = store.revision()
        schedule.write_text(SCHEDULE.replace("Rye", "Wheat"))
        stands.write_text("colour\nred\n")
        with pytest.raises(DocumentError, match="no row has a column"):
            ingest(store, schedule, exhibitors=stands)
        assert store.revision() == revision


def test_vectors_are_made_once_for_each_text_and_only_where_missing(files):
    schedule, stands = files
    embedder = WordEmbedder()
    told: list[tuple[int, int]] = []
    with open_store("memory") as store:
        ingest(store, schedule, exhibitors=stands)
        passages = store.stats().passages
        assert embed_all(store, embedder, on_progress=lambda done, total: told.append((done, total))) == passages
        assert told[-1] == (passages, passages)
        assert "Bo Li" in embedder.texts
        assert len(embedder.texts) == len(set(embedder.texts)) < passages
        assert embed_all(store, embedder) == 0
        schedule.write_text(SCHEDULE.replace("Porridge", "Pancakes"))
        ingest(store, schedule)
        embedder.texts.clear()
        assert 0 < embed_all(store, embedder) < passages
        assert "Oats\nPancakes for everyone" in embedder.texts
        hit = store.search_vector(embedder.embed_query("Oats\nPancakes for everyone"), 1, model=embedder.model)[0]
        assert hit.passage_id.startswith("sessions:oats::")


def test_a_file_that_the_store_has_word_for_word_is_not_read_again_and_any_other_is(files):
    schedule, stands = files
    told: list[str] = []
    with open_store("memory") as store:
        ingest(store, schedule, exhibitors=stands, progress=told.append)
        assert told == ["reading schedule.csv", "reading stands.csv", "storing 6 records"]
        ingest(store, schedule, progress=told.append)
        assert told.count("reading schedule.csv") == 1
        schedule.write_text(SCHEDULE.replace("Oats", "Barley") + "Late,Bo Li,2026-05-08,soon,45,Oven,x\n")
        for _ in range(2):  # told each time
            (problem,) = ingest(store, schedule).problems
            assert "'soon' is no time of day" in problem
        schedule.write_text(SCHEDULE)
        last = ingest(store, schedule)
        assert (last.added, last.changed, last.removed, last.problems) == (1, 1, 2, ())
