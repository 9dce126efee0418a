"""Two hundred runs at once, the same request twice, and a restart while runs wait: real servers on loopback."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hosted_graphs import until
from serving_program import PROGRAM
from serving_program import serving as serving_program

from loopwright.runs.schemas import RunLimits

OWN = """
import time
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from loopwright import bounded

class State(TypedDict, total=False):
    number: int
    wait: str
    answer: str

def work(state):
    from pathlib import Path
    with open("begun", "a") as file:
        file.write(f"{state['number']}\\n")
    while state.get("wait") and not Path(state["wait"]).exists():
        time.sleep(0.01)
    return {"answer": f"number {state['number']}"}

builder = StateGraph(State)
builder.add_node("work", work)
builder.add_edge(START, "work")
builder.add_edge("work", END)
graph = bounded(builder)
"""


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """`loopwright serve` as a process of its own, with a graph that waits for files."""
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    with serving_program(PROGRAM, folder, "own.py:graph", "--data", "kept", *options) as served:
        yield served


def begin(client: httpx.Client, number: int, wait: str = "", **headers: str) -> httpx.Response:
    body = {"workflow": "own-graph", "input": {"number": number, "wait": wait}}
    return client.post("/runs", json=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def status(client: httpx.Client, run_id: str) -> str:
    return client.get(f"/runs/{run_id}").json()["status"]


def begun(folder: Path) -> list[int]:
    file = folder / "begun"
    return [int(line) for line in file.read_text().split()] if file.exists() else []


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
async def test_many_runs_at_once_end_in_order_and_none_is_refused(count: int, tmp_path: Path) -> None:
    with serving(tmp_path, "--max-running", "1") as (_process, client):
        replies = [begin(client, number) for number in range(count)]
        assert {reply.status_code for reply in replies} == {201}
        ids = [reply.json()["id"] for reply in replies]
        async with asyncio.timeout(120):
            while client.get("/runs", params={"status": "finished", "limit": 1}).json()["total"] < count:
                await asyncio.sleep(0.2)
        ended = [client.get(f"/runs/{run_id}").json()["ended_at"] for run_id in ids]
        assert begun(tmp_path) == [*range(count)]
        assert ended == sorted(ended)


@pytest.mark.matrix
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_runs_that_wait_survive_a_restart(how: signal.Signals, tmp_path: Path) -> None:
    with serving(tmp_path, "--max-running", "1") as (process, client):
        ids = [begin(client, number, "go").json()["id"] for number in range(4)]
        await until(lambda: begun(tmp_path) == [0])
        assert [status(client, run_id) for run_id in ids] == ["running", "queued", "queued", "queued"]
        assert client.get("/runs", params={"status": "queued"}).json()["total"] == 3
        assert client.post(f"/runs/{ids[2]}/cancel").json()["status"] == "cancelled"
        process.send_signal(how)
        (tmp_path / "go").touch(exist_ok=True)
        process.wait(timeout=60)
    with serving(tmp_path, "--max-running", "1") as (_process, client):
        await until(lambda: status(client, ids[3]) == "finished")
        found = [status(client, run_id) for run_id in ids]
        assert found == ["finished", "finished", "cancelled", "finished"]
    assert [number for number in begun(tmp_path) if number] == [1, 3]


async def test_the_same_key_gives_the_same_run(tmp_path: Path) -> None:
    with serving(tmp_path, "--max-running", "1") as (process, client):
        first = begin(client, 1, Idempotency_Key='"8e03978e-40d5-43dd-bc93-6894a57f9324"')
        again = begin(client, 1, Idempotency_Key="8e03978e-40d5-43dd-bc93-6894a57f9324")
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json()["id"] == again.json()["id"]
        another = begin(client, 1, Idempotency_Key="another").json()["id"]
        assert another != first.json()["id"]
        await until(lambda: status(client, another) == "finished")
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=60)
    with serving(tmp_path) as (_process, client):
        again = begin(client, 1, Idempotency_Key="8e03978e-40d5-43dd-bc93-6894a57f9324")
        assert (again.json()["id"], again.json()["status"]) == (first.json()["id"], "finished")
        other = begin(client, 2, Idempotency_Key="8e03978e-40d5-43dd-bc93-6894a57f9324")
        assert other.status_code == 422
        assert first.json()["id"] in other.json()["error"]
        for key in ('""', "x" * 256):
            assert begin(client, 1, Idempotency_Key=key).status_code == 400
        client.delete(f"/runs/{first.json()['id']}")
        assert begin(client, 2, Idempotency_Key="8e03978e-40d5-43dd-bc93-6894a57f9324").status_code == 201
        await until(lambda: begun(tmp_path) == [1, 1, 2])


async def test_many_at_once_with_one_key_begin_one_run(serve_script) -> None:
    served = serve_script(limits=RunLimits(running=1))
    body = {"workflow": "assistant", "input": {"message": "[]"}}
    async with httpx.AsyncClient(base_url=served.url, timeout=30, trust_env=False) as client:
        replies = await asyncio.gather(
            *(client.post("/runs", json=body, headers={"Idempotency-Key": "one"}) for _ in range(20))
        )
        assert {reply.status_code for reply in replies} <= {201, 409}
        assert len({reply.json()["id"] for reply in replies if reply.status_code == 201}) == 1
        assert all(reply.headers["retry-after"] for reply in replies if reply.status_code == 409)
        assert (await client.get("/runs")).json()["total"] == 1
