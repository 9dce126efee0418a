"""Runs the application, or works on runs that servers were asked for, until it is told to stop."""

import asyncio
import ctypes
import logging
import os
import signal
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI
from prometheus_client import start_http_server
from uvicorn.loops.auto import auto_loop_factory

from loopwright.checkpoints import aopen_checkpointer
from loopwright.config import Allowance
from loopwright.errors import ConfigError
from loopwright.postgres import PostgresAddress, is_postgres, with_schema
from loopwright.runs.hub import RunHub
from loopwright.runs.jobs.protocol import Jobs
from loopwright.runs.memory import remembering
from loopwright.runs.schemas import RunLimits
from loopwright.runs.store import open_runs
from loopwright.runs.store.history import RunStore
from loopwright.runs.store.opening import SCHEMA
from loopwright.server.app import create_app
from loopwright.server.connections import Connection
from loopwright.server.listening import require_token, reserve
from loopwright.server.metrics import Metrics
from loopwright.server.retention import retaining
from loopwright.server.settings import ServerSettings
from loopwright.server.uploads import Uploads
from loopwright.workflows.api import Workflow
from loopwright.workflows.runtime import prices, to_its_end

logger = logging.getLogger(__name__)

FAREWELL = 10
"""Seconds that clients have to take what is left once the server stops."""

_M_MMAP_THRESHOLD, _LARGE = -3, 2**17
"""The GNU C library's number of that setting, and the bytes from which a block is returned by itself."""


class Server(uvicorn.Server):
    """Ends the runs before it waits for its connections: a stream lasts as long as its run."""

    def __init__(self, app: FastAPI, started: Callable[[], None] | None = None, log_level: str | None = None) -> None:
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
            timeout_keep_alive=130,  # proxies keep theirs for up to 120 s, and would send a request into its end
            ws="none",
        )
        super().__init__(config)
        self._application = app
        self._started = started  # called once clients can connect

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Take signals as the word to stop, and no further: the process ends by itself, once all is closed."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer.

        Raises:
            LoopwrightError: If the runs cannot be opened.
        """
        await self._application.state.context.hub.open()
        await super().startup(sockets)
        if self._started is not None:
            self._started()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
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
    keep: int | None = None
    """So many runs of each workflow are kept, the newest; None keeps all."""
    keep_days: float | None = None
    """Runs are kept for so many days; None keeps them for ever."""
    max_running: int = RunLimits.running
    """How many runs go on at the same time in this process; further ones wait their turn."""
    works: bool = True
    """Whether this process works on runs; where it does not, workers do."""
    lease: float = 6.0
    """Seconds without a sign of life after which another process goes on with this one's runs."""
    allowances: Sequence[Allowance] = ()
    """What runs may spend together, with those of other processes on the same history."""

    @property
    def shared(self) -> bool:
        """Whether any number of processes may work on the runs: they are kept in PostgreSQL."""
        return self.runs is not None and is_postgres(self.runs)

    def open_history(self) -> RunStore:
        """Open the run history.

        Raises:
            StoreError: If it cannot be used.
            ConfigError: If its address cannot be read, or others are to work on what is kept in a file.
        """
        if not self.works and not self.shared:
            raise ConfigError(
                "only runs in PostgreSQL can be worked on elsewhere: say where they are kept, with --runs postgresql://"
            )
        return open_runs(self.runs or f"sqlite:{self.settings.data / 'runs.db'}")

    @asynccontextmanager
    async def hub(self, store: RunStore, uploads: Mapping[str, Path]) -> AsyncGenerator[RunHub]:
        """Open the checkpoints, and all runs on them.

        Raises:
            CheckpointError: If the checkpoints cannot be used.
            ConfigError: If a package that is needed is not installed.
        """
        allow = [type for hosted in self.workflows for type in hosted.allow or ()]
        known = all(hosted.allow is not None for hosted in self.workflows)
        limits = RunLimits(running=self.max_running)
        # A node that is no coroutine has one while it goes on, and asyncio's own are few; the rest is for all else.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(self.max_running + 32, "loopwright"))
        checkpoints, jobs = f"sqlite:{self.settings.data / 'checkpoints.db'}", None
        if self.runs and self.shared:
            checkpoints, jobs = with_schema(self.runs, "loopwright_checkpoints", "checkpoints"), self._jobs(self.runs)
        memory = checkpoints if jobs else str(self.settings.data / "store.db")
        async with (
            aopen_checkpointer(checkpoints, allow=allow if known else None) as saver,
            remembering(self.workflows, memory),
        ):
            yield RunHub(store, self.workflows, saver, limits, prices(), uploads, self.allowances, jobs, self.works)

    def _jobs(self, address: str) -> Jobs:
        try:
            from loopwright.runs.jobs.shared import SCHEMA as JOBS
            from loopwright.runs.jobs.shared import ProcrastinateJobs
        except ModuleNotFoundError as missing:
            raise ConfigError(f"runs in PostgreSQL need {missing.name}: pip install 'loopwright[postgres]'") from None
        # Pools tell of each attempt to connect again; that the database is gone, and is back, the jobs tell once.
        logging.getLogger("psycopg.pool").setLevel(logging.ERROR)
        told = PostgresAddress.parse(address, schema=SCHEMA, holds="a run history").schema
        return ProcrastinateJobs(with_schema(address, JOBS, "jobs"), told, self.max_running, self.lease)


