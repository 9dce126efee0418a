"""Runs as files: one kept run with its graph and all its events, to show it to somebody else.

The file is gzipped JSON of the format `FORMAT`. Whoever gets one should not have to trust it: every part is validated,
nothing in it is executed or taken as HTML, and its size is bounded before it is unpacked.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationError
from pydantic_core import from_json

import loopwright
from loopwright.diagram.shown import ShownGraph
from loopwright.engine.events.schema import run_event
from loopwright.errors import InputError, StoreError
from loopwright.runs.schemas import ENDED, Channel, Frozen, RunRecord
from loopwright.runs.store.entries import KeptEvent, NewEvents
from loopwright.runs.store.history import RunStore

FORMAT = "loopwright-run/1"
"""The format that is written and read."""

MAX_FILE = 20 * 2**20
"""Bytes of a file."""

MAX_UNPACKED = 100 * 2**20
"""Bytes of what a file unpacks to."""

MAX_EVENTS = 200_000
"""Events of one channel."""

ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
"""A run's id: it stands in addresses."""

GIVEN = "demonstrations"
"""The workflow in whose name a history keeps which demonstrations it was given: no workflow that can be run has it."""


def demo_runs() -> Sequence[bytes]:
    """The demonstrations as files of the format `loopwright.runs.transfer.FORMAT`."""
    return [entry.read_bytes() for entry in _entries()]


def ensure_demos(store: RunStore) -> Sequence[RunRecord]:
    """Give a run history the demonstrations that it was never given; one that was deleted stays deleted.

    Returns:
        The runs that were added.

    Raises:
        StoreError: If the history cannot be read or written.
    """
    given = store.assignments(GIVEN)
    added: list[RunRecord] = []
    for entry in _entries():
        if entry.name not in given:
            with suppress(InputError):  # another server was faster
                added.append(import_run(store, entry.read_bytes(), source="demo"))
            # Told apart from what a person chose by the workflow alone: a table for one set of names would be too much.
            store.assign(GIVEN, entry.name, None)
    return added


def _entries() -> list[Traversable]:
    folder = files("loopwright.runs") / "data"
    return sorted((each for each in folder.iterdir() if each.name.endswith(".json.gz")), key=lambda each: each.name)


def _one_line_of_json(data: str) -> str:
    """JSON that can be sent as it is: one line, not too deep, without ``NaN``."""
    if "\n" in data or "\r" in data:
        raise ValueError("an event's data must be one line")
    from_json(data, allow_inf_nan=False, cache_strings=False)
    return data


class FileEvent(Frozen):
    """An event as a file has it."""

    seq: Annotated[int, Field(ge=1)]
    """Its number in its channel."""
    name: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
    """Its tag."""
    data: Annotated[str, AfterValidator(_one_line_of_json)]
    """The event as JSON in one line, exactly as it was kept."""


class RunFile(Frozen):
    """What a file holds."""

    format: Literal["loopwright-run/1"]
    """The format."""
    loopwright: str
    """The version of Loopwright that wrote it."""
    record: RunRecord
    """The run."""
    graph: ShownGraph
    """Its graph as it was."""
    events: Annotated[tuple[FileEvent, ...], Field(max_length=MAX_EVENTS)]
    """The engine's events."""
    client: Annotated[tuple[FileEvent, ...], Field(max_length=MAX_EVENTS)] = ()
    """What the workflow's own clients saw."""


def export_run(store: RunStore, run_id: str) -> bytes:
    """Write a kept run as a file.

    The same run gives the same bytes. Its children are not in it: each run is a file of its own.

    Returns:
        Gzipped JSON.

    Raises:
        InputError: If the run is not kept, goes on, or is too large for a file that could be read again.
        StoreError: If the history cannot be read.
    """
    record, graph = store.get(run_id), store.graph(run_id)
    if record is None or graph is None:
        raise InputError(f"there is no run {run_id[:80]!r} to export")
    if record.status not in ENDED:
        raise InputError(f"run {run_id} goes on: export it when it has ended, or cancel it first")
    written = RunFile(
        format=FORMAT,
        loopwright=loopwright.__version__,
        record=record.model_copy(update={"children": ()}),
        graph=graph,
        events=tuple(_read(store, run_id, "run")),
        client=tuple(_read(store, run_id, "client")),
    )
    # Unlike pydantic's own writing, this keeps infinite figures, as the run history does.
    text = json.dumps(written.model_dump(mode="json"), ensure_ascii=False, separators=(",", ":")).encode()
    packed = gzip.compress(text, mtime=0)
    if len(text) > MAX_UNPACKED or len(packed) > MAX_FILE:
        raise InputError(
            f"run {run_id} is too large for a file: {len(text):,} bytes, {len(packed):,} packed; "
            f"the most are {MAX_UNPACKED:,} and {MAX_FILE:,}"
        )
    return packed


