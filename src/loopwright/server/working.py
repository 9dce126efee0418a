"""Works on runs that servers were asked for, until it is told to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from contextlib import closing, suppress

from loopwright.errors import ConfigError
from loopwright.server.serving import Serving, give_memory_back
from loopwright.server.uploads import Uploads

logger = logging.getLogger(__name__)


def work(serving: Serving, grace: float = 30.0, started: Callable[[], None] | None = None) -> None:
    """Work on runs until the process is told to stop.

    Runs that go on then end with the superstep that is under way, and are given back; so are those whose superstep
    takes longer than the grace, which runs again elsewhere.

    Args:
        serving: What is worked on, and where it is kept.
        grace: Seconds for supersteps that are under way to end.
        started: Called once it works.

    Raises:
        ConfigError: If the runs are not kept in PostgreSQL.
        StoreError: If the run history or the jobs cannot be used.
        CheckpointError: If the checkpoints cannot be used.
    """
    if not serving.shared:
        raise ConfigError("a worker shares runs with servers, so they are kept in PostgreSQL: give postgresql://...")
    give_memory_back()
    with suppress(KeyboardInterrupt):
        asyncio.run(_work(serving, grace, started))


async def _work(serving: Serving, grace: float, started: Callable[[], None] | None) -> None:
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):  # on Windows an interrupt ends it, and its runs' leases run out
            asyncio.get_running_loop().add_signal_handler(number, told.set)
    with closing(serving.open_history()) as store:
        async with serving.hub(store, Uploads(serving.settings)) as hub:
            try:
                await hub.open()
                if started:
                    started()
                await told.wait()
                logger.warning("stops: runs that go on end with the superstep under way, and are given back")
            finally:
                await hub.close(grace)
