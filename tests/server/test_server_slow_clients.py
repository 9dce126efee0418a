"""What a client that takes nothing costs the server, and that it loses nothing when it is disconnected."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx
import pytest
from hosted_graphs import until
from listening import connected, listening, rest_of
from run_histories import a_run, shown
from scripted_server import read_all
from serving_program import PROGRAM, serving

from loopwright.runs.store import KeptEvent, NewEvents, RunStore, open_runs
from loopwright.server.connections import Connection

FOLLOWED = "/runs/big/events"


def keep_big(store: RunStore, *, events: int, characters: int) -> None:
    """Keep a run with large events."""
    store.create(a_run("big"), shown())
    for number in range(1, events + 1):
        data = json.dumps({"number": number, "text": "漢" + "x" * characters + "\u2028"}, ensure_ascii=False)
        store.write([], [NewEvents("big", "run", [KeptEvent(number, "told", data)])])


def most_memory(process: int) -> int:
    """The most memory that a process had so far, in megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))


@contextmanager
def silent(url: str, path: str, connection: str = "keep-alive") -> Iterator[socket.socket]:
    """A client that asks, and takes no more of the answer than its head and the beginning of its body."""
    sent = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {connection}\r\n\r\n".encode()
    with connected(url, sent, buffer=4096) as asking:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += asking.recv(1)
        # Something of the body is there once what follows it was written too, or waits to be.
        assert asking.recv(1, socket.MSG_PEEK)
        yield asking


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="tells the memory of a process only on Linux")
def test_clients_that_take_nothing_hold_little_of_the_servers_memory(tmp_path):
    with closing(open_runs(f"sqlite:{tmp_path / 'runs.db'}")) as store:
        keep_big(store, events=30, characters=500_000)
    with serving(PROGRAM, tmp_path, "assistant", "--data", ".") as (served, client):
        process, url = served.pid, str(client.base_url)
        client.get("/runs/big").raise_for_status()
        client.get("/openapi.json").raise_for_status()
        before = most_memory(process)
        with ExitStack() as clients:
            for _ in range(10):
                clients.enter_context(silent(url, FOLLOWED))
            client.get("/runs/big").raise_for_status()
            grown = most_memory(process) - before
    # An event of half a million wide characters takes a megabyte, and its beginning waits to be written.
    assert grown < 60, f"{grown} MB for ten clients"


async def test_who_was_disconnected_within_a_large_event_comes_back_and_misses_nothing(serve_script, monkeypatch):
    monkeypatch.setattr(Connection, "idle_seconds", 0.3)
    served = serve_script()
    keep_big(served.app.state.context.hub.store, events=4, characters=2_000_000)
    with silent(served.url, FOLLOWED) as asking:
        clients = served.app.state.context.metrics.streams
        await until(lambda: next(iter(clients.collect())).samples[0].value == 0)
        taken = rest_of(asking)
    assert not taken.endswith(b"0\r\n\r\n"), "an end of the body would say that this was all"
    complete = [line for line in taken.split(b"\n") if line.startswith(b"id: big:")]
    assert len(complete) < 4
    headers = {"Last-Event-ID": complete[-1].removeprefix(b"id: ").strip().decode()} if complete else {}
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as client:
        rest = await read_all(client, "GET", FOLLOWED, headers=headers)
    assert [event.number for event in rest] == list(range(len(complete) + 1, 5))
    assert all(event.data["text"] == "漢" + "x" * 2_000_000 + "\u2028" for event in rest)


async def generous(scope, receive, send):
    """An application that answers with more than any connection buffers."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x" * 50_000_000})


def hasty(seconds: float) -> type[Connection]:
    """Connections that wait for their clients as long as a test may, and tell when they ended."""

    class Hasty(Connection):
        idle_seconds = seconds
        over = threading.Event()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.over.set()

    return Hasty


@pytest.mark.parametrize("after", ["keep-alive", "close"])
def test_what_nobody_takes_is_thrown_away(after):
    connection = hasty(0.3)
    with listening(generous, connection) as url, silent(url, "/", after):
        # Long before the time for the next request's head is over.
        assert connection.over.wait(timeout=Connection.head_seconds / 2)


@pytest.mark.slow
def test_who_takes_something_now_and_then_gets_all_of_it():
    connection = hasty(1.0)
    with listening(generous, connection) as url, silent(url, "/") as asking:
        length = 0
        for _ in range(30):
            # More than the system's own buffers hold, so that the server sees that something was taken.
            for _ in range(40):
                length += len(asking.recv(65_536))
            assert not connection.over.wait(timeout=0.1)
