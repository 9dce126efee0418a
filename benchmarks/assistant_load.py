"""What the assistant's server bears: 500 streams at once for a minute, and 50 chats at once.

    python benchmarks/assistant_load.py [--write] [--streams 500] [--seconds 60] [--chats 50] [--schedule FILE]

The server is uvicorn on loopback in a process of its own; this process is all of its clients, over HTTP. First every
client opens a stream that brings an event every half second. Most read on; every tenth leaves at a random moment and
comes back with ``Last-Event-ID``; every twentieth leaves for good, and its run is read after its end; every twentieth
is slow: it takes large events through a small window, with a pause after each read. Every id that arrives is compared
with the one that must follow, so that a lost, a doubled and a misplaced event all end the benchmark. Then the real
assistant is asked, without a model; each chat is timed from its request to its first event and to the first piece of
its answer. All chats are asked at the same instant, so that they share the processor, and then over some seconds.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import statistics
import time
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from assistant_servers import PAUSE, Watched, serve_chats, serve_paced, server
from common import machine, write

TITLE = "The assistant's server under load"
SMALL, LARGE = 100, 4000
"""Characters of an event, and of one for a slow client."""
ROUNDS = 4
"""How often all chats are asked; the first round warms up."""
SPREAD = 5.0
"""Seconds over which the requests come where they do not come at once."""
EVENT_TARGET, CHUNK_TARGET = 100.0, 500.0
"""Milliseconds to a chat's first event and to the first piece of its answer, at the 95th percentile."""
QUESTIONS = (
    "What is there about databases?",
    "talks on Sunday afternoon",
    "Who speaks about security?",
    "Which exhibitors are there?",
    "something for beginners",
    "What is on at 14:00 on Saturday?",
    "an introduction to machine learning",
    "What should I see about testing, and who can I talk to?",
    "lightning talks about hardware",
    "underwater basket weaving",
)


@dataclass
class Tally:
    """What all streams brought together."""

    events: int = 0
    """Events that arrived, each with the id that had to follow."""
    kinds: Counter[str] = field(default_factory=Counter[str])
    """Kind of client -> how many were served whole."""
    delays: list[float] = field(default_factory=list[float])
    """Milliseconds from the making of an event to its arrival, at clients that only read."""
    together: int = 0
    """Streams that are open now."""
    most: int = 0
    """Streams that were open at once."""
    back: int = 0
    """How often a client came back."""


@dataclass
class Reader:
    """One client: what it has, and the checking of what comes."""

    tally: Tally
    """Where it counts."""
    count: int
    """Events that its stream must bring, the last one included."""
    run_id: str = ""
    """Its run."""
    number: int = 0
    """The last event that it has."""

    async def read(self, response: httpx.Response, *, leave_at: int | None = None, pause: float = 0.0) -> list[float]:
        """Read until the end, or leave after an event; the milliseconds that each event took.

        Raises:
            AssertionError: If an event is lost, doubled, or not where it belongs.
        """
        assert response.status_code == 200, response.status_code
        taken: list[float] = []
        data: dict[str, Any] = {}
        async for line in response.aiter_lines():
            if line.startswith("data: "):
                data = json.loads(line[6:])
            elif line.startswith("id: "):
                self.check(line[4:], data)
                if "at" in data:
                    taken.append((time.monotonic() - data["at"]) * 1000)
                if self.number == leave_at:
                    break
                if pause:
                    await asyncio.sleep(pause)
        return taken

    def check(self, event_id: str, data: dict[str, Any]) -> None:
        """Compare an event with the one that must follow.

        Raises:
            AssertionError: If they differ.
        """
        run_id, _colon, number = event_id.rpartition(":")
        self.run_id = self.run_id or run_id
        assert (run_id, int(number)) == (self.run_id, self.number + 1), f"{event_id} after {self.run_id}:{self.number}"
        assert data.get("number", self.count - 1) == self.number, f"{event_id} brings {data}"
        self.number += 1
        self.tally.events += 1

    def whole(self, kind: str) -> None:
        """Count it as served whole.

        Raises:
            AssertionError: If something is missing at the end.
        """
        assert self.number == self.count, f"run {self.run_id}: {self.number} of {self.count} events"
        self.tally.kinds[kind] += 1


