"""How long runs are kept, with the files that they took as input."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256

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


@asynccontextmanager
async def retaining(
    store: RunStore, saver: BaseCheckpointSaver[str], uploads: Uploads, keep: int | None, days: float | None
) -> AsyncGenerator[None]:
    """Forget old runs, with their checkpoints and the files that they took, now and every hour, beside all else."""

    async def hourly() -> None:
        used: dict[str, str] = {}  # file -> a run that names it
        while True:
            try:
                await forget_old(store, saver, keep, days)
                if await asyncio.to_thread(_is_alone, store, uploads):
                    await asyncio.to_thread(_forget_unused, store, uploads, used)
            except Exception as error:  # whatever it is: the next hour is another one
                logger.warning("old runs are not forgotten for now: %s", error)
            await asyncio.sleep(EVERY)

    task = asyncio.create_task(hourly(), name="retention")
    try:
        yield
    finally:
        await cancel([task])


async def forget_old(
    store: RunStore, saver: BaseCheckpointSaver[str], keep: int | None = None, days: float | None = None
) -> None:
    """Forget all but the newest so many runs of each workflow, and those of more days ago; None forgets none.

    Raises:
        StoreError: If the run history cannot be used.
        CheckpointError: If the checkpoints cannot.
    """
    oldest = None if days is None else datetime.now(UTC) - timedelta(days=days)
    for run_id in await store.aside(store.outdated, older_than=oldest, keep=keep):
        await store.aside(store.delete, run_id, saver.delete_thread)


def _is_alone(store: RunStore, uploads: Uploads) -> bool:
    """Whether no other history had this folder: its runs may need files that none of this one's names."""
    folder, own = uploads.folder, uploads.folder.with_name("runs.db").absolute()
    mine = own if str(own) in store.name else folder / f"history-{sha256(store.name.encode()).hexdigest()[:16]}"
    if mine != own:
        folder.mkdir(parents=True, exist_ok=True)
        mine.touch()
    if others := {*folder.glob("history-*"), *own.parent.glob(own.name)} - {mine}:
        logger.warning("%s keeps what no run took: %s tells of another history's runs", folder, min(others))
    return not others


def _forget_unused(store: RunStore, uploads: Uploads, used: dict[str, str]) -> None:
    """Delete the files that no kept run names; a fork or a resume may need those that one does, which are noted."""
    newest = time.time() - UNUSED
    for id in {*uploads, *used}:
        try:
            if uploads[id].stat().st_mtime < newest and not store.get(used.get(id, "")):
                if found := store.list(RunFilter(text=id), 1).runs:  # reads all runs, so only once for each file
                    used[id] = found[0].id
                else:
                    uploads.delete(id)
        except (KeyError, FileNotFoundError):  # of a folder that servers share, another one may have deleted it
            used.pop(id, None)
