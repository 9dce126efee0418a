"""The same bounded loop in other frameworks: seconds per pass, and what each does when the bound is reached.

    python benchmarks/peers.py [--write]

A loop of two trivial nodes that never says stop is bounded to 200 passes. Every variant runs in a process of its own,
every other framework in an environment of its own (made once, in the user's cache folder); the processes are asked in
turn, again and again, so that a slow moment of the machine hits them all alike. The workers in ``benchmarks/peers/``
build the loop as each framework's own documentation does, and count the node runs: a variant that did not run exactly
the same nodes is an error. What could not be measured is named with the reason.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from common import machine, main

TITLE = "The same loop in other frameworks"
PASSES = 200
REPETITIONS = 15
TARGET = 1.15
"""The most that events or a run budget may take, in times of the same loop without."""
PATIENCE = 120.0
"""Seconds that a worker may take for one answer."""
WORKERS = Path(__file__).with_name("peers")
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "loopwright" / "peers"


@dataclass(frozen=True)
class Package:
    """A framework to compare with, pinned."""

    name: str
    """Its name on the registry."""
    version: str
    """The version that is measured."""
    released: str
    """The day on which that version was uploaded."""
    licence: str
    """Its licence."""
    beside: tuple[str, ...] = ()
    """What is installed with it, pinned too."""


LANGGRAPH = Package("langgraph", "1.2.22", "2026-11-14", "MIT")
PEERS = {
    "pydantic_graph_loop.py": Package("pydantic-graph", "2.68.0", "2026-11-12", "MIT"),
    "burr_loop.py": Package("apache-burr", "0.42.0", "2026-05-10", "Apache-2.0"),
    "haystack_loop.py": Package("haystack-ai", "3.4.0", "2026-10-15", "Apache-2.0"),
    "llama_index_loop.py": Package("llama-index-workflows", "2.26.1", "2026-10-21", "MIT"),
}
"""Worker -> the package that it needs; the one table of versions."""

PLAIN, BY_HAND, ASYNC, BOUNDED = "LangGraph", "LangGraph, counter by hand", "LangGraph, async", "Loopwright"
STREAMED, EVENTS, BUDGET = "LangGraph, streams read", "Loopwright, events read", "Loopwright, run budget"
OURS = {
    PLAIN: ("langgraph_loop.py", "plain"),
    BY_HAND: ("langgraph_loop.py", "by-hand"),
    "LangGraph, a third node": ("langgraph_loop.py", "third-node"),
    BOUNDED: ("loopwright_loop.py", "bounded"),
    STREAMED: ("langgraph_loop.py", "streams"),
    EVENTS: ("loopwright_loop.py", "events"),
    BUDGET: ("loopwright_loop.py", "budget"),
    ASYNC: ("langgraph_loop.py", "async"),
    "Loopwright, async": ("loopwright_loop.py", "async"),
}
"""Variant -> its worker and its name there; they run in this environment."""
THEIRS = {
    "pydantic_graph_loop.py": "pydantic-graph, async, counter by hand",
    "burr_loop.py": "Burr, condition by hand",
    "haystack_loop.py": "Haystack",
    "llama_index_loop.py": "LlamaIndex Workflows, async, counter by hand",
}
"""Worker -> the variant's name."""


class Unmeasured(Exception):
    """A variant that could not be installed, started or finished; says why in one line."""


@dataclass
class Worker:
    """One variant in its process."""

    name: str
    process: subprocess.Popen[str]
    complaints: Any
    """The file that takes its standard error."""
    about: dict[str, Any] = field(default_factory=dict)
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    @classmethod
    def started(cls, name: str, command: list[str]) -> Worker:
        """Start a process, and let it tell about itself.

        Raises:
            Unmeasured: If it does not answer.
        """
        complaints = tempfile.TemporaryFile("w+", encoding="utf-8")
        # Nobody's traces of another run are wanted; the bytecode of a worker is not worth a folder in the checkout.
        quiet = {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints, text=True,
            env=os.environ | quiet,
        )  # fmt: skip
        worker = cls(name, process, complaints)
        try:
            worker.about = json.loads(worker.ask("about"))
        except BaseException:
            worker.stop()
            raise
        return worker

    def ask(self, line: str) -> str:
        """Send a line, and wait for the answer.

        Raises:
            Unmeasured: If none comes.
        """
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin and stdout
        try:
            print(line, file=stdin, flush=True)
            answers, _, _ = select.select([stdout], [], [], PATIENCE)
        except BrokenPipeError:
            answers = [stdout]
        if not answers:
            raise Unmeasured(f"no answer within {PATIENCE:g} s")
        answer = stdout.readline()
        if not answer:
            self.complaints.seek(0)
            raise Unmeasured(last_line(self.complaints.read()))
        return answer

    def measure(self) -> None:
        """One run more."""
        cpu, wall = map(float, self.ask("run").split())
        self.cpu.append(cpu)
        self.wall.append(wall)

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()
        self.complaints.close()

    def per_pass(self, seconds: list[float]) -> tuple[float, float]:
        """The least and the median microseconds for one pass."""
        return min(seconds) / PASSES * 1e6, statistics.median(seconds) / PASSES * 1e6

    def times(self, other: Worker) -> float:
        """The median ratio of processor times of runs that were made side by side."""
        return statistics.median(mine / its for mine, its in zip(self.cpu, other.cpu, strict=True))


def started_loop(variant: str) -> Worker:
    """Start a variant of the loop, and let it warm up.

    Raises:
        Unmeasured: If it does not answer, or does not run the same nodes as the others.
    """
    worker = Worker.started(variant, command_of(variant))
    try:
        worker.ask("run")
        wanted = 2 * (PASSES + 1)
        if worker.about["node_runs"] != wanted:
            raise Unmeasured(f"it ran {worker.about['node_runs']} nodes, and the others {wanted}")
    except BaseException:
        worker.stop()
        raise
    return worker


