"""How runs end, how much they may hold, and how long they are kept."""

import asyncio
import logging

import httpx
from scripted_server import DONE, events_of, read_all, script

from loopwright.runs.schemas import RunLimits

STREAM = "/api/chat/stream"


async def test_a_cancelled_run_ends_at_once_and_says_so_to_every_reader(served, client):
    async with client.stream("POST", STREAM, json=script({"chunks": 2}, {"wait": "never"}, DONE)) as response:
        events = events_of(response)
        first = await anext(events)
        reply = await client.post(f"/runs/{first.run_id}/cancel")
        assert (reply.json()["id"], reply.json()["status"]) == (first.run_id, "cancelled")
        assert served.gates.ended == [first.run_id], "what the run holds must be let go"
        rest = [event async for event in events]
    assert [(event.number, event.name) for event in rest] == [(2, "chunk"), (3, "error")]
    assert rest[-1].data == {"error": "the run was cancelled", "error_type": "Cancelled", "can_retry": True}
    assert await read_all(client, "GET", f"/api/chat/runs/{first.run_id}/events") == [first, *rest]


RAISED = {
    "input": (400, "InputError", False, "the message makes no sense"),
    "store": (503, "StoreError", True, "the database is away"),
    "node": (503, "NodeFailed", True, "node 'plan_queries' failed on attempt 1: it broke"),
    "unforeseen": (500, "InternalError", False, "something went wrong inside the server: its log says what"),
}


async def test_a_run_that_raises_ends_with_an_error_and_what_nobody_foresaw_stands_in_the_log_alone(client, caplog):
    caplog.set_level(logging.INFO)
    for raised, (status, kind, can_retry, told) in RAISED.items():
        reply = await client.post("/api/chat", json=script({"raise": raised}))
        assert (reply.status_code, reply.json()["error_type"]) == (status, kind), reply.text
        assert set(reply.json()) > {"error", "error_type", "can_retry"}
        assert "hunter2" not in reply.text and "Traceback" not in reply.text
        caplog.clear()
        events = await read_all(client, "POST", STREAM, json=script({"chunks": 1}, {"raise": raised}))
        assert [event.name for event in events] == ["chunk", "error"]
        assert events[-1].data == {"error": told, "error_type": kind, "can_retry": can_retry}
    (record,) = [record for record in caplog.records if record.name == "loopwright.runs.driving"]
    assert events[0].run_id in record.getMessage()
    assert "hunter2" in str(record.exc_info[1])


async def test_runs_beyond_the_limit_wait_their_turn_whoever_asks(serve_script):
    served = serve_script(limits=RunLimits(running=2, queued=3))
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=served.url, timeout=30, limits=limits) as client:
        steps = script({"wait": "go"}, DONE)
        going = [asyncio.create_task(read_all(client, "POST", STREAM, json=steps)) for _ in range(4)]
        going.append(asyncio.create_task(client.post("/api/chat", json=steps)))
        async with asyncio.timeout(30):
            while len(served.gates.asked) < 2 or (await client.get("/runs?status=queued")).json()["total"] < 3:
                await asyncio.sleep(0.01)
        assert len(served.gates.asked) == 2
        for url in (STREAM, "/api/chat"):  # even a line has an end
            reply = await client.post(url, json=steps)
            assert reply.status_code == 503
            assert reply.headers["retry-after"] == "5"
            assert (reply.json()["error_type"], reply.json()["can_retry"]) == ("Busy", True)
        served.gates.opened.add("go")
        *streams, reply = await asyncio.gather(*going)
        assert [events[-1].name for events in streams] == ["done"] * 4
        assert reply.status_code == 200
        ended = await client.post(f"/runs/{streams[0][0].run_id}/cancel")
        assert ended.json()["status"] == "finished", "one that has ended stays as it is"
    assert len(served.gates.asked) == 5
