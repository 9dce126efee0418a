"""A checkpoint saver that keeps each run in one JSON file, which a person can read.

It is LangGraph's in-memory saver with a file behind each thread: what it keeps, finds and lists is LangGraph's doing.
The whole file is written at each save, so it suits runs of up to a few hundred steps; use SQLite for longer ones.
One process at a time may write a run; others may read it at any time, and may go on with it afterwards.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.engine.checkpoints.disk import files_by_name
from loopwright.engine.checkpoints.document import RunDocument
from loopwright.engine.checkpoints.run_file import OpenRuns, read_document
from loopwright.errors import CheckpointError


class JsonFileSaver(BaseCheckpointSaver[str]):
    """Keeps each run's checkpoints in ``FOLDER/{timestamp}_{thread id}.json``.

    The timestamp is the time in UTC when the file was first made. Safe to use from many threads and from asyncio; runs
    of different threads do not wait for each other. Each save is on the disk when it returns, so with
    ``durability="sync"`` no finished step is ever lost.
    """

    def __init__(
        self, folder: str | Path, *, serde: SerializerProtocol | None = None, keep_in_memory: int = 64
    ) -> None:
        """Open a folder of runs, making it if it is missing; no file is read before its run is asked for.

        Args:
            folder: Where the files are.
            serde: Turns values into bytes and back; LangGraph's own by default.
            keep_in_memory: How many idle runs stay in memory; the others are read again from their files when needed.

        Raises:
            CheckpointError: If the folder cannot be made.
        """
        super().__init__(serde=serde)
        path = Path(folder).expanduser()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise CheckpointError(
                f"the checkpoint folder {path} cannot be made ({problem}). Name a folder that you may write to."
            ) from problem
        self._open = OpenRuns(path, self.serde, keep_in_memory)
        self._plain = InMemorySaver(serde=self.serde)

    @property
    def folder(self) -> Path:
        """Where the files are."""
        return self._open.folder

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Get one checkpoint: the one that the config names, or the thread's latest.

        Args:
            config: With ``thread_id``, and perhaps ``checkpoint_ns`` and ``checkpoint_id``.

        Returns:
            The checkpoint, or None if there is none.

        Raises:
            CheckpointError: If the run's file cannot be read.
        """
        config, thread_id, _ = _located(config)
        with self._open.use(thread_id) as run, run.reading(self.serde) as memory:
            return memory.get_tuple(config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, the newest of each run first.

        Args:
            config: Names the thread, or None for all runs of the folder, the newest run first.
            filter: Values that the metadata must have.
            before: Only checkpoints older than this one.
            limit: At most so many.

        Yields:
            The checkpoints.

        Raises:
            CheckpointError: If a file cannot be read; with several runs, after all that can be read.
        """
        if config is not None:
            config, thread_id, _ = _located(config)
            with self._open.use(thread_id) as run, run.reading(self.serde) as memory:
                found = [*memory.list(config, filter=filter, before=before, limit=limit)]
            yield from found
            return
        problems: list[str] = []
        for paths in files_by_name(self.folder).values():
            if limit is not None and limit <= 0:
                return
            try:
                found = self._list_run(paths, filter, before, limit)
            except CheckpointError as problem:
                problems.append(str(problem))
                continue
            yield from found
            limit = None if limit is None else limit - len(found)
        if problems:
            raise CheckpointError("\n".join(problems))

    def _list_run(
        self, paths: Sequence[Path], filter: dict[str, Any] | None, before: RunnableConfig | None, limit: int | None
    ) -> Sequence[CheckpointTuple]:
        """List the run whose files these are: one, unless somebody copied it."""
        name = paths[0].stem.partition("_")[2]
        try:
            thread_id = read_document(paths[0], self.serde)[0].thread_id if "~" in name else name
        except FileNotFoundError:
            return ()
        config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
        with self._open.use(thread_id) as run, run.reading(self.serde, paths) as memory:
            return [*memory.list(config, filter=filter, before=before, limit=limit)]

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is on the disk when this returns.

        Args:
            config: With ``thread_id``, ``checkpoint_ns``, and the parent's ``checkpoint_id`` if there is one.
            checkpoint: What to save.
            metadata: What to save with it.
            new_versions: The channels that changed, with their new versions.

        Returns:
            The config that names the saved checkpoint.

        Raises:
            CheckpointError: If the run's file cannot be read or written.
        """
        config, thread_id, namespace = _located(config)
        saved: RunnableConfig = {}

        def apply(document: RunDocument, memory: InMemorySaver) -> None:
            saved.update(memory.put(config, checkpoint, metadata, new_versions))
            document.saved(namespace, checkpoint["id"], new_versions)

        with self._open.use(thread_id) as run:
            run.change(self.serde, apply)
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote before its step is over; it is on the disk when this returns.

        Args:
            config: Names the checkpoint that the task started from.
            writes: Pairs of channel and value.
            task_id: The task.
            task_path: Its path in the graph.

        Raises:
            CheckpointError: If the run's file cannot be read or written.
        """
        config, thread_id, namespace = _located(config)
        checkpoint_id: str = config.get("configurable", {})["checkpoint_id"]

        def apply(document: RunDocument, memory: InMemorySaver) -> None:
            memory.put_writes(config, writes, task_id, task_path)
            document.written(namespace, checkpoint_id)

        with self._open.use(thread_id) as run:
            run.change(self.serde, apply)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run and its file.

        Args:
            thread_id: The run's thread; nothing happens if there is none.

        Raises:
            CheckpointError: If the file cannot be read (it is not deleted then) or removed.
        """
        with self._open.use(str(thread_id)) as run:
            run.delete()

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete some checkpoints of a run, with their pending writes.

        Args:
            thread_id: The run's thread.
            dropped: Their namespaces and ids.

        Raises:
            CheckpointError: If the run's file cannot be read or written.
        """
        with self._open.use(thread_id) as run:
            run.change(self.serde, lambda document, _: document.drop(dropped))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Collect what was written to channels since their last snapshot; see LangGraph."""
        config, thread_id, _ = _located(config)
        with self._open.use(thread_id) as run, run.reading(self.serde) as memory:
            return memory.get_delta_channel_history(config=config, channels=channels)

    def get_next_version(self, current: str | None, channel: None) -> str:
        """Give the version after `current`, as the in-memory saver does."""
        return self._plain.get_next_version(current, channel)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Do `get_tuple` in a worker thread."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[CheckpointTuple, None]:
        """Do `list` in a worker thread, a checkpoint at a time."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (item := await asyncio.to_thread(next, found, None)) is not None:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do `put` in a worker thread."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Do `put_writes` in a worker thread."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do `delete_thread` in a worker thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Do `get_delta_channel_history` in a worker thread."""
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)


def _located(config: RunnableConfig) -> tuple[RunnableConfig, str, str]:
    """Give a config with the thread as text and a namespace, then these two."""
    place = config.get("configurable", {})
    thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
    located = {**config, "configurable": {**place, "thread_id": thread_id, "checkpoint_ns": namespace}}
    return cast("RunnableConfig", located), thread_id, namespace