def last_line(text: str) -> str:
    """What a program said last."""
    return (text.strip().splitlines() or ["it ended without a word"])[-1].strip()[:200]


def environment(package: Package) -> Path:
    """The Python of an environment that holds one package and what it needs beside it, made once.

    Raises:
        Unmeasured: If it cannot be installed.
    """
    place = CACHE / f"{package.name}-{package.version}-py{sys.version_info.major}.{sys.version_info.minor}"
    python, whole = place / "bin" / "python", place / "installed"
    if whole.is_file():
        return python
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if uv is None:
        raise Unmeasured("uv is needed to make its environment")
    print(f"installing {package.name} {package.version} (once) ...", file=sys.stderr)
    pinned = f"{package.name}=={package.version}"
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(place)],
        [uv, "pip", "install", "--quiet", "--python", str(python), pinned, *package.beside],
    ):
        done = subprocess.run(
            command, capture_output=True, text=True, env={"UV_SYSTEM_CERTS": "1", **os.environ}, check=False
        )
        if done.returncode:
            raise Unmeasured(f"could not be installed: {last_line(done.stderr)}")
    whole.touch()
    return python


def command_of(variant: str) -> list[str]:
    """How to start a variant's worker.

    Raises:
        Unmeasured: If its environment cannot be made.
    """
    if variant in OURS:
        script, name = OURS[variant]
        return [sys.executable, str(WORKERS / script), name, str(PASSES)]
    script = next(script for script, name in THEIRS.items() if name == variant)
    return [str(environment(PEERS[script])), str(WORKERS / script), str(PASSES)]


def measure(repetitions: int) -> tuple[dict[str, Worker], dict[str, str]]:
    """Ask all variants in turn, again and again.

    Returns:
        The variants that were measured, and those that were not with the reason.
    """
    workers: dict[str, Worker] = {}
    missing: dict[str, str] = {}
    try:
        for variant in [*OURS, *THEIRS.values()]:
            try:
                workers[variant] = started_loop(variant)
            except Unmeasured as reason:
                missing[variant] = str(reason)
        for _ in range(repetitions):
            for variant, worker in list(workers.items()):
                try:
                    worker.measure()
                except Unmeasured as reason:
                    missing[variant] = str(reason)
                    workers.pop(variant).stop()
    finally:
        for worker in workers.values():
            worker.stop()
    return workers, missing


def report(repetitions: int = REPETITIONS) -> str:
    """Measure, and show the figures as Markdown.

    Raises:
        SystemExit: If the plain loop, which all others are compared with, cannot be measured.
    """
    workers, missing = measure(repetitions)
    if PLAIN not in workers:
        raise SystemExit(f"{PLAIN} could not be measured: {missing[PLAIN]}")
    sections = [_speed(workers), _verdicts(workers), _behaviour(workers), _packages()]
    if missing:
        sections.append("\n".join(f"- not measured: {variant}: {reason}" for variant, reason in missing.items()))
    sections.append(
        f"{machine()}; {PASSES} passes, {repetitions} repetitions, interleaved, a process for each variant. "
        "Microseconds of processor time and of wall time; the ratio is the median over runs made side by side."
    )
    return "\n\n".join(sections)


def _speed(workers: dict[str, Worker]) -> str:
    rows = [
        "| loop of two nodes | CPU us per pass, least | median | wall, least | median | times LangGraph |",
        "|---|---|---|---|---|---|",
    ]
    for name, worker in workers.items():
        cells = [f"{value:.0f}" for value in (*worker.per_pass(worker.cpu), *worker.per_pass(worker.wall))]
        rows.append(f"| {name} | {' | '.join(cells)} | {worker.times(workers[PLAIN]):.2f} |")
    return "\n".join(rows)


def _verdicts(workers: dict[str, Worker]) -> str:
    lines: list[str] = []
    for name in (EVENTS, BUDGET):
        if {name, BOUNDED} <= workers.keys():
            ratio = workers[name].times(workers[BOUNDED])
            met = "met" if ratio <= TARGET else "missed"
            lines.append(f"- {name}, against Loopwright without: {ratio:.2f}, at most {TARGET:.2f} is wanted: {met}")
    if {EVENTS, STREAMED} <= workers.keys():
        ratio = workers[EVENTS].times(workers[STREAMED])
        lines.append(f"- events, against plain LangGraph of which tasks, values and updates are streamed: {ratio:.2f}")
    return "\n".join([*lines, "- what a pass costs in steps of a plain node is measured by `engine_overhead.py`"])


def _behaviour(workers: dict[str, Worker]) -> str:
    rows = [
        "| when the bound is reached | | nobody bounds it by hand | worst case known before the run |",
        "|---|---|---|---|",
    ]
    for name in (PLAIN, BY_HAND, BOUNDED, *THEIRS.values()):
        if name in workers:
            told = workers[name].about
            rows.append(f"| {name} | {told['outcome']} | {told['alone'] or '-'} | {told['worst_case']} |")
    return "\n".join(rows)


def _packages() -> str:
    # LangGraph is the one of this environment, which may be newer than the table.
    here = version("langgraph")
    day = LANGGRAPH.released if here == LANGGRAPH.version else "-"
    listed = [Package("langgraph", here, day, LANGGRAPH.licence), *PEERS.values()]
    told = [f"{package.name} {package.version} ({package.released}, {package.licence})" for package in listed]
    return f"Versions, released, licence: {', '.join(told)}, loopwright {version('loopwright')}."


if __name__ == "__main__":
    main(TITLE, __doc__, report, REPETITIONS)
