"""A checkpoint saver that keeps each run in one JSON file, which a person can read.

It is LangGraph's in-memory saver with a file behind each thread: what it keeps, finds and lists is LangGraph's doing.
The file lists the steps in the order in which they were saved, each with the values that it changed. The whole file is
written at each save, so it suits runs of up to a few hundred steps; use SQLite for longer ones. One process at a time
may write a run; others may read it at any time, and may go on with it afterwards.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import logging
import os
import re
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.checkpoints.archive import Archive
from loopwright.checkpoints.disk import replace, sync_folder
from loopwright.checkpoints.encoding import decode, encode, readable
from loopwright.errors import CheckpointError

logger = logging.getLogger(__name__)

FORMAT = "loopwright-checkpoints/1"
"""Marks a file as ours, with the version of its layout."""

_FILE = re.compile(r"\d{8}T\d{6}\.\d{6}Z_(?P<name>.+)\.json")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 100
_LANGGRAPH = version("langgraph")
_EMPTY = ("empty", b"")
"""How the in-memory saver marks a channel that holds nothing."""

T = TypeVar("T")


def safe_name(thread_id: str) -> str:
    """The part of the file name that stands for a thread; different threads get different names.

    Returns:
        The id itself if it consists of at most 100 letters, digits, dots, hyphens and underscores of ASCII; otherwise
        such characters, ``~``, and a hash of the id.
    """
    if thread_id and len(thread_id) <= _LONGEST and not _UNSAFE.search(thread_id):
        return thread_id
    digest = hashlib.sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{_UNSAFE.sub('_', thread_id)[:_LONGEST]}~{digest}"


class RunFile:
    """One run: LangGraph's in-memory saver, and the file that says the same. One thread at a time uses it."""

    def __init__(self, folder: Path, thread_id: str, serde: SerializerProtocol) -> None:
        """Describe a run; nothing is read yet."""
        self.thread_id = thread_id
        self._folder = folder
        self._serde = serde
        self._lock = threading.RLock()
        self._forget()

    def read(self, use: Callable[[InMemorySaver], T]) -> T:
        """Use the run as it is on the disk now; nothing of the memory itself may be kept.

        Raises:
            CheckpointError: If the file cannot be read.
        """
        with self._lock:
            self._refresh()
            return use(self._memory)

    def change(
        self,
        apply: Callable[[InMemorySaver], T],
        namespace: str,
        checkpoint_id: str,
        versions: Mapping[str, Any] | None = None,
    ) -> T:
        """Put a checkpoint, or pending writes of one, into the memory, and return when the file has them.

        Args:
            apply: Puts them there.
            namespace: The checkpoint's namespace.
            checkpoint_id: Its id.
            versions: The channels that it changed; None for pending writes.

        Raises:
            CheckpointError: If the file cannot be read or written; a change that was not written is with the next one.
        """
        with self._lock:
            self._refresh(keep=True)
            result = apply(self._memory)
            key = namespace, checkpoint_id
            before = self._changed.get(key, {}) if versions is None else self._changed.pop(key, {})
            self._changed[key] = {**before, **(versions or {})}
            self._texts.pop(key, None)
            self._write()
        return result

    def drop(self, dropped: Collection[tuple[str, str]]) -> None:
        """Delete checkpoints, by namespace and id, with their pending writes and the values that only they used."""
        with self._lock:
            self._refresh()
            old, thread = self._memory, self.thread_id
            kept = [key for key in self._changed if key not in dropped]
            self._memory, self._changed, self._texts = InMemorySaver(serde=old.serde), {}, {}
            for namespace, checkpoint_id in kept:
                new = self._changed[namespace, checkpoint_id] = dict[str, Any]()
                if stored := old.storage[thread][namespace].get(checkpoint_id):
                    self._memory.storage[thread][namespace][checkpoint_id] = stored
                    for channel, its in old.serde.loads_typed(stored[0])["channel_versions"].items():
                        place = thread, namespace, channel, its
                        if place in old.blobs and place not in self._memory.blobs:
                            self._memory.blobs[place] = old.blobs[place]
                            new[channel] = its
                if (key := (thread, namespace, checkpoint_id)) in old.writes:
                    self._memory.writes[key] = old.writes[key]
            self._write()

    def delete(self) -> None:
        """Remove the run's file and forget what was in it.

        Raises:
            CheckpointError: If the file cannot be read (it is not deleted then) or removed.
        """
        with self._lock:
            self._refresh()
            if self._path is not None:
                try:
                    self._path.unlink(missing_ok=True)
                    sync_folder(self._folder)
                except OSError as problem:
                    raise CheckpointError(
                        f"the checkpoint file {self._path} cannot be deleted ({problem}). "
                        "Make its folder writable, and try again."
                    ) from problem
            self._forget()

    def _forget(self) -> None:
        self._path: Path | None = None
        self._seen: Any = None
        self._created = _now()
        self._memory = InMemorySaver(serde=self._serde)
        self._changed: dict[tuple[str, str], dict[str, Any]] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._unsaved = False

    def _refresh(self, *, keep: bool = False) -> None:
        """Read the file if it was never read, or if another process has replaced it; one that is gone may be kept."""
        if self._unsaved:
            return
        path = self._path or files_in(self._folder).get(safe_name(self.thread_id))
        if path is None:
            return
        try:
            if (seen := _signature(path.stat())) != self._seen:
                content = read_file(path)
                self._forget()
                self._path, self._seen, self._created = path, seen, content["created"]
                for step in content["steps"]:
                    self._take(step)
        except FileNotFoundError:
            if not keep:
                self._forget()
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            self._forget()
            raise _refused(path, f"is damaged ({type(problem).__name__}: {problem})") from problem

    def _write(self) -> None:
        self._unsaved = True  # until it is written; if that fails, it is written with the next change
        stamp = self._created.replace("-", "").replace(":", "")
        path = self._path or self._folder / f"{stamp}_{safe_name(self.thread_id)}.json"
        header = {"format": FORMAT, "thread_id": self.thread_id, "created": self._created, "updated": _now(),
                  "langgraph": _LANGGRAPH}  # fmt: skip
        for key in self._changed.keys() - self._texts.keys():
            self._texts[key] = _rows(self._step(*key), 2)
        steps = ",\n".join(self._texts[key] for key in self._changed)
        text = f'{_rows(header, 1)[:-2]},\n"steps": [\n{steps}\n]\n}}\n'
        try:
            self._seen = _signature(replace(path, text.encode("utf-8", "surrogatepass")))
        except OSError as problem:
            raise CheckpointError(
                f"the checkpoints of thread {self.thread_id!r} cannot be written to {path} ({problem}). "
                "Make room, or make the folder writable; the run can be resumed from its last saved step."
            ) from problem
        self._path, self._unsaved = path, False

    def _take(self, step: Mapping[str, Any]) -> None:
        """Put one step of a file into the memory."""
        place = namespace, checkpoint_id = str(step["namespace"]), str(step["id"])
        for write in step.get("writes", ()):
            key = (str(write["task"]), int(write["index"]))
            stored = (key[0], str(write["channel"]), decode(write["value"]), str(write["path"]))
            self._memory.writes[self.thread_id, namespace, checkpoint_id][key] = stored
        self._changed[place] = dict(step.get("versions", {}))
        if "checkpoint" in step:
            for channel, its in self._changed[place].items():
                blob = decode(step["values"][channel]) if channel in step["values"] else _EMPTY
                self._memory.blobs[self.thread_id, namespace, channel, its] = blob
            kept = (decode(step["checkpoint"]), decode(step["metadata"]), step["parent"])
            self._memory.storage[self.thread_id][namespace][checkpoint_id] = kept

    def _step(self, namespace: str, checkpoint_id: str) -> dict[str, Any]:
        """A step as the file has it: first what a person looks for, then LangGraph's own records."""
        step: dict[str, Any] = {"namespace": namespace, "id": checkpoint_id}
        if stored := self._memory.storage[self.thread_id][namespace].get(checkpoint_id):
            # Else its writes came first, and the checkpoint is yet to come.
            checkpoint, metadata, parent = stored
            versions = self._changed[namespace, checkpoint_id]
            blobs = {name: self._memory.blobs[self.thread_id, namespace, name, its] for name, its in versions.items()}
            step |= self._summary(namespace, parent, checkpoint, metadata)
            step["values"] = {name: encode(blob) for name, blob in blobs.items() if blob != _EMPTY}
            step |= {"parent": parent, "versions": versions, "checkpoint": encode(checkpoint)}
            step["metadata"] = encode(metadata)
        if writes := self._memory.writes.get((self.thread_id, namespace, checkpoint_id)):
            step["writes"] = [
                {"channel": channel, "task": task, "index": index, "path": path, "value": encode(blob)}
                for (_, index), (task, channel, blob, path) in writes.items()
            ]
        return step

    def _summary(self, namespace: str, parent: str | None, checkpoint: Any, metadata: Any) -> dict[str, Any]:
        """Say for a person which step this is and which nodes ran in it; empty if the values are encrypted."""
        about, state = readable(metadata), readable(checkpoint)
        if not isinstance(about, dict) or not isinstance(state, dict):
            return {}
        known = self._memory.storage[self.thread_id][namespace].get(parent or "")
        before: Any = (readable(known[0]) if known else None) or {}
        seen: dict[str, Any] = before.get("versions_seen", {})
        ran = [node for node, its in state.get("versions_seen", {}).items() if its and seen.get(node) != its]
        return {"step": about.get("step"), "source": about.get("source"), "nodes": ran, "time": state.get("ts")}


