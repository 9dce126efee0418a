"""Runs the application until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.loops.auto import auto_loop_factory

from loopwright.checkpoints import aopen_checkpointer
from loopwright.runs.hub import RunHub
from loopwright.runs.schemas import RunLimits
from loopwright.runs.store import open_runs
from loopwright.runs.transfer import ensure_demos
from loopwright.server.app import create_app
from loopwright.server.connections import Connection
from loopwright.server.listening import listen, require_token, reserve
from loopwright.server.metrics import Metrics, counting
from loopwright.server.retention import Retention, retaining
from loopwright.server.settings import ServerSettings
from loopwright.server.uploads import Uploads
from loopwright.workflows.api import Workflow
from loopwright.workflows.runtime import prices

FAREWELL = 10
"""Seconds that clients have to take what is left once the server stops."""


class Server(uvicorn.Server):
    """Ends the runs before it waits for its connections: a stream lasts as long as its run."""

    def __init__(self, app: FastAPI, started: Callable[[], None] | None = None, log_level: str | None = None) -> None:
        """Prepare.

        Args:
            app: The application.
            started: Called once clients can connect.
            log_level: From which level on uvicorn logs; by default as it usually does.
        """
        config = uvicorn.Config(
            app,
            access_log=False,
            http=Connection,
            # What goes wrong at the start is told by whoever starts it, in one line.
            lifespan="off",
            log_level=log_level,
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=FAREWELL,
            ws="none",
        )
        super().__init__(config)
        self._application = app
        self._started = started

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until the process is told to stop; an interrupt from the keyboard is such an order, and no error.

        Args:
            sockets: The sockets to listen on.
        """
        with suppress(KeyboardInterrupt):
            super().run(sockets)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer.

        Args:
            sockets: The sockets to listen on.

        Raises:
            LoopwrightError: If the runs cannot be opened.
        """
        await self._application.state.context.hub.open()
        await super().startup(sockets)
        if self._started is not None:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop.

        Args:
            sockets: The sockets that it listens on.
        """
        # No connection is taken any more while the runs come to their end.
        for each in self.servers:
            each.close()
        await self._application.state.context.hub.close()
        await super().shutdown(sockets)


@dataclass(frozen=True, kw_only=True)
class Serving:
    """What is served, and where what happens is kept."""

    workflows: Sequence[Workflow[Any]]
    """The workflows; left open at the end."""
    settings: ServerSettings = field(default_factory=ServerSettings)
    """How much the server takes, and the folder in which it keeps what it is given."""
    runs: str | None = None
    """The address of the run history; None for a file in the folder."""
    retention: Retention = field(default_factory=Retention)
    """How long runs are kept."""
    max_running: int = RunLimits.running
    """How many runs go on at the same time; further ones wait their turn."""
    demos: bool = True
    """Whether a new run history is given the demonstrations."""


def serve(
    serving: Serving,
    host: str = "127.0.0.1",
    port: int = 8000,
    token: str | None = None,
    cors: Sequence[str] = (),
    *,
    reserved: socket.socket | None = None,
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve workflows over HTTP until the process is told to stop.

    Runs that go on then are given a moment; what has not ended goes on when the server is back.

    Args:
        serving: What is served.
        host: The address to listen on.
        port: The port to listen on; 0 takes a free one.
        token: The bearer token that every request must carry; required where other machines reach the server.
        cors: The origins whose pages may use the server; none by default.
        reserved: The address and port, where they were had before; it is closed at the end.
        started: Called with the address once clients can connect.

    Raises:
        ConfigError: If other machines could reach the server and there is no token, or the address cannot be had.
        StoreError: If the run history cannot be used.
        CheckpointError: If the checkpoints cannot be used.
    """
    require_token(host, token)
    name = f"[{host}]" if ":" in host else host
    with (
        reserved or reserve(host, port) as listener,
        suppress(KeyboardInterrupt),
        asyncio.Runner(loop_factory=auto_loop_factory()) as runner,
    ):
        listen(listener)
        address = f"http://{name}:{listener.getsockname()[1]}"
        runner.run(_served(serving, listener, token, cors, lambda: started(address) if started else None))


async def _served(
    serving: Serving, listener: socket.socket, token: str | None, cors: Sequence[str], started: Callable[[], None]
) -> None:
    data = serving.settings.data
    allow = [type for hosted in serving.workflows for type in hosted.allow or ()]
    known = all(hosted.allow is not None for hosted in serving.workflows)
    metrics = Metrics()
    with closing(open_runs(serving.runs or f"sqlite:{data / 'runs.db'}")) as store:
        # Before anything of a server that runs already is touched.
        store.claim()
        if serving.demos:
            ensure_demos(store)
        async with aopen_checkpointer(f"sqlite:{data / 'checkpoints.db'}", allow=allow if known else None) as saver:
            uploads = Uploads(serving.settings)
            limits = RunLimits(running=serving.max_running)
            hub = RunHub(counting(store, metrics), serving.workflows, saver, limits, prices(), uploads)
            app = create_app(hub, token=token, cors=cors, settings=serving.settings, counted=metrics)
            async with retaining(store, saver, uploads, serving.retention):
                await Server(app, started).serve([listener])
