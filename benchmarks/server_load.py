"""What `loopwright serve` bears: 200 runs that stream at once, long logs, long lists, and how soon it is there.

    python benchmarks/server_load.py [--write] [--quick]

The server is a process of its own on loopback; this process is all of its clients, over HTTP. Live: every run is begun
by one client and followed by another one, event by event; every tenth follower leaves on the way and comes back with
``Last-Event-ID``. Each id is compared with the one that must follow: a lost, a doubled and a misplaced event all end
the benchmark. The delay of an event is the time from its own time stamp until the follower has it: that holds the
server's writing to disk, as no event is shown before it is kept. Flat out: the same runs without a pause and without
followers. Then the server is asked for a long log and for parts of a long list, one request after the other. Burr's
tracker and its server, which keep and list runs in files of the same machine, do what they can of the same.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from assistant_servers import Watched, server
from common import machine, main
from peers import WORKERS, Package, Unmeasured, environment, last_line
from server_served import LONG, WORDS, fill, serve_history

TITLE = "The server and its run history"
BURR = Package("apache-burr[tracking-server]", "0.42.0", "2026-05-10", "Apache-2.0")


@dataclass(frozen=True)
class Size:
    """How much is asked of the server."""

    runs: int
    """Runs at once."""
    ticks: int
    """Ticks of each."""
    pause: float
    """Seconds between two ticks of a run."""
    events: int
    """Events of the long run."""
    history: int
    """Runs of the history."""
    requests: int
    """Requests of each kind."""


FULL = Size(runs=200, ticks=15, pause=4.0, events=5000, history=10_000, requests=200)
QUICK = Size(runs=50, ticks=8, pause=2.0, events=5000, history=1_000, requests=40)


@dataclass
class Seen:
    """What the followers saw."""

    events: int = 0
    """Events, each with the number that had to follow."""
    back: int = 0
    """How often a follower came back."""
    delays: list[float] = field(default_factory=list[float])
    """Milliseconds from each event's time stamp to its arrival, of followers that never left."""


async def follow(address: httpx.URL, run_id: str, seen: Seen, leave_at: int | None) -> int:
    """Follow a run to its end; the number of its last event.

    Raises:
        AssertionError: If an event is lost, doubled, or not where it belongs.
    """
    number = await _follow_once(address, run_id, seen, 0, leave_at)
    if leave_at is not None:
        await asyncio.sleep(random.Random(run_id).uniform(0, 2))
        seen.back += 1
        number = await _follow_once(address, run_id, seen, number, None)
    return number


async def _follow_once(address: httpx.URL, run_id: str, seen: Seen, after: int, leave_at: int | None) -> int:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    last = f"Last-Event-ID: {run_id}:{after}\r\n" if after else ""
    writer.write(f"GET /runs/{run_id}/events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{last}\r\n".encode())
    number, at = after, b""
    # The server sends whole events, so no line is cut by the framing of the reply.
    async for line in reader:
        if line.startswith(b'data: {"at":"'):
            at = line[13:].partition(b'"')[0]
        elif line.startswith(b"id: "):
            got = int(line.rpartition(b":")[2])
            assert got == number + 1, f"run {run_id}: event {got} after {number}"
            number, seen.events = got, seen.events + 1
            if after == 0 and leave_at is None:
                seen.delays.append((time.time() - datetime.fromisoformat(at.decode()).timestamp()) * 1000)
            if number == leave_at:
                break
    writer.close()
    return number


