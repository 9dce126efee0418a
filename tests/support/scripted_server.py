"""A real uvicorn server on loopback, in a thread of its own, with a chat that does what the message says."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn
from pydantic import BaseModel, ConfigDict

from loopwright.errors import InputError, NodeFailed, StoreError
from loopwright.server.serving import Server


class Told(BaseModel):
    """An event with any fields."""

    model_config = ConfigDict(extra="allow")

    event: str


@dataclass
class Gates:
    """Where scripted runs wait until the test lets them go on, and what they left behind."""

    opened: set[str] = field(default_factory=set)
    ended: list[str] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)


class Script:
    """Answers as the message says: JSON with a list of steps."""

    def __init__(self) -> None:
        self.gates = Gates()

    async def __call__(
        self, message: str, *, user_context: dict[str, Any] | None, services: Any, run_id: str | None
    ) -> AsyncIterator[Told]:
        self.gates.asked.append({"message": message, "user_context": user_context, "run_id": run_id})
        try:
            for step in json.loads(message):
                async for event in self._step(step, run_id):
                    yield event
        finally:
            self.gates.ended.append(run_id or "")

    async def _step(self, step: dict[str, Any], run_id: str | None) -> AsyncIterator[Told]:
        (do, value), *_more = step.items()
        if do == "chunks":
            for number in range(value):
                yield Told(event="chunk", text=step.get("text", f"<{number}>") + "x" * step.get("size", 0))
                await asyncio.sleep(step.get("pause", 0))
        elif do == "wait":
            while value not in self.gates.opened:
                await asyncio.sleep(0.005)
        elif do == "done":
            fields = {"referenced_ids": [], "status": "answered", "stop_reason": None}
            yield Told(event="done", run_id=run_id, **fields | value)
        elif do == "raise":
            raise PROBLEMS[value]
        else:
            yield Told(event=do, **value)


PROBLEMS: dict[str, Exception] = {
    "unforeseen": ValueError("the password is hunter2"),
    "input": InputError("the message makes no sense"),
    "store": StoreError("the database is away", transient=True),
    "node": NodeFailed("plan_queries", "it broke", snapshot="{'secret': 'state'}"),
}


def script(*steps: dict[str, Any]) -> dict[str, str]:
    return {"message": json.dumps(steps)}


DONE: dict[str, Any] = {"done": {}}


@dataclass
class Services:
    """A real store, as much as the health check needs."""

    store: Any


@dataclass
class Served:
    """A running server."""

    url: str
    app: Any
    script: Script

    @property
    def gates(self) -> Gates:
        return self.script.gates

    @property
    def runs(self) -> Any:
        return self.app.state.context.runs


@contextmanager
def running(app: Any, host: str = "127.0.0.1", **options: Any) -> Iterator[str]:
    """Serve an application from a thread, and say where."""
    with socket.create_server((host, 0), backlog=512) as listener:
        server = Server(uvicorn.Config(app, log_level="error", ws="none", timeout_graceful_shutdown=5, **options))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://{host}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


@dataclass
class Event:
    """An event as a client received it."""

    id: str
    name: str
    data: Any

    @property
    def number(self) -> int:
        return int(self.id.rpartition(":")[2])

    @property
    def run_id(self) -> str:
        return self.id.rpartition(":")[0]


async def events_of(response: httpx.Response, comments: list[str] | None = None) -> AsyncIterator[Event]:
    """The events of a response as they come, read as the HTML standard has it."""
    fields: dict[str, list[str]] = {}
    async for line in response.aiter_lines():
        if not line:
            if "data" in fields:
                yield Event(fields["id"][0], fields["event"][0], json.loads("\n".join(fields["data"])))
            fields = {}
        elif line.startswith(":"):
            if comments is not None:
                comments.append(line[1:].strip())
        else:
            name, _colon, value = line.partition(":")
            fields.setdefault(name, []).append(value.removeprefix(" "))


async def read_all(client: httpx.AsyncClient, method: str, url: str, **options: Any) -> list[Event]:
    """All events until the server ends the reply."""
    async with client.stream(method, url, **options) as response:
        assert response.status_code == 200, await response.aread()
        return [event async for event in events_of(response)]


async def until(condition: Callable[[], Any]) -> None:
    """Wait until something holds, for 20 s at most."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.005)
