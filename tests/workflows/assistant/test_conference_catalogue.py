"""All records in memory: filters, values, one catalogue for each revision of a store; and as they lie in it."""

from collections import defaultdict
from datetime import date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from chances import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from loopwright.retrieval.records import Contribution, Document
from loopwright.retrieval.stores import open_store
from loopwright.workflows.assistant.question.conversation import around
from loopwright.workflows.assistant.question.names import Names
from loopwright.workflows.assistant.schemas import Condition, Filters, Record, Table
from loopwright.workflows.assistant.sources.catalogue import Catalogue, current, holds
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.sources.sample import sample_store
from loopwright.workflows.assistant.sources.storing import (
    PASSAGE_CHARACTERS,
    contribution_of,
    embedded_text,
    info_contribution,
)

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
        ((FIRST, condition("on", least=870, most=871)), "open", ""),
        ((FIRST, condition("minutes", most=60)), "rye", "Ana Só, Bo Li"),
        ((condition("end", most=660),), "rye", "Ana Só, Bo Li"),
        ((FIRST, condition("end", least=890)), "open", ""),
        ((condition("record", "sessions:rye", "sessions:late"),), "rye late", ""),
    ],
)
def test_filters(catalogue, asked, sessions, speakers):
    for _ in range(2):  # the second time from memory
        found = catalogue.filtered(Table.SESSIONS, Filters(include=asked))
        assert [record.key for record in found] == sessions.split()
        people = catalogue.filtered(Table.SPEAKERS, Filters(include=asked))
        assert ", ".join(record.title for record in people) == speakers


def test_a_session_of_several_days_is_on_until_it_ends_and_starts_once():
    days = ("2026-05-08", "2026-05-09", "2026-05-10")
    camp = session("camp", "Camp", moment(8, 10), moment(10, 18), day=days)
    for slot, day, least, held in (("on", 1, 540, True), ("on", 2, 1100, False), ("start", 1, 0, False)):
        assert holds(camp, condition(slot, least=least, most=least + 720), days[day : day + 1]) is held
    assert [(each.values, each.least) for each in around(camp, "after")] == [(days[-1:], None), ((), 1080)]
    night = session("n", "Clock", *map(datetime.fromisoformat, ("2026-03-28T23:30+01:00", "2026-03-29T04:00+02:00")))
    for slot, least, most in (("on", 1630, 1631), ("minutes", 210, 210), ("end", 1679, 1680)):
        assert holds(night, condition(slot, least=least, most=most))


def test_what_goes_by_the_same_name_is_all_found():
    one = session("1", "Rye Bread", type=("Workshop",), language=("English",))
    other = session("2", "rye bread", type=("workshops",), language=("en-GB",))
    who = PEOPLE[0].model_copy(update={"title": "Carlos Eduardo de Souza Lima"})
    names = Names(Catalogue(INFO, [one, other, who]))
    assert ([each.key for each in names.records("Rye bread")], len(names.persons["lima"])) == (["1", "2"], 1)
    assert (names.types, names.languages) == ({"workshop": ("Workshop", "workshops")}, {"en": ("English", "en-GB")})


def test_an_exhibitor_who_names_no_day_is_there_all_the_time(catalogue):
    def titles(*asked: Condition) -> list[str]:
        return [record.title for record in catalogue.filtered(Table.EXHIBITORS, Filters(include=asked))]

    assert titles(FIRST) == ["Mill"]
    assert titles(condition("day", "2026-05-09")) == ["Mill", "Oven"]
    assert titles(condition("start", least=600)) == ["Mill", "Oven"]
    assert titles(condition("room", "Yard")) == ["Oven"]


def test_a_catalogue_is_made_anew_only_when_its_store_has_changed(tmp_path):
    records = (*TALKS, *PEOPLE)
    with open_store(f"sqlite:{tmp_path / 'a.db'}") as store, open_store("memory") as other:
        store.put([info_contribution(INFO), *map(contribution_of, records)])
        first = current(store)
        assert first.info == INFO
        assert first.records == {record.id: record for record in records}
        assert current(store) is first
        other.put([Contribution(document=Document(id="/a.txt", title="a", digest="1"), passages=())])
        none = current(other)
        assert (none.info, none.records, none.filtered(Table.SESSIONS, Filters())) == (None, {}, [])
        store.delete(["sessions:rye"])
        assert current(store) is not first
        assert "sessions:rye" not in current(store).records
        assert "sessions:rye" in first.records


RYE = Record(
    id="sessions:1",
    table=Table.SESSIONS,
    key="1",
    title="Rye",
    texts={"title": "Rye", "abstract": "Why rye.\n\n" + "It needs time. " * 300, "speakers": "Ana Só"},
    fields={"day": ("2026-05-08",), "speaker": ("Ana Só", "Bo Li")},
    start=moment(8, 10),
    end=moment(8, 11),
    url="https://bread.example/1",
    related=("speakers:7", "speakers:8"),
)


@given(st.lists(st.sampled_from(["word ", "end. ", "line\n", "par\n\n", "字" * 40, "x" * 2000]), max_size=400))
@settings(max_examples=examples(50), deadline=None)
def test_no_text_is_lost_or_too_long_whatever_it_is_made_of(parts):
    text = "".join(parts)
    record = RYE.model_copy(update={"texts": {"title": "Rye", "abstract": text} if text else {"title": "Rye"}})
    kept = contribution_of(record)
    assert Record.model_validate_json(kept.document.kept) == record
    assert "".join(each.text for each in kept.passages if each.heading == "abstract") == text
    assert all(0 < len(passage.text) <= PASSAGE_CHARACTERS for passage in kept.passages)


def test_a_text_that_says_too_little_alone_is_embedded_with_its_title():
    by_facet = {passage.heading: embedded_text(passage) for passage in contribution_of(RYE).passages}
    assert by_facet["title"] == "Rye"
    assert by_facet["speakers"] == "Ana Só"
    assert by_facet["abstract"].startswith("Rye\n")


@pytest.mark.parametrize(
    "wrong", [{"time_zone": "Mars/Base"}, {"time_zone": "../etc/passwd"}, {"end": date(2026, 5, 7)}, {"end": date(2036, 5, 7)}]
)  # fmt: skip
def test_a_conference_that_cannot_be_is_refused(wrong):
    with pytest.raises(ValidationError):
        ConferenceInfo.model_validate(INFO.model_dump() | wrong)


def test_the_sample_is_a_conference_that_can_take_place():
    with sample_store() as store:
        catalogue = current(store)
    sessions = catalogue.of_table(Table.SESSIONS)
    assert [len(catalogue.of_table(table)) for table in Table] == [71, 45, 25, 20]
    days = [date.fromisoformat(day) for day in catalogue.values("day")]
    assert days == [catalogue.info.start + timedelta(days=n) for n in range(len(days))]
    assert days[-1] == catalogue.info.end
    assert len(catalogue.values("track")) >= 5
    assert set(catalogue.values("type")) >= {"keynote", "talk", "workshop", "lightning talk", "panel"}
    assert set(catalogue.values("language")) == {"en", "pt", "es", "de"}
    places: dict[tuple[str, str], list] = defaultdict(list)
    for session in sessions:
        assert 50 <= len(session.texts["abstract"].split()) <= 130, session.title
        assert session.start < session.end
        for busy in (*session.values("room"), *session.values("speaker")):
            places[busy, session.values("day")[0]].append(session)
    for (busy, _), there in places.items():
        for earlier, later in pairwise(there):
            assert earlier.end <= later.start, f"{busy}: {earlier.title} and {later.title}"
