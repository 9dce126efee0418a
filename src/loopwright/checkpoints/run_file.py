"""The file of one run: LangGraph's in-memory saver, and the text on the disk that says the same.

The file lists the steps in the order in which they were saved. Each step holds the values that it changed, and no
others, so a value is in the file once for each time that it changed; LangGraph's versions of the channels say which
step's value a later step still uses. Each step's text is made once and kept, so saving is joining and writing.

A file is written beside its place, forced to the disk, and renamed over the old one, so whoever reads it at any time,
also after a kill or a power cut, sees one whole state or the one before it.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.checkpoints.content import TypedBytes
from loopwright.checkpoints.disk import (
    Signature,
    files_by_name,
    replace,
    safe_name,
    signature_of,
    sweep,
    sync_folder,
)
from loopwright.checkpoints.encoding import decode, encode, one_line, pretty, readable
from loopwright.errors import CheckpointError

logger = logging.getLogger(__name__)

FORMAT = "loopwright-checkpoints/1"
"""Marks a file as ours, with the version of its layout."""

_LANGGRAPH = version("langgraph")
_EMPTY: TypedBytes = ("empty", b"")
"""How the in-memory saver marks a channel that holds nothing."""

T = TypeVar("T")


class RunDocument:
    """One run in memory, with its text.

    Attributes:
        thread_id: The run's thread.
        created: When the run's file was first made; ISO 8601 in UTC, with microseconds.
        memory: The run's checkpoints. Whoever changes them calls `saved` afterwards.
    """

    def __init__(self, thread_id: str, serde: SerializerProtocol, created: str) -> None:
        self.thread_id = thread_id
        self.created = created
        self.memory = InMemorySaver(serde=serde)
        self._versions: dict[tuple[str, str], dict[str, Any]] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._write_texts: dict[Any, tuple[Any, str]] = {}

    def saved(self, namespace: str, checkpoint_id: str, versions: dict[str, Any] | None = None) -> None:
        """Take over what was put into `memory`: a checkpoint with the channels that it changed, or pending writes."""
        key = namespace, checkpoint_id
        self._texts.pop(key, None)
        if versions is None:
            self._versions.setdefault(key, {})
        else:
            self._versions[key] = self._versions.pop(key, {}) | versions
            self._write_texts.clear()

    def drop(self, dropped: Collection[tuple[str, str]]) -> None:
        """Forget checkpoints with their pending writes, and the values that only they used."""
        kept, old, thread = [key for key in self._versions if key not in dropped], self.memory, self.thread_id
        self.memory, self._versions, self._texts = InMemorySaver(serde=old.serde), {}, {}
        for namespace, checkpoint_id in kept:
            new: dict[str, Any] = {}
            if stored := old.storage[thread][namespace].get(checkpoint_id):
                self.memory.storage[thread][namespace][checkpoint_id] = stored
                for channel, its in old.serde.loads_typed(stored[0])["channel_versions"].items():
                    place = thread, namespace, channel, its
                    if place in old.blobs and place not in self.memory.blobs:
                        self.memory.blobs[place] = old.blobs[place]
                        new[channel] = its
            if (key := (thread, namespace, checkpoint_id)) in old.writes:
                self.memory.writes[key] = old.writes[key]
            self.saved(namespace, checkpoint_id, new)

    def to_text(self) -> str:
        """Give the whole file's content."""
        header = {
            "format": FORMAT,
            "thread_id": self.thread_id,
            "created": self.created,
            "updated": now_text(),
            "langgraph": _LANGGRAPH,
        }
        lines = ",\n".join(f"  {one_line(key)}: {one_line(value)}" for key, value in header.items())
        for key in self._versions.keys() - self._texts.keys():
            self._texts[key] = self._step_text(*key)
        steps = ",\n    ".join(self._texts[key] for key in self._versions)
        return f'{{\n{lines},\n  "steps": [\n    {steps}\n  ]\n}}\n'

    @classmethod
    def from_text(cls, text: str, serde: SerializerProtocol) -> RunDocument:
        """Read what `to_text` gave.

        Raises:
            ValueError: If the text is cut off, or is not ours; the message completes "the file ...".
        """
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"is not whole JSON ({problem})") from problem
        found = cast("dict[str, Any]", content).get("format") if isinstance(content, dict) else None
        if found != FORMAT:
            raise ValueError(f"is not in the format {FORMAT!r} (it says {found!r})")
        try:
            run = cls(str(content["thread_id"]), serde, str(content["created"]))
            for step in content["steps"]:
                run._take(step)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise ValueError(f"is damaged ({type(problem).__name__}: {problem})") from problem
        return run

    def _take(self, content: dict[str, Any]) -> None:
        """Put one step of a file into the memory."""
        namespace, checkpoint_id = str(content["namespace"]), str(content["id"])
        for write in content.get("writes", ()):
            key = (str(write["task"]), int(write["index"]))
            stored = (key[0], str(write["channel"]), decode(write["value"]), str(write["path"]))
            self.memory.writes[self.thread_id, namespace, checkpoint_id][key] = stored
        versions = dict(content.get("versions", {}))
        if "checkpoint" in content:
            for channel, number in versions.items():
                values = content["values"]
                blob = decode(values[channel]) if channel in values else _EMPTY
                self.memory.blobs[self.thread_id, namespace, channel, number] = blob
            step = (decode(content["checkpoint"]), decode(content["metadata"]), content["parent"])
            self.memory.storage[self.thread_id][namespace][checkpoint_id] = step
        self.saved(namespace, checkpoint_id, versions)

    def _step_text(self, namespace: str, checkpoint_id: str) -> str:
        """Write a step: what a person looks for in full, LangGraph's own records on one line each."""
        fields: dict[str, str] = {"namespace": one_line(namespace), "id": one_line(checkpoint_id)}
        stored = self.memory.storage[self.thread_id][namespace].get(checkpoint_id)
        if stored:  # else its writes came first, and the checkpoint is yet to come
            checkpoint, metadata, parent = stored
            versions = self._versions[namespace, checkpoint_id]
            blobs = {name: self.memory.blobs[self.thread_id, namespace, name, at] for name, at in versions.items()}
            values = [
                f"{one_line(name)}: {pretty(encode(blob), indent=8)}" for name, blob in blobs.items() if blob != _EMPTY
            ]
            summary = self._summary(namespace, parent, checkpoint, metadata)
            records = {
                "parent": parent,
                "versions": versions,
                "checkpoint": encode(checkpoint),
                "metadata": encode(metadata),
            }
            fields = {
                **{key: one_line(value) for key, value in summary.items()},
                "values": _lines("{}", values),
                **fields,
                **{key: one_line(value) for key, value in records.items()},
            }
        if writes := self.memory.writes.get((self.thread_id, namespace, checkpoint_id)):
            # A step of a thousand tasks is written a thousand times; each of their writes is encoded once.
            known = self._write_texts
            for key, write in writes.items():
                if known.get((namespace, checkpoint_id, key), (None, ""))[0] is not write:
                    known[namespace, checkpoint_id, key] = write, _write_text(key[1], *write)
            fields["writes"] = _lines("[]", [known[namespace, checkpoint_id, key][1] for key in writes])
        return "{\n      " + ",\n      ".join(f"{one_line(key)}: {text}" for key, text in fields.items()) + "\n    }"

    def _summary(
        self, namespace: str, parent: str | None, checkpoint: TypedBytes, metadata: TypedBytes
    ) -> dict[str, Any]:
        """Say for a person which step this is and which nodes ran in it; empty if the values are encrypted."""
        about, state = readable(metadata), readable(checkpoint)
        if not isinstance(about, dict) or not isinstance(state, dict):
            return {}
        known = self.memory.storage[self.thread_id][namespace].get(parent or "")
        before = readable(known[0]) if known else None
        seen_before: dict[str, Any] = before.get("versions_seen", {}) if isinstance(before, dict) else {}
        seen: dict[str, Any] = state.get("versions_seen", {})
        nodes = [node for node, versions in seen.items() if versions and seen_before.get(node) != versions]
        return {"step": about.get("step"), "source": about.get("source"), "nodes": nodes, "time": state.get("ts")}