async def live(watched: Watched, size: Size, *, followed: bool) -> dict[str, Any]:
    """Begin all runs within two seconds, and see them to their end."""
    address, seen = httpx.URL(watched.url), Seen()
    memory, cpu = [watched.megabytes()], watched.cpu_seconds()
    limits = httpx.Limits(max_connections=20)
    async with httpx.AsyncClient(base_url=watched.url, timeout=120, trust_env=False, limits=limits) as client:
        given = {"count": size.ticks, "pause": size.pause if followed else 0.0}
        began = time.monotonic()

        async def one(index: int) -> tuple[str, int]:
            await asyncio.sleep(2.0 * index / size.runs)
            reply = await client.post("/runs", json={"workflow": "ticker", "input": given})
            assert reply.status_code == 201, reply.text
            run_id = reply.json()["id"]
            leave_at = size.ticks * 3 if index % 10 == 5 else None
            return run_id, await follow(address, run_id, seen, leave_at) if followed else 0

        going = [asyncio.create_task(one(index)) for index in range(size.runs)]
        while pending := [task for task in going if not task.done()]:
            await asyncio.wait(pending, timeout=1, return_when=asyncio.FIRST_EXCEPTION)
            memory.append(watched.megabytes())
            for task in going:
                if task.done():
                    task.result()
        kept = await _ended(client, [task.result()[0] for task in going])
        took = time.monotonic() - began
        if followed:
            assert kept == {task.result()[0]: task.result()[1] for task in going}, "events are missing at the end"
    return {
        "events": sum(kept.values()), "took": took, "cpu": watched.cpu_seconds() - cpu, "memory": memory, "seen": seen,
    }  # fmt: skip


async def _ended(client: httpx.AsyncClient, run_ids: Sequence[str]) -> dict[str, int]:
    """Wait until all runs have ended; run -> its events.

    Raises:
        AssertionError: If one did not finish.
    """
    kept: dict[str, int] = {}
    while len(kept) < len(run_ids):
        for run_id in run_ids:
            if run_id not in kept:
                run = (await client.get(f"/runs/{run_id}")).json()
                assert run["status"] in ("queued", "running", "finished"), run
                if run["status"] != "finished":
                    await asyncio.sleep(0.2)
                    break
                kept[run_id] = run["events"]
    return kept


def asked(url: str, paths: Sequence[str], count: int) -> list[float]:
    """Milliseconds of requests, one after the other.

    Raises:
        HTTPStatusError: If one is refused.
    """
    taken: list[float] = []
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        client.get(paths[0]).raise_for_status()
        for number in range(count):
            began = time.perf_counter()
            client.get(paths[number % len(paths)]).raise_for_status()
            taken.append((time.perf_counter() - began) * 1000)
    return taken


def pages(url: str, count: int) -> list[str]:
    """The addresses of the first parts of the list, as somebody would turn them over."""
    paths = ["/runs?limit=50"]
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        while len(paths) < count and (before := client.get(paths[-1]).json()["next"]):
            paths.append(f"/runs?limit=50&before={before}")
    return paths


def cold_start(folder: Path) -> tuple[float, float, float]:
    """Seconds until `loopwright serve` serves its page, until it lists the runs, and of the processor.

    Raises:
        Unmeasured: If it ends, or an answer is none.
    """
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = str(Path(sys.executable).with_name("loopwright"))
    command = [program, "serve", "--port", str(port), "--data", str(folder)]
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as empty:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(command, cwd=empty, **quiet)
        watched = Watched(f"http://127.0.0.1:{port}", process.pid)
        try:
            while True:
                try:
                    httpx.get(f"{watched.url}/", trust_env=False, timeout=120).raise_for_status()
                    break
                except httpx.ConnectError:
                    if process.poll() is not None:
                        raise Unmeasured("loopwright serve ended by itself") from None
                    time.sleep(0.01)
            page = time.perf_counter() - began
            httpx.get(f"{watched.url}/runs", trust_env=False, timeout=120).raise_for_status()
            return page, time.perf_counter() - began, watched.cpu_seconds()
        finally:
            process.kill()
            process.wait()


