"""A checkpoint saver that keeps each run in one JSON file, which a person can read.

It is LangGraph's in-memory saver with a file behind each thread: what it keeps, finds and lists is LangGraph's doing.
The whole file is written at each save, so it suits runs of up to a few hundred steps; use SQLite for longer ones.
One process at a time may write a run; others may read it at any time, and may go on with it afterwards.
"""

from __future__ import annotations

import asyncio
import copy
import threading
from collections import OrderedDict
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from weakref import WeakValueDictionary

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

from loopwright.checkpoints.disk import files_by_name
from loopwright.checkpoints.run_file import RunDocument, RunFile, read_document
from loopwright.errors import CheckpointError


def _in_thread(name: str) -> Any:
    """A method that does another one in a worker thread."""

    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *arguments, **named)

    return call


class JsonFileSaver(BaseCheckpointSaver[str]):
    """Keeps each run's checkpoints in ``FOLDER/{timestamp}_{thread id}.json``, all of them in that one file.

    The timestamp is the time in UTC when the file was first made. Safe to use from many threads and from asyncio; runs
    of different threads do not wait for each other. Each save is on the disk when it returns, so with
    ``durability="sync"`` no finished step is ever lost. Every method raises a `CheckpointError` if the run's file
    cannot be read or written.
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
        self.folder = path
        """Where the files are."""
        self._keep = keep_in_memory
        self._kept: OrderedDict[str, RunFile] = OrderedDict()
        # One object stands for a run as long as somebody uses it, also when it is kept no more.
        self._used: WeakValueDictionary[str, RunFile] = WeakValueDictionary()
        self._lock = threading.Lock()

    def _run(self, thread_id: str) -> RunFile:
        """The run of a thread; those that were used longest ago are kept no more."""
        with self._lock:
            run = self._used.get(thread_id) or RunFile(self.folder, thread_id, self.serde)
            self._used[thread_id] = self._kept[thread_id] = run
            self._kept.move_to_end(thread_id)
            while len(self._kept) > self._keep:
                self._kept.popitem(last=False)
        return run

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Get the checkpoint that the config names, or the thread's latest; None if there is none."""
        config, thread_id, _ = _located(config)
        return self._run(thread_id).read(lambda document: self._view(document).get_tuple(config))

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
            yield from self._listed(config, thread_id, filter=filter, before=before, limit=limit)
            return
        problems: list[str] = []
        for paths in files_by_name(self.folder).values():
            if limit is not None and limit <= 0:
                return
            name = paths[0].stem.partition("_")[2]
            try:
                thread_id = read_document(paths[0], self.serde)[0].thread_id if "~" in name else name
                whole: RunnableConfig = {"configurable": {"thread_id": thread_id}}
                found = self._listed(whole, thread_id, paths, filter=filter, before=before, limit=limit)
            except FileNotFoundError:
                continue
            except CheckpointError as problem:
                problems.append(str(problem))
                continue
            yield from found
            limit = None if limit is None else limit - len(found)
        if problems:
            raise CheckpointError("\n".join(problems))

    def _listed(
        self, config: RunnableConfig, thread_id: str, paths: Sequence[Path] | None = None, **which: Any
    ) -> Sequence[CheckpointTuple]:
        return self._run(thread_id).read(lambda document: [*self._view(document).list(config, **which)], paths)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)

        def apply(document: RunDocument) -> RunnableConfig:
            saved = self._view(document).put(config, checkpoint, metadata, new_versions)
            document.saved(namespace, checkpoint["id"], dict(new_versions))
            return saved

        return self._run(thread_id).change(apply)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote before its step is over; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        checkpoint_id: str = config.get("configurable", {})["checkpoint_id"]

        def apply(document: RunDocument) -> None:
            self._view(document).put_writes(config, writes, task_id, task_path)
            document.saved(namespace, checkpoint_id)

        self._run(thread_id).change(apply)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run and its file, unless the file cannot be read; nothing happens if there is none."""
        self._run(str(thread_id)).delete()

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete some checkpoints of a run, by namespace and id, with their pending writes."""
        self._run(thread_id).change(lambda document: document.drop(dropped))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Collect what was written to channels since their last snapshot; see LangGraph."""
        config, thread_id, _ = _located(config)
        return self._run(thread_id).read(
            lambda document: self._view(document).get_delta_channel_history(config=config, channels=channels)
        )

    async def alist(self, config: RunnableConfig | None, **which: Any) -> AsyncGenerator[CheckpointTuple, None]:
        """Do `list` in a worker thread, a checkpoint at a time."""
        found = self.list(config, **which)
        while (item := await asyncio.to_thread(next, found, None)) is not None:
            yield item

    get_next_version = InMemorySaver.get_next_version
    aget_tuple = _in_thread("get_tuple")
    aput = _in_thread("put")
    aput_writes = _in_thread("put_writes")
    adelete_thread = _in_thread("delete_thread")
    aget_delta_channel_history = _in_thread("get_delta_channel_history")

    def _view(self, document: RunDocument) -> InMemorySaver:
        """Give a run's checkpoints with our serializer: LangGraph derives savers with wider allowlists from ours."""
        if document.memory.serde is self.serde:
            return document.memory
        view = copy.copy(document.memory)
        view.serde = self.serde
        return view


def _located(config: RunnableConfig) -> tuple[RunnableConfig, str, str]:
    """Give a config with the thread as text and a namespace, then these two."""
    place = config.get("configurable", {})
    thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
    located = {**config, "configurable": {**place, "thread_id": thread_id, "checkpoint_ns": namespace}}
    return cast("RunnableConfig", located), thread_id, namespace
