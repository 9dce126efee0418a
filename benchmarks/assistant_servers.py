"""The servers that `assistant_load.py` loads, each in a process of its own."""

from __future__ import annotations

import asyncio
import json
import logging
import multiprocessing
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

PAUSE = 0.5
"""Seconds between two events of a stream."""


class Told(BaseModel):
    """An event of a stream that tells the time."""

    model_config = ConfigDict(extra="allow")

    event: str
    """The tag."""


async def paced(
    message: str, *, user_context: dict[str, Any] | None, services: Any, run_id: str | None
) -> AsyncIterator[Told]:
    """A run that says every half second what time it is; the message is how often, and how many characters."""
    count, size = json.loads(message)
    began = time.monotonic()
    for number in range(count):
        yield Told(event="chunk", number=number, at=time.monotonic(), text="x" * size)
        await asyncio.sleep(max(0.0, began + (number + 1) * PAUSE - time.monotonic()))
    yield Told(event="done", run_id=run_id, referenced_ids=(), status="answered", stop_reason=None)


def serve_paced(ready: Connection) -> None:
    """The server of the streams, until it is killed."""
    serve_app(ready, None, paced)


def serve_chats(ready: Connection, schedule: str | None) -> None:
    """The server of the chats, with a conference in memory, until it is killed."""
    from loopwright.retrieval.stores import open_store
    from loopwright.workflows.assistant.config import AssistantConfig
    from loopwright.workflows.assistant.services import Services
    from loopwright.workflows.assistant.sources.ingesting import ingest
    from loopwright.workflows.assistant.sources.sample import sample_store
    from loopwright.workflows.assistant.workflow import astream_chat

    logging.getLogger("loopwright").setLevel(logging.ERROR)
    store = open_store("memory") if schedule else sample_store()
    if schedule:
        ingest(store, Path(schedule))
    serve_app(ready, Services.of(AssistantConfig(), store), astream_chat)


def serve_app(ready: Connection, services: Any, chat: Any) -> None:
    """Listen on a free port, and say which."""
    import uvicorn

    from loopwright.server import create_app
    from loopwright.server.serving import Server

    with socket.create_server(("127.0.0.1", 0), backlog=2048) as listener:
        ready.send(listener.getsockname()[1])
        app = create_app(services, chat=chat)
        Server(uvicorn.Config(app, log_level="error", access_log=False, ws="none")).run([listener])


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
