"""Servers and workers as real processes on one PostgreSQL, with a graph whose nodes wait for files."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from postgres import postgres_server, postgres_url  # noqa: F401

OWN = """
import asyncio
import operator
import os
import signal
import time
from pathlib import Path
from typing import Annotated, TypedDict
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from loopwright import Loop, bounded

class State(TypedDict, total=False):
    name: str
    rounds: int      # passes of the loop
    hold: str        # a node, with its round, that waits for a file of this name: look#2
    seconds: float   # that each node takes
    wait: float      # that the answer takes
    blocks: float    # for which look blocks the event loop
    dies: bool       # whether look ends its process
    ask: bool        # whether answer asks a person
    done: int
    trace: Annotated[list[str], operator.add]
    answer: str

def begin(node, state):
    place = f"{node}#{state.get('done', 0)}"
    with open("begun", "a") as file:
        file.write(f"{state['name']} {place} {os.getpid()}\\n")
    return place

async def wait(place, state):
    await asyncio.sleep(state.get("seconds", 0))
    while state.get("hold") == place and not Path(place).exists():
        await asyncio.sleep(0.02)

async def look(state):
    place = begin("look", state)
    if state.get("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(state.get("blocks", 0))
    await wait(place, state)
    return {"trace": ["look"], "done": state.get("done", 0) + 1}

async def think(state):
    await wait(begin("think", state), state)
    return {"trace": ["think"]}

async def answer(state):
    await asyncio.sleep(state.get("wait", 0))
    await wait(begin("answer", state), state)
    said = interrupt("shall I?") if state.get("ask") else "done"
    return {"trace": ["answer"], "answer": f"{said} after {state['done']}"}

builder = StateGraph(State)
for node in (look, think, answer):
    builder.add_node(node.__name__, node)
builder.add_edge(START, "look")
builder.add_edge("look", "think")
builder.add_conditional_edges(
    "think", lambda state: "look" if state["done"] < state.get("rounds", 1) else "answer", ["look", "answer"]
)
builder.add_edge("answer", END)
MORE
graph = bounded(builder, [Loop(name="again", target="look", sources=("think",), limit=50, exhausted="answer")])
"""
NEWER = 'builder.add_node("later", lambda state: {})\nbuilder.add_edge("answer", "later")'
COMMAND = [sys.executable, "-c", "from loopwright.cli import main; main()"]
HELD = {"name": "r", "rounds": 3, "hold": "look#1"}


@dataclass
class Process:
    """A server or a worker."""

    popen: subprocess.Popen[bytes]
    errors: Path
    client: httpx.Client | None = None

    @property
    def told(self) -> str:
        return self.errors.read_text(encoding="utf-8", errors="replace")

    def signal(self, number: int) -> None:
        os.kill(self.popen.pid, number)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(30)


@dataclass
class Hosts:
    """Processes on one PostgreSQL, in one folder."""

    folder: Path
    url: str
    lease: float = 2.0
    started: list[Process] = field(default_factory=list)

    def write(self, more: str = "", name: str = "own.py") -> None:
        (self.folder / name).write_text(OWN.replace("MORE", more), encoding="utf-8")

    def worker(self, *options: str) -> Process:
        words = ["worker", "--workflows", "own.py:graph", "--lease", str(self.lease), *options]
        return self.started_as(words, {"LOOPWRIGHT_RUNS": self.url})

    def server(self, *options: str, alone: bool = False) -> Process:
        """A server; `alone` keeps everything in this folder."""
        runs = ["--data", "kept"] if alone else ["--runs", self.url]
        return self.started_as(["serve", "own.py:graph", *runs, "--port", "0", "--lease", str(self.lease), *options])

    def started_as(self, words: list[str], more: dict[str, str] | None = None) -> Process:
        """Start a command of Loopwright with more environment variables, and wait until it is ready."""
        ready = "listening on " if words[0] == "serve" else "working on"
        errors = self.folder / f"errors{len(self.started)}"
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)} | (more or {})
        with errors.open("wb") as file:
            popen = subprocess.Popen([*COMMAND, *words], cwd=self.folder, env=environment, stderr=file)
        process = Process(popen, errors)
        self.started.append(process)
        until(lambda: ready in process.told or popen.poll() is not None)
        assert ready in process.told, process.told
        if words[0] == "serve":
            url = re.search(r"listening on (\S+);", process.told).group(1).replace("0.0.0.0", "127.0.0.1")
            token = environment.get("LOOPWRIGHT_TOKEN")
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            process.client = httpx.Client(base_url=url, headers=headers, timeout=60, trust_env=False)
        return process

    def begun(self, name: str) -> list[str]:
        """The nodes of a run in the order in which they began, in whatever process."""
        return [place for run, place, _pid in self._lines() if run == name]

    def names(self) -> list[str]:
        """The runs in the order in which they began."""
        return [*dict.fromkeys(run for run, _place, _pid in self._lines())]

    def on(self, name: str) -> Process:
        """Who works on a run: where its last node began."""
        *_, last = (int(pid) for run, _place, pid in self._lines() if run == name)
        return next(each for each in self.started if each.popen.pid == last)

    def go(self, place: str) -> None:
        (self.folder / place).touch()

    def _lines(self) -> list[list[str]]:
        file = self.folder / "begun"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(name="many")
def hosts_of_a_test(tmp_path: Path, postgres_url: str) -> Iterator[Hosts]:  # noqa: F811
    """Processes on a schema that nothing has used yet."""
    with hosts(tmp_path, postgres_url) as made:
        yield made


@contextmanager
def hosts(folder: Path, url: str, lease: float = 2.0) -> Iterator[Hosts]:
    """Start processes; all are gone at the end."""
    made = Hosts(folder, url, lease)
    made.write()
    try:
        yield made
    finally:
        for each in made.started:
            if each.popen.poll() is None:
                each.signal(signal.SIGCONT)
                each.kill()
            if each.client:
                each.client.close()


def until(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(0.02)


def begin(server: Process, given: dict[str, Any], **more: Any) -> str:
    """Begin a run; its id."""
    reply = server.client.post("/runs", json={"workflow": "own-graph", "input": given, **more})
    assert reply.status_code == 201, reply.text
    return reply.json()["id"]


def record(server: Process, run_id: str) -> dict[str, Any]:
    return server.client.get(f"/runs/{run_id}").json()


def ended(server: Process, run_id: str, seconds: float = 60.0) -> dict[str, Any]:
    """A run once it has ended."""
    until(lambda: record(server, run_id)["status"] not in ("queued", "running"), seconds)
    return record(server, run_id)


def log(server: Process, run_id: str) -> list[dict[str, Any]]:
    """What is kept of what happened in a run."""
    page = server.client.get(f"/runs/{run_id}/log", params={"limit": 5000}).json()
    assert [each["seq"] for each in page["events"]] == [*range(1, page["total"] + 1)]
    return [each["event"] for each in page["events"]]


def stream(server: Process, run_id: str, after: int = 0, most: int | None = None) -> list[tuple[int, dict[str, Any]]]:
    """The events of a run as they come, to its end or so many: number and event."""
    headers = {"Last-Event-ID": f"{run_id}:{after}"} if after else {}
    found: list[tuple[int, dict[str, Any]]] = []
    with server.client.stream("GET", f"/runs/{run_id}/events", headers=headers) as reply:
        for line in reply.iter_lines():
            if line.startswith("data:"):
                found.append((0, json.loads(line[5:])))
            elif line.startswith("id:"):
                found[-1] = (int(line.rpartition(":")[2]), found[-1][1])
                if most and len(found) >= most:
                    break
    return found


def whole(rounds: int) -> Counter[str]:
    """The visits of an undisturbed run."""
    visits = [f"{node}#{number + (node == 'think')}" for number in range(rounds) for node in ("look", "think")]
    return Counter([*visits, f"answer#{rounds}"])
