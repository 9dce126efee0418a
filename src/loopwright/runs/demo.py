"""Recorded runs of the workflows, which ship with the package: a history that is new has something to show.

``scripts/record_demos.py`` records them anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable

from loopwright.runs.schemas import RunRecord
from loopwright.runs.store.protocol import RunStore
from loopwright.runs.transfer import import_run

GIVEN = "demonstrations"
"""The workflow in whose name a history keeps which demonstrations it was given: no workflow that can be run has it."""


def demo_runs() -> Sequence[bytes]:
    """The demonstrations as files of the format `loopwright.runs.transfer.FORMAT`."""
    return [entry.read_bytes() for entry in _entries()]


def ensure_demos(store: RunStore) -> Sequence[RunRecord]:
    """Give a run history the demonstrations that it was never given; one that was deleted stays deleted.

    Args:
        store: The run history.

    Returns:
        The runs that were added.

    Raises:
        StoreError: If the history cannot be read or written.
    """
    given = store.assignments(GIVEN)
    added: list[RunRecord] = []
    for entry in _entries():
        if entry.name not in given:
            added.append(import_run(store, entry.read_bytes(), source="demo"))
            # Told apart from what a person chose by the workflow alone: a table for one set of names would be too much.
            store.assign(GIVEN, entry.name, None)
    return added


def _entries() -> list[Traversable]:
    folder = files("loopwright.runs") / "data"
    return sorted((each for each in folder.iterdir() if each.name.endswith(".json.gz")), key=lambda each: each.name)
