"""From a conference's files to a knowledge store: only what is new, changed or gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from loopwright.errors import ConfigError
from loopwright.retrieval.protocols import Embedder
from loopwright.retrieval.stores.protocol import KnowledgeStore
from loopwright.retrieval.vectors import fill_vectors
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources.info import ConferenceInfo
from loopwright.workflows.assistant.sources.reading import read_schedule, read_table
from loopwright.workflows.assistant.sources.storing import (
    INFO_ID,
    contribution_of,
    digest_of,
    embedded_text,
    info_contribution,
)

"""Passages of one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestReport:
    """What became of an ingest; the numbers count records."""

    added: int
    """Records that the store did not have."""
    changed: int
    """Records that replaced an older one."""
    unchanged: int
    """Records that the store had already."""
    removed: int
    """Records that the files no longer hold, of the tables that they hold."""
    seconds: float
    """How long it took, in seconds."""
    problems: tuple[str, ...] = ()
    """What had to be left out or could not be understood, one sentence each, with its place."""


def ingest(
    store: KnowledgeStore,
    schedule: Path | None = None,
    *,
    exhibitors: Path | None = None,
    attendees: Path | None = None,
    time_zone: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> IngestReport:
    """Read the files of a conference into a store, which holds one conference.

    All files are read before anything is stored, so that a damaged one changes nothing. What is new or changed is
    stored in one transaction; then the records of the same tables that no file holds any more are deleted. Tables whose
    file is not given stay as they are. Records can be searched by their words at once; `embed_all` adds vectors.

    Args:
        store: The store.
        schedule: The sessions, as `loopwright.workflows.assistant.sources.reading.read_schedule` takes them; the
            speakers follow from them.
        exhibitors: The exhibitors, as CSV, TSV, JSON, JSONL or Markdown.
        attendees: The attendees, likewise.
        time_zone: The zone of times without one, where the schedule names none, for example ``Europe/Brussels``.
        progress: Told what is done next, in words.

    Returns:
        What became of it.

    Raises:
        ConfigError: If no file is given.
        DocumentError: If a file cannot be read; nothing is stored then.
        StoreError: If the store fails.
    """
    begin = time.monotonic()
    tell = progress or _silent
    records: dict[str, Record] = {}
    problems: list[str] = []
    tables: list[Table] = []
    info: ConferenceInfo | None = None
    if schedule is not None:
        tell(f"reading {schedule.name}")
        programme = read_schedule(schedule, time_zone=time_zone)
        info = programme.info
        records |= {record.id: record for record in programme.records}
        problems += programme.problems
        tables += [Table.SESSIONS, Table.SPEAKERS]
    for table, path in ((Table.EXHIBITORS, exhibitors), (Table.ATTENDEES, attendees)):
        if path is not None:
            tell(f"reading {path.name}")
            read = read_table(path, table)
            records |= {record.id: record for record in read.records}
            problems += read.problems
            tables.append(table)
    if not tables:
        raise ConfigError("nothing to ingest: give a schedule, exhibitors or attendees")
    added, changed, removed = _store(store, info, records, tables, tell)
    return IngestReport(
        added=added,
        changed=changed,
        unchanged=len(records) - added - changed,
        removed=removed,
        seconds=time.monotonic() - begin,
        problems=tuple(problems),
    )


def embed_all(
    store: KnowledgeStore,
    embedder: Embedder,
    progress: Callable[[int, int], None] | None = None,
    *,
    stop: threading.Event | None = None,
) -> int:
    """Give a vector to each passage that has none of this model, while others search and ingest.

    Every batch is stored when it is ready, so that a later call goes on where this one ended, however it ended.

    Args:
        store: The store.
        embedder: The embedding model.
        progress: Told after each batch how many passages got a vector, and how many there are to do in all.
        stop: Ends the work before the next batch, once set.

    Returns:
        How many passages got a vector.

    Raises:
        StoreError: If the store fails; the batches before stay.
    """
    return fill_vectors(store, embedder, text_of=embedded_text, on_progress=progress, stop=stop)


def _store(
    store: KnowledgeStore,
    info: ConferenceInfo | None,
    records: dict[str, Record],
    tables: list[Table],
    tell: Callable[[str], None],
) -> tuple[int, int, int]:
    """Make the store hold these records of these tables, and say how many were added, changed and removed."""
    digests = store.digests()
    fresh = [record for record in records.values() if digests.get(record.id) != digest_of(record)]
    prefixes = tuple(f"{table.value}:" for table in tables)
    gone = [id for id in digests if id.startswith(prefixes) and id not in records]
    contributions = [contribution_of(record) for record in fresh]
    if info is not None and digests.get(INFO_ID) != digest_of(info):
        contributions.append(info_contribution(info))
    if fresh:
        tell(f"storing {len(fresh):,} records")
    store.put(contributions)
    if gone:
        tell(f"deleting {len(gone):,} records")
        store.delete(gone)
    changed = sum(record.id in digests for record in fresh)
    return len(fresh) - changed, changed, len(gone)


def _silent(_: str) -> None:
    """Tell nobody."""
