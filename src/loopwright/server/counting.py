"""A run history that counts what is written to it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from loopwright.engine.diagram.shown import ShownGraph
from loopwright.engine.events import LoopDecided, ModelCalled, run_event
from loopwright.runs.schemas import RunRecord
from loopwright.runs.store.protocol import NewEvents, RunStore
from loopwright.server.metrics import Metrics

COUNTED = frozenset({"loop", "model_called"})
"""The tags of the events that are looked into."""


def counting(store: RunStore, metrics: Metrics) -> RunStore:
    """A store that counts what is written to it.

    Args:
        store: The store.
        metrics: Where to count.
    """
    return cast("RunStore", _CountingStore(store, metrics))


class _CountingStore:
    def __init__(self, store: RunStore, metrics: Metrics) -> None:
        self._store = store
        self._metrics = metrics
        self._workflows: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        # Everything that writes no run is the store's own.
        return getattr(self._store, name)

    def create(self, run: RunRecord, graph: ShownGraph) -> None:
        self._store.create(run, graph)
        self._seen(run)

    def write(self, runs: Iterable[RunRecord] = (), events: Iterable[NewEvents] = ()) -> None:
        runs, events = list(runs), list(events)
        self._store.write(runs, events)
        for run in runs:
            if run.status == "running":
                self._seen(run)
        for new in events:
            self._metrics.events_kept(new.channel, len(new.events))
            if new.channel == "run" and new.run_id in self._workflows:
                self._happened(self._workflows[new.run_id], new)
        for run in runs:
            self._seen(run)

    def _seen(self, run: RunRecord) -> None:
        if run.status == "running":
            self._workflows[run.id] = run.workflow
        else:
            self._workflows.pop(run.id, None)
        self._metrics.run_seen(run)

    def _happened(self, workflow: str, new: NewEvents) -> None:
        for each in new.events:
            if each.name in COUNTED:
                event = run_event.validate_json(each.data)
                if isinstance(event, LoopDecided | ModelCalled):
                    self._metrics.happened(workflow, event)
