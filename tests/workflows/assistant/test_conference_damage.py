"""Whatever a file holds: it is read, or refused with a message that names it; nothing else comes out."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from chances import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loopwright.errors import DocumentError
from loopwright.workflows.assistant.schemas import Record
from loopwright.workflows.assistant.sources.reading.schedules import read_schedule
from loopwright.workflows.assistant.sources.sample import sample_folder
from loopwright.workflows.assistant.sources.storing import contribution_of

PRETALX = {
    "schedule": {
        "conference": {
            "title": "Bread Days",
            "days": [
                {
                    "date": "2026-05-08",
                    "day_start": "2026-05-08T04:00:00+01:00",
                    "rooms": {"Oven": [{"id": 1, "date": "2026-05-08T10:00:00+01:00", "duration": "00:45", "title": "Rye", "persons": [{"id": 7, "name": "Ana Só"}]}]},
                }
            ],
        }
    }
}  # fmt: skip
ICAL = """BEGIN:VCALENDAR
X-WR-CALNAME:Bread Days
X-WR-TIMEZONE:Europe/Lisbon
BEGIN:VTIMEZONE
TZID:Europe/Lisbon
BEGIN:STANDARD
DTSTART:19701025T020000
TZOFFSETFROM:+0100
TZOFFSETTO:+0000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
UID:1@bread.example
DTSTART;TZID=Europe/Lisbon:20260508T100000
DTEND;TZID=Europe/Lisbon:20260508T104500
SUMMARY;LANGUAGE=en:Rye
CATEGORIES:Grain,Slow
ATTENDEE;CN="Ana":mailto:ana@bread.example
RRULE:FREQ=DAILY
END:VEVENT
END:VCALENDAR
"""
CSV = 'Title;Speakers;Start;Duration;Room;Languages\nRye;"Ana; Bo";2026-05-08 10:00;45;Oven;en\nOats;;8.5.2026 11:00;1:00;;\n'
MARKDOWN = "# Programme\n\n## Rye\n\n- Speakers: Ana\n- Start: 2026-05-08 10:00\n\nWhy rye.\n\n| title | start |\n|---|---|\n| Oats | 2026-05-08 11:00 |\n"
XML = "\n".join((sample_folder() / "schedule.xml").read_text(encoding="utf-8").splitlines()[:60])
XML = XML[: XML.rindex("</event>")] + "</event></room></day></schedule>"
JSON_LINES = (
    '{"title": "Rye", "start": "2026-05-08T10:00", "speakers": ["Ana"]}\n{"title": "Oats", "date": "2026-05-08"}\n'
)
FILES = {
    "schedule.xml": XML,
    "schedule.json": json.dumps(PRETALX),
    "schedule.ics": ICAL,
    "schedule.csv": CSV,
    "schedule.md": MARKDOWN,
    "schedule.jsonl": JSON_LINES,
}


def test_each_of_the_files_is_read_as_it_is(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
        assert read_schedule(tmp_path / name).records, name


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
