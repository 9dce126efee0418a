"""Two hundred runs at once, the same request twice, and a restart while runs wait: real servers on loopback."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from hosted_graphs import until
from hosts import Hosts, Process, hosts, record
from scripted_server import DONE, script

from loopwright.runs.schemas import RunLimits

KEY = "8e03978e-40d5-43dd-bc93-6894a57f932"


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Hosts]:
    """Servers that keep everything in one folder, one after another."""
    with hosts(tmp_path, "") as made:
        yield made


def begin(server: Process, number: int, hold: str = "", **headers: str) -> httpx.Response:
    body = {"workflow": "own-graph", "input": {"name": str(number), "hold": hold}}
    return server.client.post("/runs", json=body, headers={name.replace("_", "-"): it for name, it in headers.items()})


@pytest.mark.slow
async def test_many_runs_at_once_end_in_order_and_none_is_refused(alone: Hosts) -> None:
    count = 200
    server = alone.server("--max-running", "1", alone=True)
    replies = [begin(server, number) for number in range(count)]
    assert {reply.status_code for reply in replies} == {201}
    ids = [reply.json()["id"] for reply in replies]
    async with asyncio.timeout(120):
        while server.client.get("/runs", params={"status": "finished", "limit": 1}).json()["total"] < count:
            await asyncio.sleep(0.2)
    ended = [record(server, run_id)["ended_at"] for run_id in ids]
    assert alone.names() == [*map(str, range(count))]
    assert ended == sorted(ended)


@pytest.mark.matrix
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_runs_that_wait_survive_a_restart(how: signal.Signals, alone: Hosts) -> None:
    server = alone.server("--max-running", "1", alone=True)
    held = [begin(server, number, "look#0", Idempotency_Key=f'"{KEY}{number}"') for number in range(4)]
    ids = [reply.json()["id"] for reply in held]
    await until(lambda: alone.names() == ["0"])
    assert [record(server, run_id)["status"] for run_id in ids] == ["running", "queued", "queued", "queued"]
    assert server.client.get("/runs", params={"status": "queued"}).json()["total"] == 3
    assert server.client.post(f"/runs/{ids[2]}/cancel").json()["status"] == "cancelled"
    server.signal(how)
    alone.go("look#0")
    server.popen.wait(timeout=60)
    server = alone.server("--max-running", "1", alone=True)
    await until(lambda: record(server, ids[3])["status"] == "finished", 0.05)
    assert [record(server, run_id)["status"] for run_id in ids] == ["finished", "finished", "cancelled", "finished"]
    assert begin(server, 1, "look#0", Idempotency_Key=f"{KEY}1").json()["id"] == ids[1], "the same key, the same run"
    assert alone.names() == ["0", "1", "3"]


async def test_many_at_once_with_one_key_begin_one_run(serve_script) -> None:
    served = serve_script(limits=RunLimits(running=1))
    body = {"workflow": "assistant", "input": {"message": "[]"}}
    async with httpx.AsyncClient(base_url=served.url, timeout=30, trust_env=False) as client:
        replies = await asyncio.gather(
            *(client.post("/runs", json=body, headers={"Idempotency-Key": "one"}) for _ in range(20))
        )
        assert {reply.status_code for reply in replies} <= {201, 409}
        (first,) = {reply.json()["id"] for reply in replies if reply.status_code == 201}
        assert all(reply.headers["retry-after"] for reply in replies if reply.status_code == 409)
        assert (await client.get("/runs")).json()["total"] == 1
        for key, message, status in (("one", "[1]", 422), ("", "[]", 400), ("x" * 256, "[]", 400), ("two", "[]", 201)):
            other = {"workflow": "assistant", "input": {"message": message}}
            reply = await client.post("/runs", json=other, headers={"Idempotency-Key": f'"{key}"'})
            assert (reply.status_code, first in (reply.json()["error"] or "")) == (status, status == 422)
        asked = {"url": "/workflows/assistant/run", "json": script(DONE), "headers": {"Idempotency-Key": "whole"}}
        whole = [(await client.post(**asked)).json() for _ in range(2)]
        assert whole[0]["status"] == "finished" and whole[0] == whole[1]
        await until(lambda: served.ended(first))
        await client.delete(f"/runs/{first}")
        other = {"workflow": "assistant", "input": {"message": "[1]"}}
        assert (await client.post("/runs", json=other, headers={"Idempotency-Key": "one"})).status_code == 201
