"""Schedules as organisers have them: Pentabarf XML, pretalx JSON, iCal."""

import json
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from conferences import ICAL
from documents import written

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.reading.schedules import Read, read_schedule

FOSDEM = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "fosdem"

PENTABARF = """<?xml version="1.0" encoding="UTF-8"?>
<schedule>
  <conference>
    <title>Bread Days</title><acronym>bread</acronym><venue>Old Mill</venue><city>Lisbon</city>
    <start>2026-05-08</start><end>2026-05-09</end><day_change>06:00:00</day_change>
    <time_zone_name>Europe/Lisbon</time_zone_name>
  </conference>
  <day index="1" date="2026-05-08">
    <room name="Oven">
      <event id="1">
        <date>2026-05-08T10:00:00+01:00</date><start>10:00</start><duration>00:45</duration><room>Oven</room>
        <title>Rye &amp; patience</title><subtitle>Slow dough</subtitle><track>Grain</track><type>talk</type>
        <language>en</language><url>https://bread.example/1</url>
        <abstract>&lt;p&gt;Why &lt;em&gt;rye&lt;/em&gt; needs time.&lt;/p&gt;&lt;ul&gt;&lt;li&gt;one&lt;/li&gt;&lt;li&gt;two&lt;/li&gt;&lt;/ul&gt;</abstract>
        <description>See [the mill](https://mill.example/x) for 2 &lt; 3.</description>
        <persons><person id="7">Ana Só</person><person id="8">Bo Li</person><person id="7">Ana Só</person></persons>
      </event>
      <event id="2">
        <start>01:30</start><duration>1:30</duration><title>Night bake</title>
        <persons><person id="7">Ana Só</person></persons>
      </event>
      <event id="3"><start>11:00</start><duration>ages</duration><title>Long</title></event>
      <event id="4"><start>noon</start><title>Unclear</title></event>
      <event id="5"><start>12:00</start><title> </title></event>
    </room>
  </day>
  <day index="2" date="2026-05-09"><room name="Yard"/></day>
</schedule>
"""


def of(schedule: Read, id: str) -> Record:
    return next(record for record in schedule.records if record.id == id)


def test_pentabarf_gives_sessions_and_speakers_and_says_what_is_wrong_with_an_event(tmp_path):
    schedule = read_schedule(written(tmp_path, "schedule.xml", PENTABARF))
    info = schedule.info
    assert (info.title, info.acronym, info.venue, info.city) == ("Bread Days", "bread", "Old Mill", "Lisbon")
    assert (info.start, info.end) == (date(2026, 5, 8), date(2026, 5, 9))
    assert info.day_change == time(6)
    assert str(info.zone) == "Europe/Lisbon"
    rye = of(schedule, "sessions:1")
    assert rye.title == "Rye & patience"
    assert rye.texts == {
        "title": "Rye & patience",
        "subtitle": "Slow dough",
        "abstract": "Why rye needs time.\n\none\n\ntwo",
        "description": "See the mill for 2 < 3.",
        "track": "Grain",
        "speakers": "Ana Só, Bo Li",
    }
    assert rye.fields == {
        "day": ("2026-05-08",),
        "room": ("Oven",),
        "track": ("Grain",),
        "type": ("talk",),
        "language": ("en",),
        "speaker": ("Ana Só", "Bo Li"),
    }
    assert rye.start == datetime.fromisoformat("2026-05-08T10:00+01:00")
    assert rye.end == datetime.fromisoformat("2026-05-08T10:45+01:00")
    assert rye.url == "https://bread.example/1"
    assert rye.related == ("speakers:7", "speakers:8")
    ana = of(schedule, "speakers:7")
    assert (ana.title, ana.related) == ("Ana Só", ("sessions:1", "sessions:2"))
    assert ana.texts == {"name": "Ana Só", "talks": "Rye & patience\nNight bake", "topics": "Grain"}
    assert of(schedule, "sessions:3").start and not of(schedule, "sessions:3").end
    assert of(schedule, "sessions:4").start is None
    assert all(record.key != "5" for record in schedule.records)
    lines = PENTABARF.splitlines()
    for problem, id, said in zip(
        schedule.problems, ("3", "4", "5"), ("without an end", "without a time", "no title"), strict=True
    ):
        number = next(place for place, line in enumerate(lines, 1) if f'<event id="{id}">' in line)
        assert problem.startswith(f"schedule.xml, line {number}:")
        assert said in problem