def give_memory_back() -> None:
    """Have large arrays go back to the system as soon as they are freed.

    By default the GNU C library raises the size from which it does so with every large block that is freed, and keeps
    what is smaller: of four photographs of 48 megapixels it kept 250 MB for good.
    """
    with suppress(OSError, AttributeError, TypeError):  # other systems' libraries do not do that
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE)


def have_temporary_folder(data: Path) -> None:
    """Where nothing else can be written to, as in a read-only container, have what arrives lie in the data folder."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        with suppress(OSError):  # a server that nothing is sent to needs none
            data.mkdir(parents=True, exist_ok=True)
            os.environ["TMPDIR"] = str(data.absolute())


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
    give_memory_back()
    name = f"[{host}]" if ":" in host else host
    with reserved or reserve(host, port) as listener, suppress(KeyboardInterrupt):
        address = f"http://{name}:{listener.getsockname()[1]}"
        served = _served(serving, listener, token, cors, lambda: started(address) if started else None)
        to_its_end(served, auto_loop_factory())


async def _served(
    serving: Serving, listener: socket.socket, token: str | None, cors: Sequence[str], started: Callable[[], None]
) -> None:
    metrics = Metrics()
    with closing(serving.open_history()) as store:
        # Before anything of a server that runs already is touched.
        store.claim()
        store.told, uploads = metrics.kept, Uploads(serving.settings)
        have_temporary_folder(serving.settings.data)
        async with serving.hub(store, uploads) as hub:
            app = create_app(hub, token=token, cors=cors, settings=serving.settings, counted=metrics)
            async with retaining(store, hub.saver, uploads, serving.keep, serving.keep_days):
                await Server(app, started).serve([listener])


def work(
    serving: Serving,
    grace: float = 15.0,
    started: Callable[[], None] | None = None,
    figures: tuple[str, int] | None = None,
) -> None:
    """Work on runs until the process is told to stop.

    Runs that go on then end with the superstep that is under way, and are given back; so are those whose superstep
    takes longer than the grace, which runs again elsewhere.

    Args:
        serving: What is worked on, and where it is kept.
        grace: Seconds for supersteps that are under way to end.
        started: Called once it works.
        figures: The address and the port where it gives whoever asks its figures for Prometheus, without a token.

    Raises:
        ConfigError: If the runs are not kept in PostgreSQL, or the address cannot be had.
        StoreError: If the run history or the jobs cannot be used.
        CheckpointError: If the checkpoints cannot be used.
    """
    if not serving.shared:
        raise ConfigError("a worker shares runs with servers, so they are kept in PostgreSQL: give postgresql://...")
    give_memory_back()
    with suppress(KeyboardInterrupt):
        to_its_end(_work(serving, grace, started, figures))


async def _work(
    serving: Serving, grace: float, started: Callable[[], None] | None, figures: tuple[str, int] | None
) -> None:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # on Windows an interrupt ends it, and its runs' leases run out
            asyncio.get_running_loop().add_signal_handler(number, told.set)
    with closing(serving.open_history()) as store, ExitStack() as exits:
        metrics = Metrics()
        store.told = metrics.kept
        if figures:  # by a thread of its own, which answers while a node blocks the event loop
            try:
                server, _thread = start_http_server(figures[1], figures[0], metrics.registry)
            except OSError as error:
                raise ConfigError(f"the figures cannot be given at {figures[0]}:{figures[1]}: {error}") from None
            exits.enter_context(server)
            exits.callback(server.shutdown)
        async with serving.hub(store, Uploads(serving.settings)) as hub:
            try:
                await hub.open()
                if started:
                    started()
                await told.wait()
                logger.warning("stops: runs that go on end with the superstep under way, and are given back")
            finally:
                await hub.close(grace)
