"""From a conference's files to a knowledge store: only what is new, changed or gone."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path

from loopwright.errors import ConfigError
from loopwright.retrieval.records import Contribution, Document
from loopwright.retrieval.stores.store import KnowledgeStore
from loopwright.retrieval.vectors import fill_vectors
from loopwright.workflows.assistant.schemas import Record, Table
from loopwright.workflows.assistant.sources import storing
from loopwright.workflows.assistant.sources.reading.schedules import read_schedule, read_table
from loopwright.workflows.files import Source


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

    All files are read before anything is stored, so that a damaged one changes nothing; one that the store has word for
    word is not read again. What is new or changed is stored in one transaction; then the records of the same tables
    that no file holds any more are deleted. Tables whose file is not given stay as they are. Records can be searched by
    their words at once; `embed_all` adds vectors. The time zone is that of times without one, where the schedule names
    none, for example ``Europe/Brussels``; `progress` is told what is done next.

    Raises:
        ConfigError: If no file is given.
        DocumentError: If a file cannot be read; nothing is stored then.
        StoreError: If the store fails.
    """
    begin = time.monotonic()
    tell: Callable[[str], object] = progress or str  # which does nothing with it
    tables_of = ((Table.SESSIONS, Table.SPEAKERS), (Table.EXHIBITORS,), (Table.ATTENDEES,))
    paths = zip((schedule, exhibitors, attendees), tables_of, strict=True)
    given: dict[Path, tuple[Table, ...]] = {path: tables for path, tables in paths if path is not None}
    if not given:
        raise ConfigError("nothing to ingest: give a schedule, exhibitors or attendees")
    digests = store.digests()
    records: dict[str, Record] = {}
    problems: list[str] = []
    contributions: list[Contribution] = []
    same = 0
    gone: list[str] = []
    for path, tables in given.items():
        held = [id for id in digests if id.startswith(tuple(f"{table.value}:" for table in tables))]
        file = _file(path, tables, time_zone)
        if digests.get(file.id) == file.digest:
            same += len(held)
            continue
        tell(f"reading {path.name}")
        read = read_schedule(path, time_zone=time_zone) if path is schedule else read_table(path, tables[0])
        found = {record.id: record for record in read.records}
        records |= found
        gone += [id for id in held if id not in found]
        problems += read.problems
        # What had to be left out of a file is told each time that it is given.
        contributions.append(Contribution(document=replace(file, digest="") if read.problems else file, passages=()))
        if read.info is not None and digests.get(storing.INFO_ID) != storing.digest_of(read.info):
            contributions.append(storing.info_contribution(read.info))
    fresh = [record for record in records.values() if digests.get(record.id) != storing.digest_of(record)]
    if fresh:
        tell(f"storing {len(fresh):,} records")
    store.put([*map(storing.contribution_of, fresh), *contributions])
    if gone:
        tell(f"deleting {len(gone):,} records")
        store.delete(gone)
    changed = sum(record.id in digests for record in fresh)
    return IngestReport(
        added=len(fresh) - changed,
        changed=changed,
        unchanged=len(records) - len(fresh) + same,
        removed=len(gone),
        seconds=time.monotonic() - begin,
        problems=tuple(problems),
    )


embed_all = partial(fill_vectors, text_of=storing.embedded_text)
"""Gives a vector to each passage that has none of a model; see `loopwright.retrieval.vectors.fill_vectors`."""


def _file(path: Path, tables: tuple[Table, ...], time_zone: str | None) -> Document:
    """What tells that a file was read already: what it holds, and what else decides how it is read."""
    read_by = f"{storing.LAYOUT} {version('loopwright')} {time_zone or ''} {path.suffix} ".encode()
    source = Source(path=path)
    digest = hashlib.sha256(read_by + source.data(source.limits.text_bytes)).hexdigest()
    return Document(id=f"file:{tables[0].value}", title=path.name, digest=digest, tags=("file",))