def import_run(store: RunStore, data: bytes, source: Literal["imported", "demo"] = "imported") -> RunRecord:
    """Keep a run from a file.

    The events are kept exactly as they are. The run keeps its id; if another run has it here, it gets a new one that
    follows from the file. So the same file can be imported again: what is kept already is given back as it is, and
    nothing is kept twice. The run's checkpoints are not in the file, so that it can be read and compared here, but
    not resumed.

    Returns:
        The run as it is kept.

    Raises:
        InputError: If it is no file of a run, of another version, too large, or contradicts itself.
        StoreError: If the history cannot be read or written.
    """
    file = read_run(data)
    record = file.record.model_copy(update={"source": source, "children": (), "events": len(file.events)})
    for run_id in (record.id, f"{record.id[:80]}-{hashlib.sha256(data).hexdigest()[:12]}"):
        kept = store.get(run_id)
        if kept is None:
            return _keep(store, record.model_copy(update={"id": run_id}), file)
        if _is_same(store, kept, record, file):
            return kept
    raise InputError(f"there is a run {record.id} already, and one in the place of its copy: delete one of them first")


def read_run(data: bytes) -> RunFile:
    """Read a run's file without keeping it.

    Raises:
        InputError: If it is no file of a run, of another version, too large, or contradicts itself.
    """
    text = _unpacked(data)
    try:
        file = RunFile.model_validate_json(text)
        for event in file.events:
            if run_event.validate_json(event.data).type != event.name:
                raise InputError(f"the file's event {event.seq} is named {event.name!r}, but is of another type")
    except ValidationError as error:
        raise InputError(_told(error)) from None
    _require_consistent(file)
    return file


def _unpacked(data: bytes) -> bytes:
    if len(data) > MAX_FILE:
        raise InputError(f"the file has {len(data):,} bytes; a run has at most {MAX_FILE:,}")
    unpacking = zlib.decompressobj(wbits=31)
    try:
        text = unpacking.decompress(data, MAX_UNPACKED)
    except zlib.error:
        raise InputError("the file is not gzipped: give the file of a run as it was exported (.json.gz)") from None
    if unpacking.unconsumed_tail:
        raise InputError(f"the file unpacks to more than {MAX_UNPACKED:,} bytes, the most that a run has")
    if not unpacking.eof or unpacking.unused_data:
        raise InputError("the file is cut off, or something follows behind its end: export the run again")
    return text


def _require_consistent(file: RunFile) -> None:
    run = file.record
    for run_id in (run.id, *([run.parent.run_id] if run.parent else [])):
        if not ID.fullmatch(run_id):
            raise InputError(f"the file names a run {run_id[:60]!r}: an id has letters, digits, '-', '_' and '.' alone")
    if run.status not in ENDED:
        raise InputError("the file's run had not ended when it was written: export it again")
    for channel, events in (("run", file.events), ("client", file.client)):
        wrong = next((number for number, event in enumerate(events, 1) if event.seq != number), None)
        if wrong is not None:
            raise InputError(f"the file's channel {channel!r} lacks event {wrong}, or has it in the wrong place")
    for citation in run.outcome.citations if run.outcome else ():
        if citation.url is not None and not citation.url.startswith(("https://", "http://")):
            raise InputError(f"the file cites the address {citation.url[:60]!r}: only http and https are allowed")


def _told(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    if first["loc"] == ("format",):
        shown = "missing" if first["type"] == "missing" else repr(first["input"])[:60]
        return f"the file's format is {shown}; this version of Loopwright ({loopwright.__version__}) reads {FORMAT!r}"
    place = ".".join(str(part) for part in first["loc"]) or "the whole"
    return f"the file is no run of the format {FORMAT!r}: {place}: {first['msg']}"


def _keep(store: RunStore, record: RunRecord, file: RunFile) -> RunRecord:
    channels: tuple[tuple[Channel, tuple[FileEvent, ...]], ...] = (("run", file.events), ("client", file.client))
    added = [
        NewEvents(record.id, channel, [KeptEvent(event.seq, event.name, event.data) for event in events], record.epoch)
        for channel, events in channels
        if events
    ]
    store.create(record, file.graph)
    try:
        store.write([record], added)
    except StoreError:
        store.delete(record.id)
        raise
    return store.get(record.id) or record


def _is_same(store: RunStore, kept: RunRecord, record: RunRecord, file: RunFile) -> bool:
    if (kept.workflow, kept.started_at, kept.input) != (record.workflow, record.started_at, record.input):
        return False
    return _equal(file.events, _read(store, kept.id, "run")) and _equal(file.client, _read(store, kept.id, "client"))


def _equal(events: Sequence[FileEvent], kept: Iterable[FileEvent]) -> bool:
    return list(events) == list(kept)


def _read(store: RunStore, run_id: str, channel: Channel) -> Iterable[FileEvent]:
    return (FileEvent(seq=kept.seq, name=kept.name, data=kept.data) for kept in store.log(run_id, channel))
