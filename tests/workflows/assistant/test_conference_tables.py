"""Sessions, exhibitors and attendees from tables: CSV, JSON, JSONL, Markdown; and damaged files, which are read or refused."""

import csv
import json
import tempfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import pytest
from chances import examples
from conferences import ICAL
from documents import written
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.reading.markup import plain_text
from loopwright.workflows.assistant.sources.reading.schedules import read_schedule, read_table
from loopwright.workflows.assistant.sources.reading.times import clock_of, date_of, duration_of
from loopwright.workflows.assistant.sources.sample import sample_folder
from loopwright.workflows.assistant.sources.storing import contribution_of

FOSDEM = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "fosdem"
NORTH = Path(__file__).resolve().parents[3] / "benchmarks/data/fifth_author/north.csv"
EXHIBITOR = {
    "name": "Mill & Co", "description": "Flour since 1900.", "offering": "Stone mills", "seeking": "Bakers",
    "topics": "Grain; Tools", "room": "Yard",
}  # fmt: skip
AS_MARKDOWN_TABLE = """| Name | Description | Products | Looking for | Themes | Booth |
|---|---|---|---|---|---|
| **Mill & Co** | Flour since 1900. | Stone mills | Bakers | Grain; Tools | Yard |
| | nobody | | | | |
"""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "Name;Description;Offering;Looking for;Topics;Room\nMill & Co;Flour since 1900.;Stone mills;Bakers;\"Grain; Tools\";Yard\n"),
        ("a.tsv", "Company\tAbout\tProducts\tSeeking\tTags\tStand number\nMill & Co\tFlour since 1900.\tStone mills\tBakers\tGrain; Tools\tYard\n"),
        ("a.json", json.dumps([EXHIBITOR])),
        ("b.json", json.dumps({"exhibitors": [EXHIBITOR | {"topics": [1, 2]}], "topics": [dict.fromkeys(EXHIBITOR, "") | {"id": number, "name": name} for number, name in ((1, "Grain"), (2, "Tools"))]})),
        ("a.jsonl", json.dumps(EXHIBITOR) + "\n\n"),
        ("a.md", AS_MARKDOWN_TABLE),
    ],
)  # fmt: skip
def test_an_exhibitor_is_the_same_from_every_file(tmp_path, name, content):
    record = read_table(written(tmp_path, name, content), Table.EXHIBITORS).records[0]
    assert record.id == "exhibitors:Mill & Co"
    texts = {key: EXHIBITOR[key] for key in ("name", "description", "offering", "seeking")}
    assert record.texts == texts | {"topics": "Grain, Tools"}
    assert record.fields == {"room": ("Yard",), "topic": ("Grain", "Tools")}


def test_sessions_from_a_table(tmp_path):
    content = """Title,Speaker 1,Speaker 2,Date,Start,End,Room,Track,Language,Abstract,State
Rye,"Ana Só (Mill, Oven)",Bo Li,2026-05-08,10:00 - 10:45,,Oven,Grain,en,Why rye
Night bake,Dr. Bo Li and Cy Ma,,2026-05-08,1:30 am,3:00 am,Oven,,,
Rye,,,2026-05-09,14:00,14:00,Yard,,,Again
Odd,,,2026-05-09,soon,,Yard,,,
Off,,,2026-05-09,15:00,,Yard,,,,Cancelled
"""
    schedule = read_schedule(written(tmp_path, "Bread Days.csv", content), time_zone="Europe/Lisbon")
    rye, night, again, odd, off = (record for record in schedule.records if record.table == Table.SESSIONS)
    info = schedule.info
    assert (info.title, info.start, info.end) == ("Bread Days", date(2026, 5, 8), date(2026, 5, 9))
    assert (rye.id, again.id, again.end, odd.start) == ("sessions:rye", "sessions:rye-2", again.start, None)
    begun = [datetime.fromisoformat(f"2026-05-{at}:00+01:00") for at in ("08T10:00", "09T01:30")]
    assert ([rye.start, night.start], rye.end - rye.start) == (begun, timedelta(minutes=45))
    assert night.values("day") == ("2026-05-08",)
    assert schedule.problems == (
        "Bread Days.csv, line 5: 'Odd': 'soon' is no time of day; write it as HH:MM; it was kept without a time",
        "Bread Days.csv, line 6: 'Off' is cancelled; its name alone was kept",
    )
    assert (off.title, off.start, off.fields) == ("Cancelled: Off", None, {"status": ("cancelled",)})
    assert (*rye.values("speaker"), *night.values("speaker")) == ("Ana Só (Mill, Oven)", "Bo Li", "Bo Li", "Cy Ma")