def test_ical(tmp_path):
    schedule = read_schedule(written(tmp_path, "bread.ics", ICAL.replace("\n", "\r\n")))
    assert (schedule.info.title, schedule.info.time_zone) == ("Bread Days", "Europe/Lisbon")
    rye = of(schedule, "sessions:1")
    assert (rye.title, rye.texts["abstract"]) == ("Rye, slowly", "A long line that is folded.")
    assert rye.start == datetime.fromisoformat("2026-05-08T10:00+01:00")
    assert rye.end == datetime.fromisoformat("2026-05-08T10:45+01:00")
    assert (rye.values("speaker"), rye.values("track")) == (("Ana Só",), ("Grain",))
    night = of(schedule, "sessions:2")
    assert night.start == datetime.fromisoformat("2026-05-09T01:30+01:00")
    assert night.end - night.start == timedelta(minutes=30)
    assert night.values("day") == ("2026-05-08",)
    market = of(schedule, "sessions:3")
    assert (market.start, market.values("day")) == (None, ("2026-05-09", "2026-05-10"))
    told = [("repeats" in problem, "cancelled" in problem) for problem in schedule.problems]
    assert told == [(True, False), (False, True)]
    once = ICAL.replace("STATUS", "RECURRENCE-ID:20260509T100000\nSTATUS")  # the others of its times are on
    assert len(read_schedule(written(tmp_path, "a.ics", once)).records) == len(schedule.records) - 1


def test_who_gives_a_session_of_ical_is_no_room_and_no_office_and_windows_zones_are_known(tmp_path):
    zone = "BEGIN:VTIMEZONE\nTZID:W. Europe Standard Time\nBEGIN:STANDARD\nDTSTART:16011028T030000\nTZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT"
    invited = "ATTENDEE;CN=Oven;CUTYPE=RESOURCE:mailto:oven@x\nORGANIZER;CN=Office:mailto:y@x\nUID:"
    text = ICAL.replace("X-WR-TIMEZONE:Europe/Lisbon\nBEGIN:VEVENT", zone).replace("UID:", invited)
    own = text.replace("Office:mailto:y@x\nUID:2", "Cy Ma, Di Bo:mailto:y@x\nUID:2")
    alone = text.replace("ORGANIZER;CN=Office:mailto:y@x\nUID:1", "UID:1").replace("RESOURCE", "resource")
    for content, night in ((text, ()), (own, ("Cy Ma", "Di Bo")), (alone, ("Office",))):
        schedule = read_schedule(written(tmp_path, "bread.ics", content))
        assert schedule.info.time_zone == "Europe/Berlin"
        assert [of(schedule, f"sessions:{key}").values("speaker") for key in "12"] == [("Ana Só",), night]


def test_a_property_of_an_event_that_cannot_be_parsed_costs_only_itself(tmp_path):
    broken = ICAL.replace("20260508T100000", "soon").replace("DURATION:PT30M", "DURATION:-PT30M")
    schedule = read_schedule(written(tmp_path, "bread.ics", broken))
    assert of(schedule, "sessions:1").start is None
    assert of(schedule, "sessions:1").values("room") == ("Oven",)
    assert of(schedule, "sessions:2").start is not None
    assert of(schedule, "sessions:2").end is None
    assert any("'Rye, slowly': it has no date" in problem for problem in schedule.problems)
    assert any("'-30 min' is no duration" in problem for problem in schedule.problems)
    odd = read_schedule(written(tmp_path, "odd.ics", ICAL.replace("  folded.", "no property here")))
    assert any("no property here" in problem for problem in odd.problems)


def test_a_time_zone_that_the_file_does_not_name_is_the_callers_or_that_of_its_times(tmp_path, caplog):
    path = written(tmp_path, "schedule.xml", PENTABARF.replace("Europe/Lisbon", "CEST"))
    assert read_schedule(path).info.time_zone == "Etc/GMT-1"
    assert read_schedule(path, time_zone="Europe/Paris").info.time_zone == "Europe/Paris"
    with pytest.raises(DocumentError, match="unknown time zone 'Mars/Base'"):
        read_schedule(path, time_zone="Mars/Base")
    begins = ["2026-03-28T20:00:00+01:00", "2026-03-29T10:00:00+02:00"]  # the clocks change in between
    for about, at in (({}, begins), ({}, ["2026-05-08T10:00:00+05:30"]), ({"timeZone": "Europe/Berlin"}, begins[:1])):
        starts = [each[:19] for each in at] if about else at
        rows = [{"endsAt": "2026-03-29T08:00", "startsAt": each, "title": "Rye"} for each in starts]
        read = read_schedule(written(tmp_path, "talks.json", json.dumps({**about, "talks": rows})))
        assert [each.start.isoformat() for each in read.records] == at
        assert not about or read.records[0].end == datetime.fromisoformat("2026-03-29T08:00+02:00")
    for at, zone in (("2026-03-28T21:00:00+01:00", "Etc/GMT-1"), ("2026-03-28T20:00:00Z", "UTC")):
        assert "read as UTC" not in caplog.text
        rows = [{"title": title, "start": start} for title, start in (("Rye", at), ("Oats", "2026-03-28T22:00:00Z"))]
        assert read_schedule(written(tmp_path, "z.json", json.dumps(rows))).info.time_zone == zone
    assert "read as UTC" in caplog.text