def now_text() -> str:
    """Give the present time as ISO 8601 in UTC, with microseconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _lines(brackets: str, items: Collection[str]) -> str:
    inner = ",\n        ".join(items)
    return f"{brackets[0]}\n        {inner}\n      {brackets[1]}" if items else brackets


def _write_text(index: int, task: str, channel: str, blob: TypedBytes, path: str) -> str:
    """Write a pending write; the line breaks, if there are any, are in its value."""
    fields = {"channel": channel, "task": task, "index": index, "path": path, "value": encode(blob)}
    return "{" + ", ".join(f"{one_line(key)}: {pretty(value, indent=8)}" for key, value in fields.items()) + "}"


def read_document(path: Path, serde: SerializerProtocol) -> tuple[RunDocument, Signature]:
    """Read a run file, and tell which state of it that was.

    Raises:
        CheckpointError: If it cannot be read, is cut off, or is not ours. The file is left as it is.
        FileNotFoundError: If it is gone.
    """
    try:
        with path.open("rb") as file:
            signature = signature_of(os.fstat(file.fileno()))
            content = file.read()
        return RunDocument.from_text(content.decode("utf-8", "surrogatepass"), serde), signature
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as problem:
        reason = f"cannot be read ({problem})" if isinstance(problem, OSError | UnicodeError) else str(problem)
        raise CheckpointError(
            f"the checkpoint file {path} {reason}. It was left as it is: put a good copy in its place, or move it to "
            "another folder to start this run anew."
        ) from problem


class RunFile:
    """One run: its file, and what is in it. One thread at a time reads or changes it."""

    def __init__(self, folder: Path, thread_id: str, serde: SerializerProtocol) -> None:
        """Describe a run; nothing is read yet."""
        self._folder = folder
        self._thread_id = thread_id
        self._serde = serde
        self._lock = threading.Lock()
        self._forget()

    def read(self, use: Callable[[RunDocument], T], candidates: Iterable[Path] | None = None) -> T:
        """Use the run as it is on the disk now; nothing of the document itself may be kept.

        Raises:
            CheckpointError: If the file cannot be read.
        """
        with self._lock:
            self._refresh(candidates, forget_if_gone=True)
            return use(self._document)

    def change(self, apply: Callable[[RunDocument], T]) -> T:
        """Change the run, and return when the change is on the disk.

        Raises:
            CheckpointError: If the file cannot be read or written; a change that was not written is with the next one.
        """
        with self._lock:
            self._refresh(None, forget_if_gone=False)
            result = apply(self._document)
            self._unsaved = True  # until it is written; if that fails, it is written with the next change
            self._write()
        return result

    def delete(self) -> None:
        """Remove the run's file and forget what was in it.

        Raises:
            CheckpointError: If the file cannot be read (it is not deleted then) or removed.
        """
        with self._lock:
            self._refresh(None, forget_if_gone=True)
            if self._path is not None:
                try:
                    self._path.unlink(missing_ok=True)
                    sweep(self._path, older_than=0.0)
                    sync_folder(self._folder)
                except OSError as problem:
                    raise CheckpointError(
                        f"the checkpoint file {self._path} cannot be deleted ({problem}). "
                        "Make its folder writable, and try again."
                    ) from problem
            self._forget()

    def _forget(self) -> None:
        self._path: Path | None = None
        self._signature: Signature | None = None
        self._document = RunDocument(self._thread_id, self._serde, now_text())
        self._unsaved = False

    def _write(self) -> None:
        path = self._path or self._new_path()
        try:
            self._signature = replace(path, self._document.to_text().encode("utf-8", "surrogatepass"))
        except OSError as problem:
            raise CheckpointError(
                f"the checkpoints of thread {self._thread_id!r} cannot be written to {path} ({problem}). "
                "Make room, or make the folder writable; the run can be resumed from its last saved step."
            ) from problem
        self._path, self._unsaved = path, False

    def _refresh(self, candidates: Iterable[Path] | None, *, forget_if_gone: bool) -> None:
        """Read the file if it was never read, or if another process has replaced it."""
        if self._unsaved:
            return
        if self._path is None:
            self._find(candidates)
            return
        try:
            if signature_of(self._path.stat()) != self._signature:
                self._document, self._signature = read_document(self._path, self._serde)
        except FileNotFoundError:
            if forget_if_gone:
                self._forget()

    def _find(self, candidates: Iterable[Path] | None) -> None:
        """Look for the run's file."""
        if candidates is None:
            candidates = files_by_name(self._folder).get(safe_name(self._thread_id), ())
        mine: dict[Path, tuple[RunDocument, Signature]] = {}
        for path in candidates:
            try:
                document, signature = read_document(path, self._serde)
            except FileNotFoundError:
                continue
            if document.thread_id == self._thread_id:
                mine[path] = document, signature
            else:
                logger.warning("%s is passed over: it holds thread %r", path, document.thread_id)
        if len(mine) > 1:
            raise CheckpointError(
                f"thread {self._thread_id!r} has more than one checkpoint file: {', '.join(map(str, mine))}. "
                "Keep the one that counts, and move the others to another folder."
            )
        for path, (document, signature) in mine.items():
            self._path, self._document, self._signature = path, document, signature
            sweep(path)

    def _new_path(self) -> Path:
        """Choose a file name that nobody has."""
        while True:
            stamp = self._document.created.replace("-", "").replace(":", "")
            path = self._folder / f"{stamp}_{safe_name(self._thread_id)}.json"
            if not path.exists():
                return path
            self._document.created = now_text()
