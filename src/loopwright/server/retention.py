"""How long runs are kept, with the files that they took as input."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.runs.schemas import RunFilter
from loopwright.runs.store.history import RunStore
from loopwright.server.uploads import Uploads
from loopwright.workflows.runtime import cancel

logger = logging.getLogger(__name__)

EVERY = 3600.0
"""Seconds between two looks."""
UNUSED = 24 * 3600.0
"""Seconds after which an uploaded file that no run took is deleted."""


@dataclass(frozen=True)
class Retention:
    """How long runs are kept; without either number for ever."""

    runs: int | None = None
    """So many of each workflow, the newest."""
    days: float | None = None
    """For so many days."""


@asynccontextmanager
async def retaining(
    store: RunStore, saver: BaseCheckpointSaver[str], uploads: Uploads, retention: Retention
) -> AsyncGenerator[None]:
    """Forget old runs now and every hour, beside all else.

    Args:
        store: The run history.
        saver: Where their checkpoints are.
        uploads: The files that runs took as input.
        retention: How long runs are kept.
    """
    task = asyncio.create_task(_hourly(store, saver, uploads, retention), name="retention")
    try:
        yield
    finally:
        await cancel([task])


async def forget_old(store: RunStore, saver: BaseCheckpointSaver[str], uploads: Uploads, retention: Retention) -> None:
    """Forget what is too old now.

    Raises:
        StoreError: If the run history cannot be used.
        CheckpointError: If the checkpoints cannot.
    """
    if retention.runs is not None or retention.days is not None:
        days = retention.days
        oldest = None if days is None else datetime.now(UTC) - timedelta(days=days)
        for run_id in await store.aside(store.outdated, older_than=oldest, keep=retention.runs):
            await store.aside(store.delete, run_id, saver.delete_thread)
    await asyncio.to_thread(_forget_unused, store, uploads)


async def _hourly(store: RunStore, saver: BaseCheckpointSaver[str], uploads: Uploads, retention: Retention) -> None:
    while True:
        try:
            await forget_old(store, saver, uploads, retention)
        except Exception as error:  # whatever it is: the next hour is another one
            logger.warning("old runs are not forgotten for now: %s", error)
        await asyncio.sleep(EVERY)


def _forget_unused(store: RunStore, uploads: Uploads) -> None:
    """Delete the files that no kept run names; a fork or a resume may need those that one does."""
    newest = time.time() - UNUSED
    for id in list(uploads):
        with suppress(KeyError, FileNotFoundError):  # of a folder that servers share, another one may have deleted it
            old = uploads[id].stat().st_mtime < newest
            if old and not store.list(RunFilter(text=id), 1).total:
                uploads.delete(id)
