"""What the assistant's server bears: 50 chats at once, and 500 that are open together.

    python benchmarks/assistant_load.py [--write] [--chats 50] [--streams 500] [--schedule FILE]

The server is the one of `loopwright serve` with the real assistant and without a model, in a process of its own, but
that it works on 1,000 runs at a time instead of 100 and limits no client's requests. This process is all of its
clients, over HTTP. Each chat is timed from its request to its first event and to the first piece of its
answer. All chats are asked at the same instant, so that they share the processor, and then over some seconds; last come
so many that their streams are open together. Of every stream each id is compared with the one that must follow, so that
a lost, a doubled and a misplaced event all end the benchmark. Runs that last longer are streamed in `server_load.py`.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path

import httpx
from assistant_servers import Watched, serve_chats, server
from common import arguments, finish, machine

TITLE = "The assistant's server under load"
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
    events: int = 0
    """Events that came, each with the id that had to follow."""


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
        elif line.startswith(b"id: "):
            number = int(line.rpartition(b":")[2])
            assert number == times.events + 1, f"event {number} after {times.events}"
            times.events = number
    writer.close()
    assert times.last == "done", f"a chat ended with {times.last or 'nothing'}"
    return times


async def chats(watched: Watched, count: int, over: float, rounds: int = ROUNDS) -> str:
    """Ask all chats within some seconds, some rounds of them, and show the times as Markdown.

    Raises:
        AssertionError: If an event is lost, doubled or misplaced, or a chat does not end with "done".
    """
    address, found = httpx.URL(watched.url), list[Times]()
    await chat(address, QUESTIONS[0], asyncio.Barrier(1), 0.0)
    memory = watched.megabytes()
    for number in range(rounds):
        ready = asyncio.Barrier(count)
        questions = [QUESTIONS[index % len(QUESTIONS)] for index in range(count)]
        asked = [chat(address, each, ready, over * index / count) for index, each in enumerate(questions)]
        times = await asyncio.gather(*asked)
        found += times if number or rounds == 1 else []
    when = f"within {over:g} s" if over else "at the same instant"
    event, chunk = [times.event for times in found], [times.chunk for times in found if times.chunk]
    rows = [
        f"| {count} chats asked {when}, {len(found)} in all | ms | target at p95 | |",
        "|---|---|---|---|",
        f"| to the first event | {spread(event)} | {EVENT_TARGET:g} | {met(event, EVENT_TARGET)} |",
        f"| to the first piece of the answer | {spread(chunk)} | {CHUNK_TARGET:g} | {met(chunk, CHUNK_TARGET)} |",
        f"| to the end | {spread([times.end for times in found])} | | |",
        "",
        f"All ended with done, {len(chunk)} with an answer; of {sum(times.events for times in found):,} events none "
        f"was lost or doubled. Server's memory before / after: {memory:.0f} / {watched.megabytes():.0f} MB.",
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
    """Ask in all ways, and show the figures as Markdown."""
    with server(serve_chats, given.schedule) as watched:
        tables = [
            asyncio.run(chats(watched, given.chats, 0.0)),
            asyncio.run(chats(watched, given.chats, SPREAD)),
            asyncio.run(chats(watched, given.streams, 0.0, rounds=1)),
        ]
    conference = Path(given.schedule).name if given.schedule else "the sample conference"
    about = (
        f"{machine()}; the server (1,000 runs at a time, no limits on requests) and its clients on loopback, a process "
        f"each, on the same CPUs, over {conference}, without a model."
    )
    return "\n\n".join([*tables, about])


def main() -> None:
    """Measure, print, and write if asked to."""
    parser = arguments(__doc__)
    parser.add_argument("--chats", type=int, default=50)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--schedule", help="the conference's schedule; by default the sample conference")
    given = parser.parse_args()
    finish(TITLE, report(given), given.write)


if __name__ == "__main__":
    main()
