"""Whole runs in files, for the tests of the page: what it shows of them is known to the letter."""

from __future__ import annotations

import gzip
from contextlib import closing
from pathlib import Path

from pydantic import BaseModel

from loopwright.diagram.shown import ShownGraph
from loopwright.runs.schemas import RunRecord
from loopwright.runs.store import KeptEvent, NewEvents, open_runs
from loopwright.runs.store.history import RunStore

FILES = sorted((Path(__file__).resolve().parent.parent / "browser/recorded").glob("*.json.gz"))


class RecordedRun(BaseModel):
    """A whole run, with all that happened in it; of the states it has what the events tell."""

    record: RunRecord
    graph: ShownGraph
    events: tuple[KeptEvent, ...]
    client: tuple[KeptEvent, ...] = ()

    @classmethod
    def of(cls, store: RunStore, run_id: str) -> RecordedRun:
        record, graph = store.get(run_id), store.graph(run_id)
        assert record is not None and graph is not None
        logs = (tuple(store.log(run_id)), tuple(store.log(run_id, "client")))
        return cls(record=record.model_copy(update={"children": ()}), graph=graph, events=logs[0], client=logs[1])

    def keep(self, store: RunStore) -> None:
        store.create(self.record, self.graph)
        news = [NewEvents(self.record.id, "run", self.events, self.record.epoch)]
        news.append(NewEvents(self.record.id, "client", self.client, self.record.epoch))
        store.write([self.record], news)


def keep_all(runs: str) -> None:
    """Keep the recorded runs in a history that has none of them yet."""
    with closing(open_runs(runs)) as store:
        for file in FILES:
            run = RecordedRun.model_validate_json(gzip.decompress(file.read_bytes()))
            if store.get(run.record.id) is None:
                run.keep(store)