def test_a_file_that_is_cut_off_is_refused_with_its_line(tmp_path):
    begun = PENTABARF[: PENTABARF.index("<track>")]
    with pytest.raises(DocumentError, match=rf"schedule\.xml: is no valid XML, line {begun.count(chr(10)) + 1}"):
        read_schedule(written(tmp_path, "schedule.xml", begun))
    with pytest.raises(DocumentError, match="line 4"):
        read_schedule(written(tmp_path, "schedule.json", '{"schedule":\n{"conference":\n{"days":\n[1,'))
    cut = ICAL[: ICAL.index("LOCATION")]
    with pytest.raises(DocumentError, match=f"cut off at line {cut.count(chr(10))}"):
        read_schedule(written(tmp_path, "schedule.ics", cut))


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE schedule [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
        '<!DOCTYPE schedule [<!ENTITY b SYSTEM "SECRET">]>',
    ],
    ids=["bomb", "external"],
)
def test_entities_are_refused(tmp_path, declaration):
    secret = written(tmp_path, "secret.txt", "the secret")
    declaration = declaration.replace("SECRET", secret.as_uri())
    text = PENTABARF.replace("<schedule>", f"{declaration}<schedule>", 1).replace("Slow dough", "&b;")
    with pytest.raises(DocumentError, match="declares XML entities") as refused:
        read_schedule(written(tmp_path, "schedule.xml", text))
    assert "the secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.xml", None, "is not there"),
        ("empty.xml", "", "is empty"),
        ("other.xml", "<rss/>", "holds no element"),
        ("none.xml", "<schedule><day date='2026-05-08'/></schedule>", "holds no element"),
        ("undated.xml", "<schedule><day><room><event><title>A</title></event></room></day></schedule>", "no session has a date"),
        ("long.xml", "<schedule><conference><start>1950-01-01</start><end>2000-01-01</end></conference><day><room><event><title>A</title></event></room></day></schedule>", "at most 366 days"),
        ("calendar.ics", "hello", "must begin with BEGIN:VCALENDAR"),
        ("rooms.json", '{"schedule": {"2026-05-08": {"7": {}}}, "rooms": [{"name": "A"}]}', "holds no array of objects"),
        ("schedule.docx", "hello", r"unknown ending '.docx'; known: .xml, .ics, .csv.*save a spreadsheet as CSV"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_schedule_is_refused(tmp_path, name, content, said):
    path = tmp_path / name if content is None else written(tmp_path, name, content)
    with pytest.raises(DocumentError, match=said) as refused:
        read_schedule(path)
    assert refused.value.source == str(path)


@pytest.mark.matrix
@pytest.mark.skipif(not FOSDEM.is_dir(), reason="the real schedules are not beside the repository")
@pytest.mark.parametrize(("year", "sessions"), [(2024, 874), (2025, 1105)])
def test_real_schedules_are_read_whole(year, sessions):
    schedule = read_schedule(FOSDEM / f"schedule-{year}.xml")
    assert schedule.problems == ()
    tables = [record.table for record in schedule.records]
    assert tables.count(Table.SESSIONS) == sessions
    ids = {record.id for record in schedule.records}
    assert len(ids) == len(schedule.records)
    for record in schedule.records:
        assert set(record.related) <= ids
        if record.table == Table.SESSIONS:
            assert record.start and record.end and record.start < record.end
            assert schedule.info.start <= date.fromisoformat(record.values("day")[0]) <= schedule.info.end
        assert all("<p>" not in text and "&amp;" not in text for text in record.texts.values())


@pytest.mark.parametrize(
    ("days", "first"),
    [
        (("7/10/2026", "8/10/2026", "9/10/2026"), date(2026, 10, 7)),  # in the other order they lie months apart
        (("10/7/2026 09:30", "10/8/2026 09:30"), date(2026, 10, 7)),
        (("Mi 7/10/2026", "Do 8/10/2026", "Fr 9/10/2026"), date(2026, 10, 7)),
        (("12/10/2026", "13/10/2026"), date(2026, 10, 12)),
        (("7/10/2026",), None),  # nothing tells
    ],
)
def test_the_days_of_a_table_tell_whether_the_month_comes_first(
    days: tuple[str, ...], first: date | None, tmp_path: Path
) -> None:
    rows = [f"Talk {place},{day},10:00" for place, day in enumerate(days)]
    header = f"title,{'Wann' if len(days) > 2 else 'date'},start" if ":" not in days[0] else "title,start,room"
    file = written(tmp_path, "talks.csv", "\n".join([header, *rows]))
    if first is None:
        with pytest.raises(DocumentError, match=r"column 'date', .* line 2: 'Talk 0': '7/10/2026' is no whole"):
            read_schedule(file)
    else:
        read = read_schedule(file)
        assert (read.info and read.info.start, read.problems) == (first, ())
        assert all(record.start for record in read.records)