ALL = {"sessions": [{"id": "1", "title": "Rye", "startsAt": "2026-05-08T10:00", "endsAt": "2026-05-08T10:45", "speakers": ["x-1", "x-2"], "roomId": 7}], "rooms": [{"id": 7, "name": "Oven"}], "speakers": [{"id": "x-1", "fullName": "Ana Só", "about": "x", "location": "Y", "topic": "Z", "kind": "P", "level": "1", "language": "en"}, {"id": "x-2", "firstName": "Bo", "lastName": "Li"}]}  # fmt: skip
DAYS = {"rooms": [{"id": 7, "name": "Oven"}], **{day: [{"name": "Rye", "speaker": ["Ana Só", "Bo Li"], "room": "Oven", "day": "2026-05-08", "startTime": "10:00 - 10:45", "start_time": "10:00 - 10:45"}] for day in ("fri", "sat")}}  # fmt: skip

FRAB = {"schedule": {"conference": {"time_zone_name": "UTC", "days": [{"index": 1, "date": "2026-05-08", "rooms": {"Oven": [{"id": 1, "logo": "", "date": "2026-05-08T10:00:00+00:00", "start": "10:00", "duration": "00:45", "room": "Oven", "title": "Rye", "persons": [{"id": n, "public_name": name} for n, name in enumerate(("Ana Só", "Bo Li"))], "links": [{"url": "x", "title": "Slides"}]}]}}]}}}  # fmt: skip
WITHIN = [{"date": "2026-05-08", "end": "18:00", "rooms": [{"id": n, "name": room, ("keynotes", "talks")[n]: [{"title": title, "slot": {"start": "10:00", "end": "10:45"}, "speakers": [{"name": "Ana Só"}, {"name": "Bo Li"}]}]} for n, (room, title) in enumerate((("Oven", "Rye"), ("Yard", "Oats")))]}]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps(ALL)),
        ("e.json", json.dumps(WITHIN)),
        ("f.json", json.dumps({f"{day} May 2026": {"Oven": [{"event title": "Rye", "time": "10:00 - 10:45", "speaker": "Ana Só; Bo Li", "place": "Oven"}]} for day in (8, 9)})),
        ("g.md", "# Bread 2026\n\n## Friday, 8 May\n\n|Time|Talk|Room|By|\n|-|-|-|-|\n|10:00 - 10:45|Rye|Oven|Ana Só, Bo Li|\n\n## Bakers, 9 of them\n"),
        ("b.json", json.dumps(DAYS)),
        ("j.xml", "<fair xmlns='x'><days><day date='2026-05-08'><hall name='Oven'><gig begin='10:00' end='10:45'><title>Rye</title><hosts><host>Ana Só</host><host>Bo Li</host></hosts></gig></hall></day></days></fair>"),
        ("k.html", "<h2>Friday, 8 May 2026</h2><table><tr><th>Time<th>Talk<th>Room<th>By<tr><td>10:00<br>- 10:45<td>Rye<td>Oven<td>Ana Só, Bo Li</table><table><tr><td>11:00 -<td>Tea</table>"),
        ("l.json", json.dumps([{"talk": "Rye", "start": {"dateTime": "2026-05-08T10:00"}, "end": {"dateTime": "2026-05-08T10:45"}, "speakers": [{"name": "Ana Só"}, {"name": "Bo Li"}], "room": "Oven", "recording": {"optout": True}}])),
        ("h.json", json.dumps(FRAB)),
        ("i.csv", "Title,Speakers,Room,Track,Start date,Start time,End date,End time\nRye,Ana Só; Bo Li,Oven,NA,8.5.2026,10:00,8.5.2026,10:45\nOats,NA,Oven,n/a,8.5.2026,11:00,9.5.2026,9:00\nNull and none,Na,Oven,nan,8.5.2026,12:00,8.5.2026,13:00\n"),
        ("d.csv", "Vortrag;Title (Dr/Prof);Referent/in;Referent/in (Firma);Beginn;Dauer (h);Ort;Place (seats);Telefon\n" + "\n".join(f'{title};Dr;"{who}";Bread;Fr, 8. Mai 2026 um 10 Uhr;0:45 h;Oven;40;+49 170 1' for who, title in (("Ana Só; Bo Li", "Rye"), ("Ana Só", "Oats")))),
        ("c.csv", "Name,Talk title,Date/Time,Room\n" + "\n".join(f"{who},{title},2026-05-08 10:00-10:45,Oven" for who, title in (("Ana Só; Bo Li", "Rye"), ("Ana Só", "Oats and barley"), ("Bo Li", "Old oats")))),
    ],
)  # fmt: skip
def test_a_session_is_the_same_from_every_shape_of_a_table(tmp_path, caplog, name, content):
    rye, *others = read_schedule(written(tmp_path, name, content), time_zone="UTC").records
    assert [str(at) for at in (rye.start, rye.end)] == [f"2026-05-08 {at}:00+00:00" for at in ("10:00", "10:45")]
    assert rye.fields == {"day": ("2026-05-08",), "room": ("Oven",), "speaker": ("Ana Só", "Bo Li")}
    assert "tags" not in rye.texts
    assert name != "b.json" or others[0].title == "Rye"  # of the other day
    told = [(each.values("speaker"), len(each.values("day")), each.values("track")) for each in others[:2]]
    assert name != "i.csv" or told == [((), 2, ()), (("Na",), 1, ())]
    assert name != "d.csv" or "not used: Title (Dr/Prof), Referent/in (Firma), Place (seats), Telefon" in caplog.text


