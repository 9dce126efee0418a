"""All records in memory: filters, values, and one catalogue for each revision of a store."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from postgres import postgres_server, postgres_url  # noqa: F401

from loopwright.retrieval.records import Contribution, Document
from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant.schemas import Condition, Filters, Record, Table
from loopwright.workflows.assistant.sources.catalogue import Catalogue, current
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.sources.storing import contribution_of, info_contribution

LISBON = ZoneInfo("Europe/Lisbon")
INFO = ConferenceInfo(title="Bread Days", start=date(2026, 5, 8), end=date(2026, 5, 9), time_zone="Europe/Lisbon")


def moment(day: int, hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 5, day, hour, minute, tzinfo=LISBON)


def session(
    key: str, title: str, start: datetime | None = None, end: datetime | None = None, **fields: tuple[str, ...]
) -> Record:
    day = (start.date().isoformat(),) if start else ()
    related = tuple({"Ana Só": "speakers:7", "Bo Li": "speakers:8"}[name] for name in fields.get("speaker", ()))
    kept = {"day": day, **fields} if day else fields
    return Record(
        id=f"sessions:{key}",
        table=Table.SESSIONS,
        key=key,
        title=title,
        fields=kept,
        start=start,
        end=end,
        related=related,
    )


TALKS = (
    session("late", "Late", moment(9, 16), moment(9, 17), room=("Yard",), speaker=("Ana Só",)),
    session("rye", "Rye", moment(8, 10), moment(8, 11), room=("Oven",), track=("Grain",), type=("talk",), language=("en",), speaker=("Ana Só", "Bo Li")),
    session("oats", "Oats", moment(8, 10, 30), moment(8, 12), room=("Yard",), track=("Grain",), type=("workshop",), language=("pt",), speaker=("Bo Li",)),
    session("open", "Open end", moment(8, 14), room=("Oven",)),
    session("undated", "Undated"),
)  # fmt: skip
PEOPLE = tuple(
    Record(id=f"speakers:{key}", table=Table.SPEAKERS, key=key, title=name, related=tuple(each.id for each in TALKS if name in each.values("speaker")))
    for key, name in (("7", "Ana Só"), ("8", "Bo Li"))
)  # fmt: skip
STANDS = (
    Record(id="exhibitors:Mill", table=Table.EXHIBITORS, key="Mill", title="Mill", texts={"name": "Mill"}),
    Record(id="exhibitors:Oven", table=Table.EXHIBITORS, key="Oven", title="Oven", texts={"name": "Oven"}, fields={"day": ("2026-05-09",), "room": ("Yard",)}),
)  # fmt: skip


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(INFO, [*TALKS, *PEOPLE, *STANDS])


def condition(slot: str, *values: str, least: int | None = None, most: int | None = None) -> Condition:
    return Condition.model_validate({"slot": slot, "values": values, "least": least, "most": most})


FIRST, WORKSHOP, ANAS = condition("day", "2026-05-08"), condition("type", "workshop"), condition("person", "Ana Só")


@pytest.mark.parametrize(
    ("asked", "sessions", "speakers"),
    [
        ((), "rye oats open late undated", "Ana Só, Bo Li"),
        ((condition("day", "2026-05-08", "2026-05-09"),), "rye oats open late", "Ana Só, Bo Li"),
        ((condition("room", "Oven"),), "rye open", "Ana Só, Bo Li"),
        ((condition("room", "Oven", "Yard"), condition("track", "Grain")), "rye oats", "Ana Só, Bo Li"),
        ((condition("language", "pt", "de"),), "oats", "Bo Li"),
        ((ANAS, FIRST), "rye", "Ana Só"),
        ((ANAS, WORKSHOP), "", ""),
        ((condition("start", most=630),), "rye", "Ana Só, Bo Li"),
        ((FIRST, condition("on", least=630, most=631)), "rye oats", "Ana Só, Bo Li"),
        ((FIRST, condition("on", least=840, most=841)), "open", ""),
        ((condition("end", most=660),), "rye", "Ana Só, Bo Li"),
        ((condition("record", "sessions:rye", "sessions:late"),), "rye late", ""),
    ],
)
def test_filters(catalogue, asked, sessions, speakers):
    for _ in range(2):  # the second time from memory
        found = catalogue.filtered(Table.SESSIONS, Filters(include=asked))
        assert [record.key for record in found] == sessions.split()
        people = catalogue.filtered(Table.SPEAKERS, Filters(include=asked))
        assert ", ".join(record.title for record in people) == speakers


def test_an_exhibitor_who_names_no_day_is_there_all_the_time(catalogue):
    def titles(*asked: Condition) -> list[str]:
        return [record.title for record in catalogue.filtered(Table.EXHIBITORS, Filters(include=asked))]

    assert titles(FIRST) == ["Mill"]
    assert titles(condition("day", "2026-05-09")) == ["Mill", "Oven"]
    assert titles(condition("start", least=600)) == ["Mill", "Oven"]
    assert titles(condition("room", "Yard")) == ["Oven"]


def test_a_store_without_a_conference_has_an_empty_catalogue():
    with open_store("memory") as store:
        store.put([Contribution(document=Document(id="/a.txt", title="a", digest="1"), passages=())])
        catalogue = Catalogue.of(store)
    assert catalogue.info is None
    assert catalogue.records == {}
    assert catalogue.filtered(Table.SESSIONS, Filters()) == []


def test_a_catalogue_is_made_anew_only_when_its_store_has_changed(tmp_path):
    records = (*TALKS, *PEOPLE)
    with open_store(f"sqlite:{tmp_path / 'a.db'}") as store, open_store("memory") as other:
        store.put([info_contribution(INFO), *map(contribution_of, records)])
        first = current(store)
        assert first.info == INFO
        assert sorted(first.records.values(), key=lambda record: record.id) == sorted(
            records, key=lambda record: record.id
        )
        assert current(store) is first
        assert current(other).records == {}
        store.delete(["sessions:rye"])
        assert current(store) is not first
        assert "sessions:rye" not in current(store).records
        assert "sessions:rye" in first.records