def kind_of(index: int) -> str:
    """Which kind of client has this number."""
    return {5: "left and came back", 12: "left for good", 17: "slow", 15: "left and came back"}.get(
        index % 20, "read on"
    )


async def stream(clients: dict[str, httpx.AsyncClient], tally: Tally, index: int, events: int) -> None:
    """One client of the streams, from its request until it has every event."""
    kind, chance = kind_of(index), random.Random(index)
    client = clients["slow" if kind == "slow" else "other"]
    await asyncio.sleep(chance.uniform(0, 3))
    reader = Reader(tally, events + 1)
    body = {"message": json.dumps([events, LARGE if kind == "slow" else SMALL])}
    tally.together += 1
    tally.most = max(tally.most, tally.together)
    leave_at = chance.randint(1, events - 1) if kind.startswith("left") else None
    async with client.stream("POST", "/api/chat/stream", json=body) as response:
        pause = PAUSE * 1.2 if kind == "slow" else 0.0
        delays = await reader.read(response, leave_at=leave_at, pause=pause)
    if kind == "read on":
        tally.delays += delays
    if leave_at is not None:
        gone = chance.uniform(0, 2) if kind == "left and came back" else PAUSE * (events - leave_at) + 3
        await asyncio.sleep(gone)
        tally.back += 1
        headers = {"Last-Event-ID": f"{reader.run_id}:{reader.number}"}
        url = f"/api/chat/runs/{reader.run_id}/events"
        how: Any = ("GET", url) if chance.random() < 0.5 else ("POST", "/api/chat/stream")
        async with client.stream(*how, json=body if how[0] == "POST" else None, headers=headers) as response:
            await reader.read(response)
    tally.together -= 1
    reader.whole(kind)


def clients_of(url: str) -> dict[str, httpx.AsyncClient]:
    """Clients without a bound on their connections, and slow ones whose window is small."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    small = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)]
    options: dict[str, Any] = {"base_url": url, "timeout": 60, "trust_env": False}
    return {
        "other": httpx.AsyncClient(limits=limits, **options),
        "slow": httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(limits=limits, socket_options=small), **options),
    }


async def streams(watched: Watched, count: int, seconds: float) -> str:
    """Hold all streams, and show what they brought as Markdown."""
    clients, tally, events = clients_of(watched.url), Tally(), int(seconds / PAUSE)
    memory, cpu, began = [watched.megabytes()], watched.cpu_seconds(), time.monotonic()
    going = [asyncio.create_task(stream(clients, tally, index, events)) for index in range(count)]
    while pending := [task for task in going if not task.done()]:
        await asyncio.wait(pending, timeout=1, return_when=asyncio.FIRST_EXCEPTION)
        memory.append(watched.megabytes())
        for task in going:
            if task.done():
                task.result()
    took = time.monotonic() - began
    cpu = watched.cpu_seconds() - cpu
    for client in clients.values():
        await client.aclose()
    await asyncio.sleep(2)
    memory.append(watched.megabytes())
    kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(tally.kinds.items()))
    rate = tally.events / took
    rows = [
        "| streams | figure |",
        "|---|---|",
        f"| open at once | {tally.most} of {count}, {seconds:g} s each |",
        f"| clients served whole | {sum(tally.kinds.values())}: {kinds} |",
        f"| events, each compared with the one that had to follow | {tally.events:,} ({rate:,.0f} a second) |",
        f"| lost / doubled | 0 / 0 ({tally.back} times somebody came back) |",
        f"| from the making of an event to its arrival | {spread(tally.delays)} ms |",
        f"| server's memory before / most / after | {memory[0]:.0f} / {max(memory):.0f} / {memory[-1]:.0f} MB |",
        f"| server's processor time | {cpu:.1f} s of {took:.0f} s |",
    ]
    return "\n".join(rows)


@dataclass
class Times:
    """When something first came, in milliseconds since the request."""

    event: float = 0.0
    """The first event."""
    chunk: float = 0.0
    """The first piece of the answer."""
    end: float = 0.0
    """The end of the stream."""
    last: str = ""
    """The last event's tag."""


