"""The recorded runs that ship with the package, ``data/*.json.gz``; ``scripts/record_demos.py`` makes them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from contextlib import suppress
from importlib.resources import files
from importlib.resources.abc import Traversable

from pydantic import BaseModel, ConfigDict

from loopwright.diagram.shown import ShownGraph
from loopwright.errors import InputError, StoreError, UnknownRun
from loopwright.runs.schemas import RunRecord
from loopwright.runs.store.entries import KeptEvent, NewEvents
from loopwright.runs.store.history import RunStore

GIVEN = "demonstrations"
"""The workflow in whose name a history keeps which demonstrations it was given: no workflow that can be run has it."""


class RecordedRun(BaseModel):
    """A whole run, with all that happened in it."""

    model_config = ConfigDict(frozen=True)

    record: RunRecord
    """The run."""
    graph: ShownGraph
    """Its graph as it was."""
    events: tuple[KeptEvent, ...]
    """The engine's events."""
    client: tuple[KeptEvent, ...] = ()
    """What the workflow's own clients saw."""


def recorded_run(store: RunStore, run_id: str) -> RecordedRun:
    """A kept run that has ended, whole.

    Raises:
        InputError: If the run is not kept.
        StoreError: If the history cannot be read.
    """
    record, graph = store.get(run_id), store.graph(run_id)
    if record is None or graph is None:
        raise UnknownRun(run_id)
    events, client = store.log(run_id), store.log(run_id, "client")
    return RecordedRun(
        record=record.model_copy(update={"children": ()}), graph=graph, events=tuple(events), client=tuple(client)
    )


def keep_recorded(store: RunStore, run: RecordedRun) -> None:
    """Keep a recorded run as a demonstration; it has no checkpoints, so that it can be looked at and not resumed.

    Raises:
        InputError: If a run of its id is kept.
        StoreError: If the history cannot be written.
    """
    record = run.record.model_copy(update={"source": "demo"})
    store.create(record, run.graph)
    new = [NewEvents(record.id, "run", run.events, record.epoch)]
    if run.client:
        new.append(NewEvents(record.id, "client", run.client, record.epoch))
    try:
        store.write([record], new)
    except StoreError:
        store.delete(record.id)  # else it would count as given, without its events
        raise


def read_demo(data: bytes) -> RecordedRun:
    """A demonstration from its file."""
    return RecordedRun.model_validate_json(gzip.decompress(data))


def demo_files() -> Sequence[Traversable]:
    """The files of the demonstrations."""
    folder = files("loopwright.runs") / "data"
    return sorted((each for each in folder.iterdir() if each.name.endswith(".json.gz")), key=lambda each: each.name)


def ensure_demos(store: RunStore) -> None:
    """Give a run history the demonstrations that it was never given; one that was deleted stays deleted.

    Raises:
        StoreError: If the history cannot be read or written.
    """
    given = store.assignments(GIVEN)
    for file in demo_files():
        if file.name not in given:
            with suppress(InputError):  # another server was faster
                keep_recorded(store, read_demo(file.read_bytes()))
            # Told apart from what a person chose by the workflow alone: a table for one set of names would be too much.
            store.assign(GIVEN, file.name, None)
