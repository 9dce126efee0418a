"""Kills runs of real processes and goes on with them, and tells what ran more than once."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import postgres

Kill = Mapping[str, Any]
"""What a line of the log must hold for the process to die after writing it; see `Record`."""


class ForkServer:
    """A warm process that forks for each attempt; two with other hash seeds show what rests on the order of sets."""

    def __init__(self, hash_seed: int, errors: Path) -> None:
        self._errors = errors.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crashing_server.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        )  # fmt: skip

    def start(self, job: Mapping[str, Any]) -> int:
        """Fork for a job, and give the child's process id."""
        return self._ask(json.dumps(job))

    def wait(self) -> int:
        """Wait for the child, and give its exit code; minus the signal that killed it."""
        return self._ask("wait")

    def _ask(self, line: str) -> int:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, f"the server died: {self.complaint()}"
        return int(answer)

    def complaint(self) -> str:
        """The end of what was written to its standard error."""
        return Path(self._errors.name).read_text(encoding="utf-8")[-2000:]

    def close(self) -> None:
        """End the server."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=30)
        self._process.stdout.close()
        self._errors.close()


@dataclass
class CrashingRun:
    """One run that may take many processes to come to its end."""

    servers: tuple[ForkServer, ...]
    """The servers; the attempts take turns."""
    folder: Path
    """Where the log and the checkpoints are."""
    saver: str = "sqlite"
    graph: str = "three_loops"
    """The function of `crashing_graphs` that builds the graph."""
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    late: float = 0.0
    """For how many seconds each save of a task's writes is held back."""
    run: dict[str, Any] = field(default_factory=dict[str, Any])
    """What `run` and `resume` are given."""
    attempts: int = 0
    killed: int = 0
    result: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the last process answered."""

    @property
    def log(self) -> list[dict[str, Any]]:
        """What all attempts noted."""
        log = self.folder / "log"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []

    def attempt(self, kill: Kill | None = None, seconds: float = 0) -> bool:
        """Start one process, from the input or from the last checkpoint; whether it came to its end.

        `kill` is where it dies; or else it is killed from outside after so many seconds, wherever it is.
        """
        (self.folder / "result").unlink(missing_ok=True)
        job = {
            "saver": self._place(), "late": self.late, "thread": "t", "log": str(self.folder / "log"), "result": str(self.folder / "result"),
            "attempt": self.attempts, "graph": self.graph, "options": self.options, "run": self.run,
            "input": {"trace": []}, "kill": kill,
        }  # fmt: skip
        server = self.servers[self.attempts % len(self.servers)]
        self.attempts += 1
        pid = server.start(job)
        if seconds:
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and not (self.folder / "result").exists():
                time.sleep(0.001)
            os.kill(pid, signal.SIGKILL)
        code = server.wait()
        assert code in (0, -signal.SIGKILL), f"attempt {self.attempts} ended with {code}: {server.complaint()}"
        self.killed += code != 0
        if code == 0:
            self.result = json.loads((self.folder / "result").read_text(encoding="utf-8"))
        return code == 0

    def _place(self) -> str:
        if self.saver == "postgresql":
            address = postgres.address()
            return f"{address}&schema=killed_{hashlib.sha256(str(self.folder).encode()).hexdigest()[:12]}"
        return {"sqlite": "sqlite:{}/runs.db", "json": "json:{}/runs"}[self.saver].format(self.folder)

    def finish(self, kills: Iterable[Kill] = ()) -> CrashingRun:
        """Die at each of the kills in turn, and then come to the end."""
        for kill in kills:
            if self.attempt(kill):
                return self
        assert self.attempt()
        return self


@dataclass(frozen=True)
class Account:
    """What the log of a run says about its attempts together."""

    again: tuple[str, ...]
    """Tasks that ran again, by the names of their nodes, once for each time."""
    most_again: int
    """The most tasks that one attempt ran again."""
    wrong: tuple[str, ...]
    """Tasks that ran again although they were saved, or although nobody had begun them when the process died."""
    runs: Counter[str]
    """Node -> how many different tasks of it ran."""
    supersteps: int
    """How many supersteps were begun."""
    calls_lost: int
    """How many model calls were sent by tasks that died before they were saved, so that nothing could count them."""
    saves_cut: int
    """How many saves were under way when a process was killed."""


def account(log: list[dict[str, Any]]) -> Account:
    """Read a log, and find every task that ran again and what was saved at that moment."""
    begun: dict[str, tuple[int, int]] = {}  # task -> its last attempt, its step
    saved: set[str] = set()
    step_saved = -2
    again: list[str] = []
    again_in: Counter[int] = Counter()
    wrong: list[str] = []
    names: dict[str, str] = {}
    calls: Counter[tuple[str, int]] = Counter()  # by task and attempt
    calls_lost = 0
    saving: Counter[int] = Counter()
    for line in log:
        match line["what"]:
            case "saved writes" if not line["failed"]:
                saved.add(line["task"])
            case "saved checkpoint" if not line["space"]:
                step_saved = max(step_saved, line["step"])
            case "begin":
                task, attempt, step = line["task"], line["attempt"], line["step"]
                if task in begun and begun[task][0] != attempt:
                    again.append(line["node"])
                    again_in[attempt] += 1
                    calls_lost += calls[task, begun[task][0]]
                if task in saved or step <= step_saved:
                    wrong.append(f"{line['node']} of step {step} in attempt {attempt}")
                begun[task] = (attempt, step)
                names[task] = line["node"]
            case "call":
                calls[line["task"], line["attempt"]] += 1
        if line["what"].startswith("saving"):
            saving[line["attempt"]] += 1
        elif line["what"].startswith("saved"):
            saving[line["attempt"]] -= 1
    return Account(
        again=tuple(again), most_again=max(again_in.values(), default=0), wrong=tuple(wrong),
        runs=Counter(names.values()), supersteps=len({step for _, step in begun.values()}),
        calls_lost=calls_lost, saves_cut=sum(1 for left in saving.values() if left),
    )  # fmt: skip
