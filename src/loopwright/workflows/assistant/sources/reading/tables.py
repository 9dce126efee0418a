"""Sessions, exhibitors and attendees from a table: CSV, JSON, JSONL or Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from loopwright.errors import ConfigError
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.reading.cells import missing_names, problems_of, several
from loopwright.workflows.assistant.sources.reading.columns import column_names, row_values
from loopwright.workflows.assistant.sources.reading.json_values import as_text
from loopwright.workflows.assistant.sources.reading.markup import plain_line, plain_text, plain_value, web_address
from loopwright.workflows.assistant.sources.reading.results import TableRead
from loopwright.workflows.assistant.sources.reading.rows import Rows, read_rows
from loopwright.workflows.assistant.sources.reading.schedules import read_schedule
from loopwright.workflows.assistant.sources.reading.talks import fields_of, filled, slug, unused_key
from loopwright.workflows.assistant.sources.reading.times import date_or_none


def read_table(path: Path, table: Table, *, time_zone: str | None = None) -> TableRead:
    """Read the records of one kind.

    Columns and keys are recognised by common names; see ``data/columns.yaml``.

    Args:
        path: The file: CSV, TSV, JSON, JSONL or Markdown.
        table: What it holds; speakers are derived from sessions.
        time_zone: The zone of times that name none, where sessions are read.

    Raises:
        ConfigError: If speakers are asked for.
        DocumentError: If it cannot be read, is damaged, or holds no row with a name.
    """
    if table == Table.SPEAKERS:
        raise ConfigError("speakers are not read from a table: they follow from who gives the sessions")
    if table == Table.SESSIONS:
        schedule = read_schedule(path, time_zone=time_zone)
        return TableRead(schedule.records, schedule.problems)
    rows = read_rows(path, column_names(table))
    records = tuple(_records(table, rows))
    if not records:
        raise missing_names(path, table, rows)
    return TableRead(records, (*rows.problems, *problems_of(path, table, rows)))


def _records(table: Table, rows: Rows) -> Iterable[Record]:
    taken: set[str] = set()
    for _, row in rows.rows:
        values = row_values(table, row)
        title = plain_line(as_text(values.get("title")))
        if title:
            yield _exhibitor(title, values, taken) if table == Table.EXHIBITORS else _attendee(title, values, taken)


def _exhibitor(title: str, values: Mapping[str, Any], taken: set[str]) -> Record:
    key = unused_key(title, taken)
    topics = several(values.get("topics"))
    texts = {name: plain_text(as_text(values.get(name))) for name in ("description", "offering", "seeking", "news")}
    return Record(
        id=f"{Table.EXHIBITORS.value}:{key}",
        table=Table.EXHIBITORS,
        key=key,
        title=title,
        texts=filled({"name": title, **texts, "topics": ", ".join(topics)}),
        fields=fields_of(
            {"room": plain_value(as_text(values.get("rooms"))), "topic": topics, "day": _days(values.get("days"))}
        ),
        url=web_address(as_text(values.get("url"))),
    )


def _attendee(title: str, values: Mapping[str, Any], taken: set[str]) -> Record:
    key = unused_key(plain_line(as_text(values.get("key"))) or slug(title), taken)
    texts = {name: plain_text(as_text(values.get(name))) for name in ("about", "interests", "seeking", "offering")}
    role = ", ".join(filter(None, (plain_line(as_text(values.get(name))) for name in ("role", "company"))))
    return Record(
        id=f"{Table.ATTENDEES.value}:{key}",
        table=Table.ATTENDEES,
        key=key,
        title=title,
        texts=filled({"name": title, "role": role, **texts}),
        fields=fields_of({"language": several(values.get("languages")), "day": _days(values.get("days"))}),
        url=web_address(as_text(values.get("url"))),
    )


def _days(value: object) -> tuple[str, ...]:
    return tuple(day.isoformat() for text in several(value) if (day := date_or_none(text)))
