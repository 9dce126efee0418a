"""The content of one run's file: LangGraph's in-memory saver, and the text that says the same.

The file lists the steps in the order in which they were saved. Each step holds the values that it changed, and no
others, so a value is in the file once for each time that it changed; LangGraph's versions of the channels say which
step's value a later step still uses. Each step's text is made once and kept, so saving is joining and writing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, cast

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.checkpoints.encoding import TypedBytes, decode, encode, one_line, pretty, readable

FORMAT = "loopwright-checkpoints/1"
"""Marks a file as ours, with the version of its layout."""

_LANGGRAPH = version("langgraph")
_EMPTY: TypedBytes = ("empty", b"")
"""How the in-memory saver marks a channel that holds nothing."""

Versions = Mapping[str, Any]
"""The channels that a step changed, each with its new version."""


class RunDocument:
    """One run in memory, with its text.

    Attributes:
        thread_id: The run's thread.
        created: When the run's file was first made; ISO 8601 in UTC, with microseconds.
        memory: The run's checkpoints. Whoever changes them calls `saved` or `written` afterwards.
    """

    def __init__(self, thread_id: str, serde: SerializerProtocol, created: str) -> None:
        """Start an empty run.

        Args:
            thread_id: The run's thread.
            serde: Turns values into bytes and back.
            created: When the run's file was first made.
        """
        self.thread_id = thread_id
        self.created = created
        self.memory = InMemorySaver(serde=serde)
        self._steps: list[tuple[str, str, Versions | None]] = []
        self._latest: dict[tuple[str, str], int] = {}
        self._texts: dict[int, str] = {}
        self._write_texts: dict[Any, tuple[Any, str]] = {}

    def saved(self, namespace: str, checkpoint_id: str, versions: Versions | None) -> None:
        """Take over a checkpoint that was put into `memory`, as a new step; one that is saved again has two.

        Args:
            namespace: Its namespace.
            checkpoint_id: Its id.
            versions: The new version of each channel that it changed; None for writes whose checkpoint is yet to come.
        """
        self._write_texts.clear()
        self._texts.pop(self._latest.get((namespace, checkpoint_id), -1), None)
        self._latest[namespace, checkpoint_id] = len(self._steps)
        self._steps.append((namespace, checkpoint_id, versions))

    def written(self, namespace: str, checkpoint_id: str) -> None:
        """Take over the pending writes that were put into `memory`; they stand in the newest step of a checkpoint."""
        if (namespace, checkpoint_id) not in self._latest:
            self.saved(namespace, checkpoint_id, None)
        self._texts.pop(self._latest[namespace, checkpoint_id], None)

    def drop(self, dropped: Collection[tuple[str, str]]) -> None:
        """Forget checkpoints with their pending writes, and the values that only they used."""
        kept, old = [key for key in self._latest if key not in dropped], self.memory
        self.memory, self._steps, self._latest, self._texts = InMemorySaver(serde=old.serde), [], {}, {}
        storage = self.memory.storage[self.thread_id]
        for namespace, checkpoint_id in kept:
            versions: Versions | None = None
            stored = old.storage[self.thread_id][namespace].get(checkpoint_id)
            if stored is not None:
                storage[namespace][checkpoint_id] = stored
                used: Versions = old.serde.loads_typed(stored[0])["channel_versions"]
                places = {(self.thread_id, namespace, channel, used[channel]): channel for channel in used}
                new = [place for place in places if place in old.blobs and place not in self.memory.blobs]
                self.memory.blobs.update({place: old.blobs[place] for place in new})
                versions = {places[place]: place[3] for place in new}
            key = self.thread_id, namespace, checkpoint_id
            if key in old.writes:
                self.memory.writes[key] = old.writes[key]
            self.saved(namespace, checkpoint_id, versions)

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
        for number in range(len(self._steps)):
            if number not in self._texts:
                self._texts[number] = self._step_text(number)
        steps = ",\n    ".join(self._texts[number] for number in range(len(self._steps)))
        return f'{{\n{lines},\n  "steps": [\n    {steps}\n  ]\n}}\n'

    def serialised(self) -> Iterator[TypedBytes]:
        """Give every value, checkpoint and metadata as the serializer made it."""
        yield from self.memory.blobs.values()
        for checkpoints in self.memory.storage[self.thread_id].values():
            for checkpoint, metadata, _ in checkpoints.values():
                yield from (checkpoint, metadata)
        for writes in self.memory.writes.values():
            yield from (value for _, _, value, _ in writes.values())

    @classmethod
    def from_text(cls, text: str, serde: SerializerProtocol) -> RunDocument:
        """Read a file's content.

        Args:
            text: What `to_text` gave.
            serde: Turns values into bytes and back.

        Returns:
            The run.

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
        versions: Versions | None = None
        if "checkpoint" in content:
            versions = dict(content["versions"])
            for channel, number in versions.items():
                values = content["values"]
                blob = decode(values[channel]) if channel in values else _EMPTY
                self.memory.blobs[self.thread_id, namespace, channel, number] = blob
            step = (decode(content["checkpoint"]), decode(content["metadata"]), content["parent"])
            self.memory.storage[self.thread_id][namespace][checkpoint_id] = step
        self.saved(namespace, checkpoint_id, versions)

    def _step_text(self, number: int) -> str:
        """Write a step: what a person looks for in full, LangGraph's own records on one line each."""
        namespace, checkpoint_id, versions = self._steps[number]
        parts = [f'"namespace": {one_line(namespace)}', f'"id": {one_line(checkpoint_id)}']
        if versions is not None:
            checkpoint, metadata, parent = self.memory.storage[self.thread_id][namespace][checkpoint_id]
            blobs = {name: self.memory.blobs[self.thread_id, namespace, name, at] for name, at in versions.items()}
            values = [
                f"{one_line(name)}: {pretty(encode(blob), indent=8)}"
                for name, blob in blobs.items()
                if blob[0] != "empty"
            ]
            inner = ",\n        ".join(values)
            summary = self._summary(namespace, parent, checkpoint, metadata)
            records = {
                "parent": parent,
                "versions": versions,
                "checkpoint": encode(checkpoint),
                "metadata": encode(metadata),
            }
            parts = [
                *(f"{one_line(key)}: {one_line(value)}" for key, value in summary.items()),
                f'"values": {{\n        {inner}\n      }}' if values else '"values": {}',
                *parts,
                *(f"{one_line(key)}: {one_line(value)}" for key, value in records.items()),
            ]
        stored = self.memory.writes.get((self.thread_id, namespace, checkpoint_id))
        if stored and self._latest[namespace, checkpoint_id] == number:
            for key, write in stored.items():
                # A step of a thousand tasks is written a thousand times; each of their writes is encoded once.
                if self._write_texts.get((number, key), (None, ""))[0] is not write:
                    self._write_texts[number, key] = write, _write_text(key[1], *write)
            writes = (self._write_texts[number, key][1] for key in stored)
            parts.append('"writes": [\n        {}\n      ]'.format(",\n        ".join(writes)))
        return "{\n      " + ",\n      ".join(parts) + "\n    }"

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


def _write_text(index: int, task: str, channel: str, blob: TypedBytes, path: str) -> str:
    """Write a pending write; the line breaks, if there are any, are in its value."""
    fields = {"channel": channel, "task": task, "index": index, "path": path, "value": encode(blob)}
    return "{" + ", ".join(f"{one_line(key)}: {pretty(value, indent=8)}" for key, value in fields.items()) + "}"
