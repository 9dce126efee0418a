"""The content of one run's file: LangGraph's in-memory saver, and the text that says the same.

The file lists the steps in the order in which they were saved. Each step holds the values that it changed, and no
others, so a value is in the file once for each time that it changed; LangGraph's versions of the channels say which
step's value a later step still uses. Each step's text is made once and kept, so saving is joining and writing.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any, cast

from langgraph.checkpoint.base import ChannelVersions
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import SerializerProtocol

from loopwright.engine.checkpoints.encoding import TypedBytes, decode, encode, one_line, pretty, readable

FORMAT = "loopwright-checkpoints/1"
"""Marks a file as ours, with the version of its layout."""

_LANGGRAPH = version("langgraph")
_EMPTY: TypedBytes = ("empty", b"")
"""How the in-memory saver marks a channel that holds nothing."""

Stored = tuple[str, str, TypedBytes, str]
"""A pending write as the in-memory saver keeps it: task, channel, value, path of the task."""


@dataclass(eq=False)
class _Step:
    """One step of the file: a checkpoint, and what was written on top of it."""

    namespace: str
    """The checkpoint namespace; empty for the graph itself."""
    id: str
    """The checkpoint's id."""
    head: dict[str, Any] | str | None = None
    """The checkpoint, as text once it was written; None while only its pending writes are known."""
    writes: dict[tuple[str, int], tuple[Stored, str]] = field(default_factory=dict[tuple[str, int], tuple[Stored, str]])
    """The pending writes by task and index, each with its text."""
    text: str = ""
    """The text of the whole step, or empty if it must be made again."""

    def render(self) -> str:
        """Give the step's text, made again only if something changed."""
        if not self.text:
            if self.head is None:
                parts = [_head_text({"namespace": self.namespace, "id": self.id})]
            else:
                self.head = self.head if isinstance(self.head, str) else _head_text(self.head)
                parts = [self.head]
            if self.writes:
                writes = ",\n        ".join(text for _, text in self.writes.values())
                parts.append(f'"writes": [\n        {writes}\n      ]')
            self.text = "{\n      " + ",\n      ".join(parts) + "\n    }"
        return self.text


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
        self._steps: list[_Step] = []
        self._latest: dict[tuple[str, str], _Step] = {}

    def saved(self, namespace: str, checkpoint_id: str, versions: ChannelVersions) -> None:
        """Take over a checkpoint that was put into `memory`.

        Args:
            namespace: Its namespace.
            checkpoint_id: Its id.
            versions: The new version of each channel that it changed.
        """
        checkpoint, metadata, parent = self.memory.storage[self.thread_id][namespace][checkpoint_id]
        blobs = {
            channel: self.memory.blobs[self.thread_id, namespace, channel, number]
            for channel, number in versions.items()
        }
        head: dict[str, Any] = {
            **self._summary(namespace, parent, checkpoint, metadata),
            "values": {channel: encode(blob) for channel, blob in blobs.items() if blob[0] != "empty"},
            "namespace": namespace,
            "id": checkpoint_id,
            "parent": parent,
            "versions": dict(versions),
            "checkpoint": encode(checkpoint),
            "metadata": encode(metadata),
        }
        self._add(namespace, checkpoint_id, head)

    def written(self, namespace: str, checkpoint_id: str) -> None:
        """Take over the pending writes that were put into `memory`.

        Args:
            namespace: The namespace of their checkpoint.
            checkpoint_id: The id of their checkpoint.
        """
        step = self._latest.get((namespace, checkpoint_id)) or self._add(namespace, checkpoint_id, None)
        for key, stored in self.memory.writes[self.thread_id, namespace, checkpoint_id].items():
            if key not in step.writes or step.writes[key][0] is not stored:
                task, channel, blob, path = stored
                fields = {"channel": channel, "task": task, "index": key[1], "path": path, "value": encode(blob)}
                step.writes[key] = (stored, _write_text(fields))
                step.text = ""

    def drop(self, dropped: Collection[tuple[str, str]]) -> None:
        """Forget checkpoints with their pending writes, and the values that only they used.

        Args:
            dropped: Their namespaces and ids.
        """
        old, steps = self.memory, dict.fromkeys((step.namespace, step.id) for step in self._steps)
        self.memory, self._steps, self._latest = InMemorySaver(serde=old.serde), [], {}
        for namespace, checkpoint_id in steps:
            key = self.thread_id, namespace, checkpoint_id
            if (namespace, checkpoint_id) in dropped:
                continue
            stored = old.storage[self.thread_id][namespace].get(checkpoint_id)
            if stored is not None:
                self.memory.storage[self.thread_id][namespace][checkpoint_id] = stored
                versions = old.serde.loads_typed(stored[0])["channel_versions"]
                new = {
                    (self.thread_id, namespace, channel, number): (channel, number)
                    for channel, number in versions.items()
                    if (self.thread_id, namespace, channel, number) in old.blobs.keys() - self.memory.blobs.keys()
                }
                self.memory.blobs.update({place: old.blobs[place] for place in new})
                self.saved(namespace, checkpoint_id, dict(new.values()))
            if key in old.writes:
                self.memory.writes[key] = old.writes[key]
                self.written(namespace, checkpoint_id)

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
        steps = ",\n    ".join(step.render() for step in self._steps)
        return f'{{\n{lines},\n  "steps": [\n    {steps}\n  ]\n}}\n'

    def serialised(self) -> Iterator[TypedBytes]:
        """Give every value, checkpoint and metadata as the serializer made it."""
        yield from self.memory.blobs.values()
        for checkpoints in self.memory.storage[self.thread_id].values():
            for checkpoint, metadata, _ in checkpoints.values():
                yield from (checkpoint, metadata)
        for writes in self.memory.writes.values():
            for _, _, value, _ in writes.values():
                yield value

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
        writes: Iterable[dict[str, Any]] = content.pop("writes", ())
        step = self._add(namespace, checkpoint_id, content if "checkpoint" in content else None)
        for write in writes:
            key = (str(write["task"]), int(write["index"]))
            stored: Stored = (key[0], str(write["channel"]), decode(write["value"]), str(write["path"]))
            self.memory.writes[self.thread_id, namespace, checkpoint_id][key] = stored
            step.writes[key] = (stored, _write_text(write))
        if step.head is None:
            return
        values: Mapping[str, Any] = content["values"]
        for channel, number in content["versions"].items():
            blob = decode(values[channel]) if channel in values else _EMPTY
            self.memory.blobs[self.thread_id, namespace, channel, number] = blob
        stored_step = (decode(content["checkpoint"]), decode(content["metadata"]), content["parent"])
        self.memory.storage[self.thread_id][namespace][checkpoint_id] = stored_step

    def _add(self, namespace: str, checkpoint_id: str, head: dict[str, Any] | None) -> _Step:
        """Append a step, so that reading the file repeats what was done in the order in which it was done."""
        key = namespace, checkpoint_id
        before = self._latest.get(key)
        step = self._latest[key] = _Step(namespace, checkpoint_id, head)
        if before is not None:  # its writes came first, or it is saved again; they belong to the newest
            step.writes, before.writes, before.text = before.writes, {}, ""
            if before.head is None:
                self._steps.remove(before)
        self._steps.append(step)
        return step

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


def _head_text(head: Mapping[str, Any]) -> str:
    """Write a step without its braces: what a person looks for in full, LangGraph's own records on one line each."""
    parts: list[str] = []
    for key, value in head.items():
        if key == "values" and value:
            inner = ",\n        ".join(f"{one_line(name)}: {pretty(item, indent=8)}" for name, item in value.items())
            text = f"{{\n        {inner}\n      }}"
        else:
            text = one_line(value)
        parts.append(f"{one_line(key)}: {text}")
    return ",\n      ".join(parts)


def _write_text(write: Mapping[str, Any]) -> str:
    """Write a pending write; the line breaks, if there are any, are in its value."""
    return "{" + ", ".join(f"{one_line(key)}: {pretty(value, indent=8)}" for key, value in write.items()) + "}"