def test_a_zone_is_told_by_the_offsets_of_dates_that_stand_beside_times_of_day(tmp_path):
    content = json.dumps(FRAB).replace('"time_zone_name": "UTC", ', "").replace("+00:00", "+02:00")
    assert read_schedule(written(tmp_path, "h.json", content)).info.time_zone == "Etc/GMT-2"


def test_persons_whose_family_is_named_first_throughout_are_turned(tmp_path):
    known = (("Só, Ana", "Li, Bo; van Ma, Cy"), ("Ana Só, Bo Li", "Cy van Ma")), "Ana Só|Bo Li|Cy van Ma"
    given = (("van der Só, Ana Eva", "Li, Bo", "O'Ma, Cy B."),), "Ana Eva van der Só|Bo Li|Cy B. O'Ma"
    no_families = (("Ana Só, MD", "Bo Li, Mills", "Cy Ma, Mills"),), "Ana Só|MD|Bo Li|Mills|Cy Ma|Mills"
    lists = (("ana, bo", "cy, di", "ed, flo"), ("ana, bo, cy", "di", "ed, flo")), "ana|bo|cy|di|ed|flo"
    few = (("Ana, Bo", "Cy, Di"),), "Ana|Bo|Cy|Di"
    for columns, persons in (known, given, no_families, lists, few):
        for cells in columns:
            rows = "".join(f'Talk {place},2026-05-08,"{cell}"\n' for place, cell in enumerate(cells))
            read = read_schedule(written(tmp_path, "a.csv", f"title,date,speakers\n{rows}"))
            assert "|".join(name for each in read.records for name in each.values("speaker")) == persons


def test_what_is_off_is_kept_by_its_name_and_what_was_only_proposed_left_out_however_it_is_said(tmp_path):
    off = ({"status": "Cancelled (ill)"}, {"state": "abgesagt"}, {"Cancelled": "yes"}, {"cancelled": True})
    off += ({"Cancelled": "Yes (ill)"}, {"Cancelled": "oui"}, {"Cancelled": "ja"})
    proposed = ({"status": "rejected"}, {"state": "Withdrawn by speaker"}, {"status": "deleted"})
    on = ({"cancelled": False}, {"status": "not cancelled"}, {"status": "deleted scenes"}, {"Cancelled": "1-day"})
    for status in (*off, *proposed, *on):
        rows = [{"title": "Rye", "start": "2026-05-08T10:00Z", **more} for more in (status, {})]
        read = read_schedule(written(tmp_path, "a.json", json.dumps(rows)))
        told = ("Cancelled: Rye", "Rye") if status in off else ("Rye", "Rye")[status in proposed :]
        assert (tuple(each.title for each in read.records), len(read.problems)) == (told, status not in on)


