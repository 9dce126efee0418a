"""Servers in processes of their own, as `assistant_load.py` and `server_load.py` need them."""

from __future__ import annotations

import logging
import multiprocessing
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


def serve_chats(ready: Connection, schedule: str | None) -> None:
    """The assistant and its conference in memory, until it is killed; all requests are worked on at the same time."""
    from loopwright.retrieval.stores import open_store
    from loopwright.server.serving import Serving, serve
    from loopwright.server.settings import ServerSettings
    from loopwright.workflows.assistant.config import AssistantConfig
    from loopwright.workflows.assistant.services import Services
    from loopwright.workflows.assistant.sources.ingesting import ingest
    from loopwright.workflows.assistant.sources.sample import sample_store
    from loopwright.workflows.assistant.workflow import AssistantWorkflow

    logging.getLogger("loopwright").setLevel(logging.ERROR)
    store = open_store("memory") if schedule else sample_store()
    if schedule:
        ingest(store, Path(schedule))
    workflow = AssistantWorkflow(Services.of(AssistantConfig(), store))
    workflow.warm_up()
    with tempfile.TemporaryDirectory() as folder:
        settings = ServerSettings(data=Path(folder), reads_per_minute=0, starts_per_minute=0)
        serve(
            Serving(workflows=[workflow], settings=settings, max_running=1000),
            port=0,
            started=lambda address: ready.send(int(address.rpartition(":")[2])),
        )


@dataclass
class Watched:
    """A server's process, seen from outside."""

    url: str
    """Its address."""
    pid: int
    """Its process."""

    def megabytes(self) -> float:
        """Its resident memory now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * 4096 / 2**20

    def cpu_seconds(self) -> float:
        """Its processor time so far."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100


@contextmanager
def server(target: Any, *given: Any) -> Iterator[Watched]:
    """A server in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *given), daemon=True)
    process.start()
    try:
        if not ours.poll(120):
            raise RuntimeError("the server did not start within two minutes")
        yield Watched(f"http://127.0.0.1:{ours.recv()}", process.pid or 0)
    finally:
        process.kill()
        process.join()
