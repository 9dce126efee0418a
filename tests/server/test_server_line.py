"""Two hundred runs at once, the same request twice, and a restart while runs wait: real servers on loopback."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from hosted_graphs import until
from scripted_server import DONE, script
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


KEY = "8e03978e-40d5-43dd-bc93-6894a57f932"


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


@pytest.mark.slow
async def test_many_runs_at_once_end_in_order_and_none_is_refused(tmp_path: Path) -> None:
    count = 200
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
        ids = [begin(client, number, "go", Idempotency_Key=f'"{KEY}{number}"').json()["id"] for number in range(4)]
        await until(lambda: begun(tmp_path) == [0])
        assert [status(client, run_id) for run_id in ids] == ["running", "queued", "queued", "queued"]
        assert client.get("/runs", params={"status": "queued"}).json()["total"] == 3
        assert client.post(f"/runs/{ids[2]}/cancel").json()["status"] == "cancelled"
        process.send_signal(how)
        (tmp_path / "go").touch(exist_ok=True)
        process.wait(timeout=60)
    with serving(tmp_path, "--max-running", "1") as (_process, client):
        await until(lambda: status(client, ids[3]) == "finished", 0.05)
        found = [status(client, run_id) for run_id in ids]
        assert found == ["finished", "finished", "cancelled", "finished"]
        assert begin(client, 1, "go", Idempotency_Key=f"{KEY}1").json()["id"] == ids[1], "the same key, the same run"
    assert [number for number in begun(tmp_path) if number] == [1, 3]


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