def test_columns_whose_names_say_nothing_are_told_by_what_they_hold(tmp_path, caplog):
    head, *rows = csv.reader(NORTH.read_text(encoding="utf-8").splitlines())
    nameless = tmp_path / "nameless.csv"
    with nameless.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([[f"Spalte {number}" for number in range(len(head))], *rows])
    read, named = (
        [(each.title, each.start, each.end, each.fields, each.texts.get("tags")) for each in found.records]
        for found in (read_schedule(nameless), read_schedule(NORTH))
    )
    assert read == named
    assert "read by what they hold" in caplog.text and "Spalte 4 as room" in caplog.text
    told, some = ("Why rye takes it", "Porridge for us", "Beer, soup, bread"), (";;", "x;1;x", "x;;")
    rows = "".join(f"T{n};2026-05-08;{told[n]};+49 170 12 34 56 7{n};Eats no rye {n};{some[n]}\n" for n in range(3))
    read = read_schedule(written(tmp_path, "a.csv", f"title;date;Worum;Ruf;Internal notes;Internal;No;TV\n{rows}"))
    read_as = [(each.texts["abstract"], each.texts.get("tags")) for each in read.records]
    assert read_as == [(told[0], None), (told[1], "TV"), (told[2], None)]


def test_rows_that_cannot_be_used_are_said_and_the_rest_is_kept(tmp_path, caplog):
    caplog.set_level("INFO", logger="loopwright")
    rows = 'name,offers,shoe size\nA,x,1\nB,x,1,2,3\n,x,1\nC,"x,2\nD,y,3\n'
    read = read_table(written(tmp_path, "a.csv", rows), Table.EXHIBITORS)
    assert [record.title for record in read.records] == ["A", "C"]
    assert read.problems == (
        "a.csv, line 3: the row has 5 cells, the header 3; quote cells that hold ','; it was left out",
        "a.csv, line 6: all until line 6 is in the last cell of line 5, whose quote is never closed; it was left out",
        "a.csv, line 4: has no title or name and was left out",
    )
    assert "a.csv: columns that were not used: shoe size" in caplog.text
    lines = written(tmp_path, "a.jsonl", '{"name": "A"}\n{"name":\n[1]\n')
    read = read_table(lines, Table.EXHIBITORS)
    assert [record.title for record in read.records] == ["A"]
    assert [problem[:17] for problem in read.problems] == ["a.jsonl, line 2: ", "a.jsonl, line 3: "]
    rows = "<table>\n<tr><td>Name</td><td>Room</td></tr>\n<tr><td></td><td>1</td></tr>\n<tr><td>B</td><td>3</td></tr></table>"
    pages = (
        written(tmp_path, "a.md", f"# A\n\n|Name|Room|\n|-|-|\n|A|1|\n||2|\n\n{rows}\n"),
        written(tmp_path, "a.html", f"<p>\n{rows}"),
    )
    places = [problem.partition(":")[0] for page in pages for problem in read_table(page, Table.EXHIBITORS).problems]
    assert places == ["a.md, line 6", "a.md, row 3", "a.html, line 4"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "colour,weight\nred,1\n", "no row has a column 'title' or 'name' for exhibitors; its columns: colour, weight"),
        ("a.json", '{"name": ', "is no valid JSON: Expecting value: line 1"),
        ("b.json", '{"name": "A"}\n{"name": "B"}', r"name it \.jsonl"),
        ("c.json", "[1, 2]", "holds no array of objects"),
        ("d.json", "[" * 100_000, "is nested more than 100 deep|is no valid JSON"),
        ("a.jsonl", "nothing\n", "nothing that can be read: a.jsonl, line 1: is no valid JSON"),
        ("a.md", "# Exhibitors\n\n## A\n", "holds no table"),
        ("b.csv", b"name\nA\x00B\n", "is not text"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_refused(tmp_path, name, content, said):
    with pytest.raises(DocumentError, match=said):
        read_table(written(tmp_path, name, content), Table.EXHIBITORS)


@pytest.mark.skipif(not FOSDEM.is_dir(), reason="the real stands are not beside the repository")
def test_real_stands():
    read = read_table(FOSDEM / "stands.json", Table.EXHIBITORS)
    assert len(read.records) == 47
    box = next(record for record in read.records if record.id == "exhibitors:Box86")
    assert list(box.texts) == ["name", "description", "offering", "news", "topics"]
    assert box.url == "https://ptitseb.github.io/box86/"


@pytest.mark.parametrize(
    ("read", "expected", "texts"),
    [
        (date_of, date(2025, 2, 1), "2025-02-01|1.2.2025|1 February 2025|Sat, Feb 1, 2025|Sat 2025-02-01|1 feb 2025|Sa 1.2.2025|Samstag, 1. Feb. 2025|sam. 1er février 2025|1 de febrero de 2025|za 1 februari 2025"),
        (date_of, date(2025, 2, 13), "13/2/2025|2/13/2025"),
        (date_of, date(2025, 3, 4), "4. Mär. 2025|Di 4. Mrz 2025|mar. 4 mars 2025|mar 4 mar 2025|martedì 4 marzo 2025|Tues 4 March 2025"),
        (clock_of, time(14, 30), "14:30|14.30|2:30 pm|14h30|14 h 30|14:30 Uhr|1430"),
        (clock_of, time(9), "9h|9 Uhr|9 heures|9am"),
        (duration_of, timedelta(minutes=90), "90|1:30|01:30:00|90 Minuten|90'|1h30|1 h 30 min|1,5 h|1.5 hours|1 Std. 30 Min."),
    ],
)  # fmt: skip
def test_dates_times_and_lengths(read, expected, texts):
    assert {read(text) for text in texts.split("|")} == {expected}


@pytest.mark.parametrize("text", "1/2/2025|Sa 1/2/2025|12. bis 13. Mai 2026|12-13 May 2026|26. und 28. Mai 2026|12. Mai|32.1.2025|February||tomorrow|25:00|9|13pm|noon|1.30 h".split("|"))  # fmt: skip
def test_what_is_no_date_and_no_clock_is_refused(text):
    for read in (date_of, duration_of if " h" in text else clock_of):
        with pytest.raises(ValueError):
            read(text)


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("a < b and List<String> &amp; more", "a < b and List<String> & more"),
        ("<p>one\ntwo</p><p>three<br/>four</p>", "one two\n\nthree\nfour"),
        ("<p>seen<script>alert(1)</script> too</p>", "seen too"),
        ("![logo](https://x.example/l.png) and [link](https://x.example)", "logo and link"),
        ("zero\u200bwidth", "zerowidth"),
        ("<div>" * 2000 + "deep", "deep"),
        ("<p><![if !supportLists]>1. <![endif]>of Word's <![odd[ kind</p>", "1. of Word's odd[ kind"),
    ],
)
def test_plain_text(raw, text):
    assert plain_text(raw) == text


