"""A checkpoint saver that keeps each run in one JSON file, which a person can read.

It is LangGraph's in-memory saver with a file behind each thread: what it keeps, finds and lists is LangGraph's doing.
The file lists what was saved, in that order. The whole file is written at each save, so it suits runs of up to a few
hundred steps; use SQLite for longer ones. One process at a time may write a run; others may read it at any time, and
may go on with it afterwards.
"""

import contextlib
import hashlib
import json
import re
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.checkpoints.archive import Archive
from loopwright.checkpoints.encoding import decode, encode
from loopwright.engine.langgraph_private import begin_ids_after
from loopwright.errors import CheckpointError
from loopwright.files import complete, sync_folder

FORMAT = "loopwright-checkpoints/1"
"""Marks a file as ours, with the version of its layout."""

_FILE = re.compile(r"\d{8}T\d{6}\.\d{6}Z_(?P<name>.+)\.json")
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_LONGEST = 100
_EMPTY = ("empty", b"")
"""How the in-memory saver marks a channel that holds nothing."""


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


class JsonFileSaver(Archive):
    """Keeps each run's checkpoints in ``FOLDER/{timestamp}_{thread id}.json``, all of them in that one file.

    The timestamp is the time in UTC when the file was first made. Safe to use from many threads and from asyncio; runs
    of different threads do not wait for each other. Each save is on the disk when it returns, so with
    ``durability="sync"`` no finished step is ever lost. Every method raises a `CheckpointError` if the run's file
    cannot be read or written.
    """

    def __init__(self, folder: str | Path, *, serde: SerializerProtocol | None = None) -> None:
        """Open a folder of runs, making it if it is missing; no file is read before its run is asked for.

        Args:
            folder: Where the files are.
            serde: Turns values into bytes and back; LangGraph's own by default.

        Raises:
            CheckpointError: If the folder cannot be made or written to.
        """
        super().__init__(serde=serde)
        path = Path(folder).expanduser()
        try:
            path.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=path).close()
        except OSError as problem:
            raise CheckpointError(
                f"the checkpoint folder {path} cannot be written to ({problem}). Make it writable, or name another."
            ) from problem
        self.folder = path
        """Where the files are."""
        self._locks = [threading.Lock() for _ in range(64)]
        self._paths: dict[str, Path] = {}

    def _lock(self, thread_id: str) -> threading.Lock:
        return self._locks[hash(thread_id) % len(self._locks)]

    def _files(self) -> dict[str, Path]:
        """The run files by the name of their thread (see `safe_name`), those that were made last at the end."""
        paths = sorted(self.folder.glob("*.json"))
        return {match["name"]: path for path in paths if (match := _FILE.fullmatch(path.name))}

    def _path(self, thread_id: str) -> Path:
        """The file of a thread, there already or to be made."""
        known = self._paths.get(thread_id)
        if known is None or not known.exists():
            name = safe_name(thread_id)
            new = self.folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}_{name}.json"
            known = self._paths[thread_id] = self._files().get(name, new)
        return known

    def _memory(self, path: Path) -> InMemorySaver:
        """What a file holds, in LangGraph's in-memory saver."""
        memory = InMemorySaver(serde=self.serde)
        content = _read(path)
        with _refused(path):
            for saved in content["steps"]:
                _take(memory, content["thread_id"], saved)
        return memory

    def _append(self, thread_id: str, saved: Mapping[str, Any]) -> None:
        """Add to the file of a thread; it is on the disk when this returns."""
        with self._lock(thread_id):
            path = self._path(thread_id)
            steps = ",\n".join(map(_lines, [*_read(path)["steps"], saved]))
            head = _lines({"format": FORMAT, "thread_id": thread_id})[:-1]
            try:
                # What a killed process left half-written is written over.
                with complete(path, _unfinished(path)) as unfinished:
                    unfinished.write_bytes(f'{head},\n"steps": [\n{steps}\n]}}\n'.encode("utf-8", "surrogatepass"))
            except OSError as problem:
                raise CheckpointError(
                    f"the checkpoints of thread {thread_id!r} cannot be written to {path} ({problem}). "
                    "Make room, or make the folder writable; the run can be resumed from its last saved step."
                ) from problem

    # What LangGraph asks for

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Get the checkpoint that the config names, or the thread's latest; what is saved next counts as newer."""
        config, thread_id, _ = _located(config)
        if found := self._memory(self._path(thread_id)).get_tuple(config):
            begin_ids_after(found.checkpoint["id"])
        return found

    def get_delta_channel_history(self, *, config: RunnableConfig, **which: Any) -> Any:
        """Read what was written to channels that keep nothing else, with the file read once."""
        config, thread_id, _ = _located(config)
        return self._memory(self._path(thread_id)).get_delta_channel_history(config=config, **which)

    def list(
        self, config: RunnableConfig | None, *, limit: int | None = None, **which: Any
    ) -> Iterator[CheckpointTuple]:
        """Read checkpoints, the newest first; where the config is None those of all runs, the newest run first."""
        if config is not None:
            given = config.get("configurable", {})
            config = {"configurable": {**given, "thread_id": str(given["thread_id"])}}
        paths = reversed(self._files().values()) if config is None else [self._path(_located(config)[1])]
        found = (each for path in paths for each in self._memory(path).list(config, **which))
        yield from islice(found, limit)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        memory = InMemorySaver(serde=self.serde)
        saved = memory.put(config, checkpoint, metadata, new_versions)
        kept, about, parent = memory.storage[thread_id][namespace][checkpoint["id"]]
        given = checkpoint["channel_values"]
        values = {
            channel: encode(blob, given.get(channel))
            for (_, _, channel, _), blob in memory.blobs.items()
            if blob != _EMPTY
        }
        step = {"namespace": namespace, "id": checkpoint["id"], "parent": parent, "metadata": encode(about)}
        self._append(thread_id, {**step, "values": values, "versions": new_versions, "checkpoint": encode(kept)})
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote before its step is over; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        checkpoint_id = config.get("configurable", {})["checkpoint_id"]
        memory = InMemorySaver(serde=self.serde)
        memory.put_writes(config, writes, task_id, task_path)
        given = dict(writes)
        written = [
            {
                "channel": channel, "task": task, "index": index, "path": path,
                "value": encode(blob, writes[index][1] if index >= 0 else given[channel]),
            }
            for (_, index), (task, channel, blob, path) in memory.writes[thread_id, namespace, checkpoint_id].items()
        ]  # fmt: skip
        self._append(thread_id, {"namespace": namespace, "id": checkpoint_id, "writes": written})

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run and its file, unless the file cannot be read; nothing happens if there is none."""
        thread_id = str(thread_id)
        with self._lock(thread_id):
            path = self._path(thread_id)
            _read(path)
            try:
                path.unlink(missing_ok=True)
                _unfinished(path).unlink(missing_ok=True)
                sync_folder(self.folder)
                self._paths.pop(thread_id, None)
            except OSError as problem:
                raise CheckpointError(
                    f"the checkpoint file {path} cannot be deleted ({problem}). Make its folder writable."
                ) from problem

    get_next_version = InMemorySaver.get_next_version


def _located(config: RunnableConfig) -> tuple[RunnableConfig, str, str]:
    """Give a config with the thread as text and a namespace, then these two."""
    place = config.get("configurable", {})
    thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
    located = {**config, "configurable": {**place, "thread_id": thread_id, "checkpoint_ns": namespace}}
    return cast("RunnableConfig", located), thread_id, namespace


# Files


def _read(path: Path) -> dict[str, Any]:
    """The content of a run's file; empty if there is none.

    Raises:
        CheckpointError: If it cannot be read, is cut off, or is not ours. The file is left as it is.
    """
    with _refused(path):
        try:
            content: Any = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        except FileNotFoundError:
            return {"steps": []}
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ValueError(f"it does not say {FORMAT!r}")
        _ = content["thread_id"], [(step["namespace"], step["id"]) for step in content["steps"]]
    return content


@contextlib.contextmanager
def _refused(path: Path) -> Generator[None]:
    try:
        yield
    except (OSError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise CheckpointError(
            f"the checkpoint file {path} cannot be read or is damaged ({type(problem).__name__}: {problem}). It was "
            "left as it is: put a good copy in its place, or move it to another folder to start this run anew."
        ) from problem


def _lines(table: Mapping[str, Any]) -> str:
    """A table as JSON, with a line for each entry."""
    entries = (f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in table.items())
    return "{" + ",\n".join(entries) + "}"


def _take(memory: InMemorySaver, thread_id: str, saved: Mapping[str, Any]) -> None:
    """Put one save of a file into LangGraph's in-memory saver, which keeps the first of each task's writes."""
    namespace, checkpoint_id = str(saved["namespace"]), str(saved["id"])
    writes = memory.writes[thread_id, namespace, checkpoint_id]
    for write in saved.get("writes", ()):
        key = (str(write["task"]), int(write["index"]))
        if key[1] < 0 or key not in writes:
            writes[key] = (key[0], str(write["channel"]), decode(write["value"]), str(write["path"]))
    if "checkpoint" in saved:
        for channel, its in saved["versions"].items():
            blob = decode(saved["values"][channel]) if channel in saved["values"] else _EMPTY
            memory.blobs[thread_id, namespace, channel, its] = blob
        kept = (decode(saved["checkpoint"]), decode(saved["metadata"]), saved["parent"])
        memory.storage[thread_id][namespace][checkpoint_id] = kept


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.tmp")
