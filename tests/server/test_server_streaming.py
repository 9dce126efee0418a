"""Events over the wire: all of them, in order, once; to clients that are slow, take nothing, leave, and come back."""

import asyncio
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
from scripted_server import DONE, events_of, read_all, script
from serving_program import PROGRAM, serving

from loopwright.runs.schemas import RunLimits
from loopwright.runs.store import KeptEvent, NewEvents, RunStore, open_runs
from loopwright.server.connections import Connection

STREAM = "/api/chat/stream"


async def test_events_come_with_ids_in_order_and_the_last_is_done(client):
    async with client.stream("POST", STREAM, json=script({"chunks": 3}, DONE)) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        assert response.headers["cache-control"] == "no-cache"
        run_id = response.headers["x-run-id"]
        events = [event async for event in events_of(response)]
    assert [event.id for event in events] == [f"{run_id}:{number}" for number in range(1, 5)]
    assert [event.name for event in events] == ["chunk", "chunk", "chunk", "done"]
    assert [event.data for event in events[:3]] == [{"text": "<0>"}, {"text": "<1>"}, {"text": "<2>"}]
    assert events[3].data == {"run_id": run_id, "referenced_ids": [], "status": "answered", "stop_reason": None}


async def test_any_text_arrives_as_it_was(client):
    odd = "data: no\n\nevent: no\nid: no"
    for text in ("two\nlines", "a\r\nb\rc", odd, "\u2028 \u0085 \x0b \x0c", "héllo 🤔 漢", "", " x "):
        events = await read_all(client, "POST", STREAM, json=script({"chunks": 2, "text": text}, DONE))
        assert [event.data.get("text") for event in events] == [text, text, None]


async def test_a_run_goes_on_when_its_client_vanishes_and_can_be_read_from_where_it_was_left(served, client):
    steps = script({"chunks": 5}, {"wait": "go"}, {"chunks": 5}, DONE)
    async with client.stream("POST", STREAM, json=steps) as response:
        events = events_of(response)
        read = [await anext(events) for _ in range(3)]
    assert served.record(read[0].run_id).status == "running"
    served.gates.opened.add("go")
    await until(lambda: served.ended(read[0].run_id))
    again = await read_all(client, "POST", STREAM, json=steps, headers={"Last-Event-ID": read[-1].id})
    assert [event.number for event in read + again] == list(range(1, 12))
    assert len(served.gates.asked) == 1, "coming back must not ask again"


async def test_a_last_event_id_that_is_none_is_refused(client):
    for given in ("", "no-colon", ":3", "run:", "run:x", "run:-1", "run:99999999999999"):
        reply = await client.post(STREAM, json=script(DONE), headers={"Last-Event-ID": given})
        assert (reply.status_code, reply.json()["error_type"]) == (400, "BadRequest"), given
        assert "RUN_ID:N" in reply.json()["error"]


async def test_an_unknown_run_is_not_found(served, client):
    for reply in (
        await client.get("/api/chat/runs/nobody/events"),
        await client.get("/api/chat/runs/nobody/events", headers={"Last-Event-ID": "nobody:1"}),
        await client.post(STREAM, json=script(DONE), headers={"Last-Event-ID": "nobody:1"}),
        await client.post("/runs/nobody/cancel"),
    ):
        assert reply.status_code == 404
        assert reply.json()["error_type"] == "UnknownRun"
        assert "nobody" in reply.json()["error"]
    assert not served.gates.asked


async def test_who_has_everything_is_told_to_stop_and_events_that_never_were_or_of_another_run_are_refused(client):
    one, other = [await read_all(client, "POST", STREAM, json=script({"chunks": 1}, DONE)) for _ in range(2)]
    url = f"/api/chat/runs/{one[0].run_id}/events"
    reply = await client.get(url, headers={"Last-Event-ID": one[-1].id})
    assert (reply.status_code, reply.content) == (204, b"")
    beyond = await client.get(url, headers={"Last-Event-ID": f"{one[0].run_id}:3"})
    assert beyond.status_code == 400
    assert "2 events so far" in beyond.json()["error"]
    mixed = await client.get(url, headers={"Last-Event-ID": other[0].id})
    assert mixed.status_code == 400
    assert other[0].run_id in mixed.json()["error"]


async def test_comments_keep_a_quiet_connection_alive(serve_script):
    served = serve_script(limits=RunLimits(keep_alive=0.05))
    comments: list[str] = []
    steps = script({"wait": "go"}, DONE)
    async with httpx.AsyncClient(base_url=served.url) as client, client.stream("POST", STREAM, json=steps) as response:

        async def read():
            return [event async for event in events_of(response, comments)]

        reading = asyncio.create_task(read())
        await until(lambda: len(comments) >= 3)
        served.gates.opened.add("go")
        assert [event.number for event in await reading] == [1]


async def test_a_client_that_reads_nothing_delays_neither_its_run_nor_others(served, client):
    big = {"chunks": 100, "size": 30_000}
    data = json.dumps(script(big, DONE)).encode()
    head = b"POST /api/chat/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    with connected(served.url, head + b"Content-Length: %d\r\n\r\n%s" % (len(data), data), buffer=4096):
        await until(lambda: served.gates.ended)
        (slow,) = served.gates.ended
        await until(lambda: served.ended(slow))
        others = [read_all(client, "POST", STREAM, json=script(big | {"size": 30}, DONE)) for _ in range(2)]
        for events in await asyncio.gather(*others):
            assert [event.number for event in events] == list(range(1, 102))
        # What the slow one did not take is there for whoever comes back.
        events = await read_all(client, "GET", f"/api/chat/runs/{slow}/events")
        assert [event.number for event in events] == list(range(1, 102))


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
