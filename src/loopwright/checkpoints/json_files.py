"""A checkpoint saver that keeps each run in one JSON file, which a person can read.

It is LangGraph's in-memory saver with a file behind each thread: what it keeps, finds and lists is LangGraph's doing.
The file lists the steps in the order in which they were saved, each with the values that it changed. The whole file is
written at each save, so it suits runs of up to a few hundred steps; use SQLite for longer ones. One process at a time
may write a run; others may read it at any time, and may go on with it afterwards.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import re
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

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


def _steps_of(content: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """The steps of a run by namespace and id, in the order in which they were saved."""
    return {(str(step["namespace"]), str(step["id"])): step for step in content["steps"]}


def _take(memory: InMemorySaver, thread_id: str, step: Mapping[str, Any]) -> None:
    """Put one step of a file into LangGraph's in-memory saver."""
    namespace, checkpoint_id = str(step["namespace"]), str(step["id"])
    for write in step.get("writes", ()):
        key = (str(write["task"]), int(write["index"]))
        stored = (key[0], str(write["channel"]), decode(write["value"]), str(write["path"]))
        memory.writes[thread_id, namespace, checkpoint_id][key] = stored
    if "checkpoint" in step:
        for channel, its in step["versions"].items():
            blob = decode(step["values"][channel]) if channel in step["values"] else _EMPTY
            memory.blobs[thread_id, namespace, channel, its] = blob
        kept = (decode(step["checkpoint"]), decode(step["metadata"]), step["parent"])
        memory.storage[thread_id][namespace][checkpoint_id] = kept


def _written(memory: InMemorySaver, place: tuple[str, str, str]) -> list[dict[str, Any]]:
    """The pending writes of a step as the file has them."""
    return [
        {"channel": channel, "task": task, "index": index, "path": path, "value": encode(blob)}
        for (_, index), (task, channel, blob, path) in memory.writes.get(place, {}).items()
    ]