BAKED = {"id": 1, "date": "2026-05-08T10:00:00+01:00", "duration": "00:45", "title": "Rye", "persons": [{"id": 7, "name": "Ana Só"}]}  # fmt: skip
DAY = {"date": "2026-05-08", "day_start": "2026-05-08T04:00:00+01:00", "rooms": {"Oven": [BAKED]}}
PRETALX = {"schedule": {"conference": {"title": "Bread Days", "days": [DAY]}}}
CSV = 'Title;Speakers;Start;Duration;Room;Languages\nRye;"Ana; Bo";2026-05-08 10:00;45;Oven;en\nOats;;8.5.2026 11:00;1:00;;\n'
MARKDOWN = "# Programme\n\n## Rye\n\n- Speakers: Ana\n- Start: 2026-05-08 10:00\n\nWhy rye.\n\n| title | start |\n|---|---|\n| Oats | 2026-05-08 11:00 |\n"
XML = "\n".join((sample_folder() / "schedule.xml").read_text(encoding="utf-8").splitlines()[:60])
XML = XML[: XML.rindex("</event>")] + "</event></room></day></schedule>"
JSON_LINES = '{"title": "Rye", "start": "2026-05-08T10:00", "speakers": ["Ana"]}\n{"title": "Oats", "date": "2026-05-08"}\n'  # fmt: skip
FILES = {
    "schedule.xml": XML, "schedule.json": json.dumps(PRETALX), "schedule.ics": ICAL, "schedule.csv": CSV,
    "schedule.md": MARKDOWN, "schedule.jsonl": JSON_LINES,
}  # fmt: skip


def test_each_of_the_files_is_read_as_it_is(tmp_path, caplog):
    for name, content in (FILES | {"half.jsonl": JSON_LINES.replace("speakers", "\\ud800")}).items():
        assert read_schedule(written(tmp_path, name, content)).records, name
    assert caplog.text.encode()  # half a character, which no encoding can write, is not told


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_damaged_file_is_read_or_refused(name, data):
    content = FILES[name].encode()
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.integers(0, 40))
        content = content[:place] + data.draw(st.sampled_from(INSERTED)) + content[place + gone :]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            schedule = read_schedule(path)
        except DocumentError as error:
            assert error.source == str(path)
            return
    for record in schedule.records:
        assert Record.model_validate_json(contribution_of(record).document.kept) == record


INSERTED = [b"", b"\xff", b"\x00", b"<", b"&", b'"', b"\n", b":", b";", b"[", b"{}", b"null", b"9999-99-99", b"0", b"-1", b"999999999999", b"\\ud800", b"BEGIN:VEVENT\n", b"END:VEVENT\n", "é字".encode()]  # fmt: skip