async def chat(address: httpx.URL, question: str, ready: asyncio.Barrier, wait: float) -> Times:
    """Ask one question once all clients are connected and some seconds have passed, and time what comes.

    The request is written by hand: a client library takes longer to make 50 of them than the server to answer.
    """
    body = json.dumps({"message": question}).encode()
    reader, writer = await asyncio.open_connection(address.host, address.port)
    async with ready:
        pass
    await asyncio.sleep(wait)
    began, times = time.monotonic(), Times()
    writer.write(
        b"POST /api/chat/stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    async for line in reader:
        if line.startswith(b"event: "):
            times.end, times.last = (time.monotonic() - began) * 1000, line[7:].decode().strip()
            times.event = times.event or times.end
            if times.last == "chunk":
                times.chunk = times.chunk or times.end
    writer.close()
    return times


async def chats(watched: Watched, count: int, over: float) -> str:
    """Ask all chats within some seconds, some rounds of them, and show the times as Markdown."""
    address, found = httpx.URL(watched.url), list[Times]()
    await chat(address, QUESTIONS[0], asyncio.Barrier(1), 0.0)
    memory = watched.megabytes()
    for number in range(ROUNDS):
        ready = asyncio.Barrier(count)
        questions = [QUESTIONS[index % len(QUESTIONS)] for index in range(count)]
        asked = [chat(address, each, ready, over * index / count) for index, each in enumerate(questions)]
        times = await asyncio.gather(*asked)
        found += times if number else []
    when = f"within {over:g} s" if over else "at the same instant"
    ends = Counter(times.last for times in found)
    event, chunk = [times.event for times in found], [times.chunk for times in found if times.chunk]
    rows = [
        f"| {count} chats asked {when}, {len(found)} in all | ms | target at p95 | |",
        "|---|---|---|---|",
        f"| to the first event | {spread(event)} | {EVENT_TARGET:g} | {met(event, EVENT_TARGET)} |",
        f"| to the first piece of the answer | {spread(chunk)} | {CHUNK_TARGET:g} | {met(chunk, CHUNK_TARGET)} |",
        f"| to the end | {spread([times.end for times in found])} | | |",
        "",
        f"Ended with: {', '.join(f'{name} {number}' for name, number in ends.most_common())}; with an answer: "
        f"{len(chunk)}. Server's memory before / after: {memory:.0f} / {watched.megabytes():.0f} MB.",
    ]
    return "\n".join(rows)


def spread(values: list[float]) -> str:
    """Median, 95th and 99th percentile in words."""
    if len(values) < 2:
        return "-"
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return f"p50 {cuts[49]:.1f}, p95 {cuts[94]:.1f}, p99 {cuts[98]:.1f}"


def met(values: list[float], target: float) -> str:
    """Whether the 95th percentile reaches its target."""
    reached = len(values) > 1 and statistics.quantiles(values, n=20, method="inclusive")[18] <= target
    return "met" if reached else "missed"


def report(given: Namespace) -> str:
    """Run both parts, and show the figures as Markdown."""
    with server(serve_paced) as watched:
        held = asyncio.run(streams(watched, given.streams, given.seconds))
    with server(serve_chats, given.schedule) as watched:
        at_once = asyncio.run(chats(watched, given.chats, 0.0))
        spread_out = asyncio.run(chats(watched, given.chats, SPREAD))
    conference = Path(given.schedule).name if given.schedule else "the sample conference"
    about = (
        f"{machine()}; uvicorn and its clients on loopback, a process each, on the same CPUs. The streams' events come "
        f"every {PAUSE:g} s; the chats are the real assistant over {conference}, without a model."
    )
    return "\n\n".join([held, at_once, spread_out, about])


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the tables into benchmarks/RESULTS.md")
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--schedule", help="the conference's schedule; by default the sample conference")
    given = parser.parse_args()
    section = report(given)
    print(section)
    if given.write:
        write(TITLE, section)


if __name__ == "__main__":
    main()
