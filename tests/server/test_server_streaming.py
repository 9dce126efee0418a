"""Events over the wire: all of them, in order, once; to clients that are slow, leave, and come back."""

from __future__ import annotations

import asyncio
import json

import httpx
from hosted_graphs import until
from listening import connected
from scripted_server import DONE, events_of, read_all, script

from loopwright.runs.schemas import RunLimits

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


async def test_an_event_is_sent_while_the_run_still_goes_on(served, client):
    async with client.stream("POST", STREAM, json=script({"chunks": 1}, {"wait": "go"}, DONE)) as response:
        events = events_of(response)
        first = await anext(events)
        assert first.name == "chunk"
        assert served.record(first.run_id).status == "running"
        served.gates.opened.add("go")
        assert (await anext(events)).name == "done"


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


async def test_an_event_source_that_has_everything_is_told_to_stop(client):
    first = await read_all(client, "POST", STREAM, json=script({"chunks": 3}, DONE))
    url = f"/api/chat/runs/{first[0].run_id}/events"
    reply = await client.get(url, headers={"Last-Event-ID": first[-1].id})
    assert (reply.status_code, reply.content) == (204, b"")


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


async def test_an_event_that_never_was_and_an_event_of_another_run_are_refused(client):
    one, other = [await read_all(client, "POST", STREAM, json=script({"chunks": 1}, DONE)) for _ in range(2)]
    url = f"/api/chat/runs/{one[0].run_id}/events"
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
        others = [read_all(client, "POST", STREAM, json=script(big, DONE)) for _ in range(2)]
        for events in await asyncio.gather(*others):
            assert [event.number for event in events] == list(range(1, 102))
        # What the slow one did not take is there for whoever comes back.
        events = await read_all(client, "GET", f"/api/chat/runs/{slow}/events")
        assert [event.number for event in events] == list(range(1, 102))