def files_in(folder: Path) -> dict[str, Path]:
    """The run files of a folder by the name of their thread (see `safe_name`), those that were made last first."""
    found: dict[str, Path] = {}
    try:
        names = sorted((entry.name for entry in os.scandir(folder)), reverse=True)
    except FileNotFoundError:
        return {}
    for name in names:
        if match := _FILE.fullmatch(name):
            found.setdefault(match["name"], folder / name)
    return found


def read_file(path: Path) -> dict[str, Any]:
    """The content of a run's file.

    Raises:
        CheckpointError: If it cannot be read, is cut off, or is not ours. The file is left as it is.
        FileNotFoundError: If it is gone.
    """
    try:
        content: Any = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
    except FileNotFoundError:
        raise
    except (OSError, UnicodeError) as problem:
        raise _refused(path, f"cannot be read ({problem})") from problem
    except (ValueError, RecursionError) as problem:
        raise _refused(path, f"is not whole JSON ({problem})") from problem
    said = cast("dict[str, Any]", content).get("format") if isinstance(content, dict) else None
    if said != FORMAT:
        raise _refused(path, f"is not in the format {FORMAT!r} (it says {said!r})")
    if not {"thread_id", "created", "steps"} <= content.keys():
        raise _refused(path, "is damaged (it names no thread, or has no steps)")
    return content


