"""Which attempt of a run may save checkpoints: the database refuses those of an earlier one, by a trigger.

An attempt that is numbered has its number in the configuration, under `EPOCH`; LangGraph keeps it in the metadata of
each checkpoint. A trigger compares it with the newest attempt that began, in the transaction that would keep the
checkpoint. What has no number is let through.
"""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from loopwright.checkpoints.archive import Archive

EPOCH = "loopwright_epoch"
"""The key of the configuration, and of a checkpoint's metadata."""

TABLE = "loopwright_attempts"

SQLITE = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (thread_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL);
    CREATE TRIGGER IF NOT EXISTS loopwright_fence BEFORE INSERT ON checkpoints
    WHEN (SELECT epoch FROM {TABLE} WHERE thread_id = NEW.thread_id)
        > json_extract(CAST(NEW.metadata AS TEXT), '$.{EPOCH}')
    BEGIN SELECT RAISE(ROLLBACK, 'a later attempt of this run began'); END;
"""
"""What makes the table and the trigger in SQLite; the failed transaction is taken back, so that it locks nobody out."""

POSTGRES = f"""
    CREATE TABLE IF NOT EXISTS {TABLE} (thread_id text PRIMARY KEY, epoch bigint NOT NULL);
    CREATE OR REPLACE FUNCTION loopwright_fence() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE newest bigint;
    BEGIN
        SELECT epoch INTO newest FROM {TABLE} WHERE thread_id = NEW.thread_id FOR SHARE;
        IF newest > (NEW.metadata ->> '{EPOCH}')::bigint THEN
            RAISE EXCEPTION 'a later attempt of this run began';
        END IF;
        RETURN NEW;
    END $$;
    CREATE OR REPLACE TRIGGER loopwright_fence BEFORE INSERT ON checkpoints
        FOR EACH ROW EXECUTE FUNCTION loopwright_fence();
"""
"""The same in PostgreSQL (14 or newer)."""

BEGIN = (
    f"INSERT INTO {TABLE} (thread_id, epoch) VALUES (%s, %s) ON CONFLICT (thread_id) DO UPDATE SET epoch ="
    f" CASE WHEN excluded.epoch > {TABLE}.epoch OR excluded.epoch = 0 THEN excluded.epoch ELSE {TABLE}.epoch END"
)
"""Notes that an attempt begins: the thread, and the attempt's number."""


async def fence(saver: BaseCheckpointSaver[Any], thread_id: str, epoch: int) -> None:
    """Refuse from now on what an earlier attempt would save.

    Args:
        saver: One that `open_checkpointer` gave; those for memory and JSON serve one process, and are not fenced.
        thread_id: The run.
        epoch: The attempt that begins; 0 for a new run.
    """
    if isinstance(saver, Archive):
        await saver.in_thread(saver.fence, thread_id, epoch)