def burr(size: Size) -> dict[str, Any]:
    """What Burr's tracker and server take for the same.

    Raises:
        Unmeasured: If it cannot be installed or fails.
    """
    python = environment(BURR)
    with tempfile.TemporaryDirectory() as folder:
        command = [
            str(python),
            str(WORKERS / "burr_history.py"),
            folder,
            str(size.history),
            str(max(5, size.requests // 20)),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unmeasured(last_line(done.stderr))
    return json.loads(done.stdout.strip().splitlines()[-1])


def spread(values: Sequence[float]) -> str:
    """Median and 95th percentile in words."""
    cuts = statistics.quantiles(values, n=20, method="inclusive")
    return f"p50 {cuts[9]:,.1f}, p95 {cuts[18]:,.1f}"


def report(size: Size) -> str:
    """Measure everything, and show the figures as Markdown."""
    with tempfile.TemporaryDirectory() as folder, server(serve_history, folder) as watched:
        shown = asyncio.run(live(watched, size, followed=True))
        flat = asyncio.run(live(watched, size, followed=False))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        fill(Path(folder), size.history, size.events)
        filled = time.perf_counter() - began
        with server(serve_history, folder) as watched:
            log = asked(watched.url, [f"/runs/{LONG}/log?limit=5000"], max(20, size.requests // 10))
            first = asked(watched.url, ["/runs?limit=50"], size.requests)
            turned = asked(watched.url, pages(watched.url, 20), size.requests)
            found = asked(watched.url, [f"/runs?limit=50&text={one}+{WORDS[0]}" for one in WORDS], size.requests)
        page, listed, cpu = cold_start(Path(folder))
    seen = shown["seen"]
    rows = [
        f"| {size.runs} runs at once, {size.ticks} ticks of {size.pause:g} s each, every run followed | |",
        "|---|---|",
        f"| events seen, each compared with the one that had to follow | {seen.events:,} |",
        f"| lost / doubled | 0 / 0 ({seen.back} followers left and came back) |",
        f"| events a second | {shown['events'] / shown['took']:,.0f} |",
        f"| from an event's happening to its being seen, kept before | {spread(seen.delays)} ms |",
        f"| server's processor time | {shown['cpu']:.1f} s of {shown['took']:.0f} s, {_per_event(shown)} |",
        f"| server's memory before / most | {shown['memory'][0]:.0f} / {max(shown['memory']):.0f} MB |",
        f"| the same without pauses and followers: events kept a second | {flat['events'] / flat['took']:,.0f}, "
        f"{_per_event(flat)} |",
        "",
        f"| one request after the other, {size.history:,} runs kept | ms |",
        "|---|---|",
        f"| the log of a run with {size.events:,} events | {spread(log)} |",
        f"| the first 50 runs | {spread(first)} |",
        f"| 50 runs, the first 20 parts turned over | {spread(turned)} |",
        f"| 50 runs that two words are searched in | {spread(found)} |",
        f"| from the command's beginning to its page / to the list of runs | {page * 1e3:,.0f} / {listed * 1e3:,.0f}, "
        f"of the processor {cpu * 1e3:,.0f} |",
        "",
        *_peer(size, filled, first),
        "",
        f"{machine()}; the server and its clients on the same CPUs; SQLite. A cold start is `loopwright serve` in an "
        "empty folder, with the three workflows on their samples. LangGraph's own development server was not measured: "
        "what it keeps does not outlive it.",
    ]  # fmt: skip
    return "\n".join(rows)


def _per_event(measured: dict[str, Any]) -> str:
    return f"{measured['cpu'] / measured['events'] * 1000:.2f} ms of the processor for each event"


def _peer(size: Size, filled: float, first: Sequence[float]) -> list[str]:
    head = [
        f"| {size.history:,} short runs kept, then listed | seconds to keep them | first 50 of the list, ms |",
        "|---|---|---|",
        f"| Loopwright's history alone: two transactions for each run | {filled:.1f} | {spread(first)} |",
    ]
    name = f"Burr {BURR.version}: three steps run and tracked"
    try:
        theirs = burr(size)
    except Unmeasured as reason:
        return [*head, f"| {name} | not measured: {reason} | |"]
    return [*head, f"| {name} | {theirs['seconds']:.1f} | {spread(theirs['list'])} |"]


if __name__ == "__main__":
    main(TITLE, __doc__, report, FULL, QUICK)