def _refused(path: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint file {path} {reason}. It was left as it is: put a good copy in its place, or move it to "
        "another folder to start this run anew."
    )


def _rows(record: Mapping[str, Any], depth: int) -> str:
    """A table as JSON with a line for each entry, and in tables and lists within it down to a depth."""
    lines: list[str] = []
    for key, value in record.items():
        text = _rows(value, depth - 1) if depth > 1 and isinstance(value, dict) and value else _line(value)
        lines.append(f"{_line(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _signature(status: os.stat_result) -> tuple[int, int, int]:
    """Differs whenever somebody has replaced the file."""
    return status.st_ino, status.st_mtime_ns, status.st_size


def _in_thread(name: str) -> Any:
    """A method that does another one in a worker thread."""

    async def call(self: Any, *arguments: Any, **named: Any) -> Any:
        return await asyncio.to_thread(getattr(self, name), *arguments, **named)

    return call


class JsonFileSaver(Archive):
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
            keep_in_memory: How many uses ago a run is still in memory; others are read again from their files.

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
        # One object stands for a run as long as somebody uses it.
        self._runs: WeakValueDictionary[str, RunFile] = WeakValueDictionary()
        self._recent: deque[RunFile] = deque(maxlen=keep_in_memory)
        self._lock = threading.Lock()

    def _run(self, thread_id: str) -> RunFile:
        with self._lock:
            run = self._runs.get(thread_id) or RunFile(self.folder, thread_id, self.serde)
            self._runs[thread_id] = run
            self._recent.append(run)
        return run

    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has; files that cannot be read are passed over."""
        found: dict[str, int] = {}
        for thread in self._threads([]):
            config: RunnableConfig = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
            found[thread] = sum(1 for _ in self.list(config))
        return found

    def _threads(self, problems: list[str]) -> Iterator[str]:
        """The threads of the folder, the one that was begun last first; takes note of files that cannot be read."""
        for path in files_in(self.folder).values():
            try:
                yield str(read_file(path)["thread_id"])
            except FileNotFoundError:
                continue
            except CheckpointError as problem:
                logger.warning("%s", problem)
                problems.append(str(problem))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Get the checkpoint that the config names, or the thread's latest; None if there is none."""
        config, thread_id, _ = _located(config)
        return self._run(thread_id).read(lambda memory: self._view(memory).get_tuple(config))

    def list(
        self, config: RunnableConfig | None, *, limit: int | None = None, **which: Any
    ) -> Iterator[CheckpointTuple]:
        """List checkpoints, the newest of each run first.

        Args:
            config: Names the thread, or None for all runs of the folder, the newest run first.
            limit: At most so many.
            **which: ``filter``, values that the metadata must have; ``before``, only checkpoints older than this one.

        Yields:
            The checkpoints.

        Raises:
            CheckpointError: If a file cannot be read; with several runs, after all that can be read.
        """
        problems: list[str] = []
        known = self._threads(problems) if config is None else [str(config.get("configurable", {})["thread_id"])]
        for thread_id in known:
            if limit is not None and limit <= 0:
                return
            given = (config or {}).get("configurable", {})
            place: RunnableConfig = {"configurable": {**given, "thread_id": thread_id}}
            found = self._run(thread_id).read(partial(self._listed, place, limit=limit, **which))
            yield from found
            limit = None if limit is None else limit - len(found)
        if problems:
            raise CheckpointError("\n".join(problems))

    def _listed(self, place: RunnableConfig, memory: InMemorySaver, **which: Any) -> Sequence[CheckpointTuple]:
        return [*self._view(memory).list(place, **which)]

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        return self._run(thread_id).change(
            lambda memory: self._view(memory).put(config, checkpoint, metadata, new_versions),
            namespace, checkpoint["id"], new_versions,
        )  # fmt: skip

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote before its step is over; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        self._run(thread_id).change(
            lambda memory: self._view(memory).put_writes(config, writes, task_id, task_path),
            namespace, config.get("configurable", {})["checkpoint_id"],
        )  # fmt: skip

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run and its file, unless the file cannot be read; nothing happens if there is none."""
        self._run(str(thread_id)).delete()

    def delete_checkpoints(self, thread_id: str, dropped: Collection[tuple[str, str]]) -> None:
        """Delete some checkpoints of a run, by namespace and id, with their pending writes."""
        self._run(thread_id).drop(dropped)

    def compact(self) -> None:
        """Do nothing: files have no free room in them."""

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Collect what was written to channels since their last snapshot; see LangGraph."""
        config, thread_id, _ = _located(config)
        return self._run(thread_id).read(
            lambda memory: self._view(memory).get_delta_channel_history(config=config, channels=channels)
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

    def _view(self, memory: InMemorySaver) -> InMemorySaver:
        """Give a run's checkpoints with our serializer: LangGraph derives savers with wider allowlists from ours."""
        if memory.serde is self.serde:
            return memory
        view = copy.copy(memory)
        view.serde = self.serde
        return view


def _located(config: RunnableConfig) -> tuple[RunnableConfig, str, str]:
    """Give a config with the thread as text and a namespace, then these two."""
    place = config.get("configurable", {})
    thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
    located = {**config, "configurable": {**place, "thread_id": thread_id, "checkpoint_ns": namespace}}
    return cast("RunnableConfig", located), thread_id, namespace
