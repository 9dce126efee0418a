"""What a killed process leaves behind: a log that it wrote line by line, and the moment at which it was to die."""

import asyncio
import functools
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from langgraph.config import get_config
from langgraph.runtime import get_runtime


class Record:
    """Writes one JSON line for each thing that happens, and ends the process where it is told to.

    Args:
        path: The log, which all attempts of a run append to.
        attempt: Which attempt of the run this is, from 0.
        kill: What a line must hold for the process to die right after writing it; ``nth`` counts such lines from 1.
    """

    def __init__(self, path: str, attempt: int, kill: Mapping[str, Any] | None = None) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._attempt = attempt
        self._kill = dict(kill or {})
        self._left = self._kill.pop("nth", 1)
        self._nodes: dict[str, str] = {}

    def note(self, what: str, **fields: Any) -> None:
        """Write one line; it is on the disk when this returns."""
        line = {"attempt": self._attempt, "what": what, **fields}
        os.write(self._file, (json.dumps(line) + "\n").encode())
        os.fdatasync(self._file)
        if self._kill and all(line.get(key) == value for key, value in self._kill.items()):
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    @contextmanager
    def task(self, node: str, seen: int) -> Iterator[None]:
        """Write a line before and after a node's work; `seen` is a counter of the state that it was given."""
        info, step = get_runtime().execution_info, get_config()["metadata"]["langgraph_step"]
        assert info is not None
        fields = {"node": node, "task": info.task_id, "step": step, "seen": seen, "try": info.node_attempt}
        self._nodes[info.task_id] = node
        self.note("begin", **fields)
        yield
        self.note("end", **fields)

    def watch(self, saver: Any, late: float = 0.0) -> None:
        """Write a line before and after each save, sync or async; those of a task's writes are `late` seconds late."""
        self._late = late
        saver.put = self._watched(saver.put, "checkpoint")
        saver.put_writes = self._watched(saver.put_writes, "writes")
        saver.aput = self._awatched(saver.aput, "checkpoint")
        saver.aput_writes = self._awatched(saver.aput_writes, "writes")

    def watch_files(self) -> None:
        """Write a line whenever a file is about to be forced to the disk, or to be put in place of another."""
        sync, replace = os.fsync, os.replace

        def watched_sync(file: int) -> None:
            self.note("syncing")
            sync(file)

        def watched_replace(source: Any, target: Any) -> None:
            self.note("replacing")
            replace(source, target)

        os.fsync, os.replace = watched_sync, watched_replace

    def _watched(self, save: Any, kind: str) -> Any:
        @functools.wraps(save)
        def watched(*args: Any, **options: Any) -> Any:
            if kind == "writes":
                time.sleep(self._late)
            with self._saving(kind, args):
                return save(*args, **options)

        return watched

    def _awatched(self, save: Any, kind: str) -> Any:
        @functools.wraps(save)
        async def watched(*args: Any, **options: Any) -> Any:
            if kind == "writes":
                await asyncio.sleep(self._late)
            with self._saving(kind, args):
                return await save(*args, **options)

        return watched

    @contextmanager
    def _saving(self, kind: str, args: tuple[Any, ...]) -> Iterator[None]:
        fields: dict[str, Any] = {"space": args[0]["configurable"].get("checkpoint_ns", "")}
        if kind == "checkpoint":
            fields |= {"step": args[2]["step"], "source": args[2]["source"]}
        else:
            failed = any(channel == "__error__" for channel, _ in args[1])
            fields |= {"task": args[2], "node": self._nodes.get(args[2]), "failed": failed}
        self.note(f"saving {kind}", **fields)
        yield
        self.note(f"saved {kind}", **fields)