def _summary(checkpoint: Any, metadata: Any, parent: Mapping[str, Any] | None) -> dict[str, Any]:
    """Say for a person which step this is and which nodes ran in it; empty if the values are encrypted."""
    about, state = readable(metadata), readable(checkpoint)
    if not isinstance(about, dict) or not isinstance(state, dict):
        return {}
    before: Any = (readable(decode(parent["checkpoint"])) if parent and "checkpoint" in parent else None) or {}
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
        self._locks = [threading.Lock() for _ in range(64)]
        self._paths: dict[str, Path] = {}

    # Files

    def _lock(self, thread_id: str) -> threading.Lock:
        return self._locks[hash(thread_id) % len(self._locks)]

    def _path(self, thread_id: str) -> Path | None:
        """The file of a thread, if there is one."""
        known = self._paths.get(thread_id)
        if known is None or not known.exists():
            known = files_in(self.folder).get(safe_name(thread_id))
            if known is not None:
                self._paths[thread_id] = known
        return known

    def _read(self, thread_id: str) -> dict[str, Any]:
        """What is in the file of a thread; where there is none, what would be in an empty one."""
        if (path := self._path(thread_id)) is not None:
            with contextlib.suppress(FileNotFoundError):
                return read_file(path)
        return {"format": FORMAT, "thread_id": thread_id, "created": _now(), "steps": []}

    def _memory(self, thread_id: str) -> InMemorySaver:
        """The checkpoints of a thread in LangGraph's in-memory saver."""
        with self._lock(thread_id):
            content = self._read(thread_id)
        return self._memory_of(thread_id, content)

    def _memory_of(self, thread_id: str, content: Mapping[str, Any]) -> InMemorySaver:
        memory = InMemorySaver(serde=self.serde)
        with self._problems(thread_id):
            for step in content["steps"]:
                _take(memory, thread_id, step)
        return memory

    @contextlib.contextmanager
    def _changed(self, thread_id: str) -> Generator[dict[tuple[str, str], dict[str, Any]]]:
        """The steps of a thread, to be changed; they are on the disk when the block has ended."""
        with self._lock(thread_id):
            content = self._read(thread_id)
            with self._problems(thread_id):
                steps = _steps_of(content)
            yield steps
            stamp = content["created"].replace("-", "").replace(":", "")
            path = self._path(thread_id) or self.folder / f"{stamp}_{safe_name(thread_id)}.json"
            header = {"format": FORMAT, "thread_id": thread_id, "created": content["created"], "updated": _now(),
                      "langgraph": _LANGGRAPH}  # fmt: skip
            rows = ",\n".join(_rows(step, 2) for step in steps.values())
            text = f'{_rows(header, 1)[:-2]},\n"steps": [\n{rows}\n]\n}}\n'
            try:
                replace(path, text.encode("utf-8", "surrogatepass"))
            except OSError as problem:
                raise CheckpointError(
                    f"the checkpoints of thread {thread_id!r} cannot be written to {path} ({problem}). "
                    "Make room, or make the folder writable; the run can be resumed from its last saved step."
                ) from problem
            self._paths[thread_id] = path

    @contextlib.contextmanager
    def _problems(self, thread_id: str) -> Generator[None]:
        try:
            yield
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            path = self._path(thread_id) or self.folder
            raise _refused(path, f"is damaged ({type(problem).__name__}: {problem})") from problem

    def threads(self) -> dict[str, int]:
        """Thread -> how many checkpoints the graph itself has; files that cannot be read are passed over."""
        found: dict[str, int] = {}
        for content in self._contents([]):
            thread_id = str(content["thread_id"])
            with self._problems(thread_id):
                own = (step for (space, _), step in _steps_of(content).items() if not space)
                found[thread_id] = sum("checkpoint" in step for step in own)
        return found

    def _contents(self, problems: list[str]) -> Iterator[dict[str, Any]]:
        """What is in the files of the folder, the newest first; takes note of files that cannot be read."""
        for path in files_in(self.folder).values():
            try:
                yield read_file(path)
            except FileNotFoundError:
                continue
            except CheckpointError as problem:
                logger.warning("%s", problem)
                problems.append(str(problem))

    # What LangGraph asks for

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Get the checkpoint that the config names, or the thread's latest; None if there is none."""
        config, thread_id, _ = _located(config)
        return self._memory(thread_id).get_tuple(config)

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
        given = (config or {}).get("configurable", {})
        if config is None:
            contents = ((str(each["thread_id"]), each) for each in self._contents(problems))
        else:
            contents = [(str(given["thread_id"]), self._read(str(given["thread_id"])))]
        for thread_id, content in contents:
            if limit is not None and limit <= 0:
                return
            place: RunnableConfig = {"configurable": {**given, "thread_id": thread_id}}
            found = [*self._memory_of(thread_id, content).list(place, limit=limit, **which)]
            yield from found
            limit = None if limit is None else limit - len(found)
        if problems:
            raise CheckpointError("\n".join(problems))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        memory, key = InMemorySaver(serde=self.serde), (namespace, checkpoint["id"])
        saved = memory.put(config, checkpoint, metadata, new_versions)
        kept, about, parent = memory.storage[thread_id][namespace][checkpoint["id"]]
        values = {channel: blob for (_, _, channel, _), blob in memory.blobs.items() if blob != _EMPTY}
        with self._changed(thread_id) as steps:
            before = steps.pop(key, {})
            step = {
                "namespace": namespace, "id": checkpoint["id"],
                **_summary(kept, about, steps.get((namespace, parent or ""))),
                "values": {**before.get("values", {}), **{channel: encode(blob) for channel, blob in values.items()}},
                "parent": parent, "versions": {**before.get("versions", {}), **new_versions},
                "checkpoint": encode(kept), "metadata": encode(about),
            }  # fmt: skip
            steps[key] = step | ({"writes": before["writes"]} if "writes" in before else {})
        return saved

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote before its step is over; it is on the disk when this returns."""
        config, thread_id, namespace = _located(config)
        place = thread_id, namespace, config.get("configurable", {})["checkpoint_id"]
        memory = InMemorySaver(serde=self.serde)
        with self._changed(thread_id) as steps:
            # Where its checkpoint is yet to come, the writes come first.
            step = steps.setdefault(place[1:], {"namespace": namespace, "id": place[2]})
            with self._problems(thread_id):
                _take(memory, thread_id, {name: value for name, value in step.items() if name != "checkpoint"})
            memory.put_writes(config, writes, task_id, task_path)
            step["writes"] = _written(memory, place)

    def delete_thread(self, thread_id: str) -> None:
        """Delete a run and its file, unless the file cannot be read; nothing happens if there is none."""
        thread_id = str(thread_id)
        with self._lock(thread_id):
            self._read(thread_id)
            path = self._path(thread_id)
            try:
                if path is not None:
                    path.unlink(missing_ok=True)
                    path.with_name(f".{path.name}.tmp").unlink(missing_ok=True)
                    sync_folder(self.folder)
            except OSError as problem:
                raise CheckpointError(
                    f"the checkpoint file {path} cannot be deleted ({problem}). Make its folder writable."
                ) from problem
            self._paths.pop(thread_id, None)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Collect what was written to channels since their last snapshot; see LangGraph."""
        config, thread_id, _ = _located(config)
        return self._memory(thread_id).get_delta_channel_history(config=config, channels=channels)

    get_next_version = InMemorySaver.get_next_version


def _located(config: RunnableConfig) -> tuple[RunnableConfig, str, str]:
    """Give a config with the thread as text and a namespace, then these two."""
    place = config.get("configurable", {})
    thread_id, namespace = str(place["thread_id"]), str(place.get("checkpoint_ns", ""))
    located = {**config, "configurable": {**place, "thread_id": thread_id, "checkpoint_ns": namespace}}
    return cast("RunnableConfig", located), thread_id, namespace
