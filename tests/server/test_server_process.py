"""The server as a process of its own: it starts, refuses, and stops."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from scripted_server import DONE, Script, script

from loopwright.errors import StoreError
from loopwright.runs.hub import RunHub
from loopwright.runs.store import open_runs
from loopwright.server import ServerSettings, create_app
from loopwright.server.serving import Server

SERVED = """
import sys
from pathlib import Path
from loopwright.retrieval.stores import open_store
from loopwright.server import ServerSettings, Serving, serve
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.workflow import AssistantWorkflow
from loopwright.workflows.assistant.services import Services

with open_store("memory") as store, Services.of(AssistantConfig(), store) as services:
    settings = ServerSettings(data=Path(sys.argv[1]))
    serving = Serving(workflows=[AssistantWorkflow(services)], settings=settings, demos=False)
    serve(serving, port=0, started=lambda url: print(url, flush=True))
"""
SCRIPTED = """
import sys
from pathlib import Path
from scripted_server import Script
from loopwright.server import ServerSettings, Serving, serve, serving

serving.FAREWELL = 1
script = Script()
script.gates.opened.update(sys.argv[2:])
offered = Serving(workflows=[script], settings=ServerSettings(data=Path(sys.argv[1])), demos=False)
serve(offered, port=0, started=lambda url: print(url, flush=True))
"""


@contextmanager
def process(code: str, *words: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with a server on a free port, and its address."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    serving = subprocess.Popen([sys.executable, "-c", code, *map(str, words)], **pipes, text=True, env=environment)
    try:
        address = serving.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), serving.stderr.read()
        yield serving, address
    finally:
        serving.kill()
        serving.communicate()


# That Ctrl-C ends a server well is also said by the tests of the commands that serve.
@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_what_goes_on_when_it_stops_goes_on_when_it_is_back(how, tmp_path):
    with process(SCRIPTED, tmp_path) as (serving, url), httpx.Client(base_url=url, timeout=120) as client:
        steps = script({"chunks": 2}, {"wait": "go"}, DONE)
        with client.stream("POST", "/api/chat/stream", json=steps) as response:
            run_id = response.headers["x-run-id"]
            lines = response.iter_lines()
            assert next(lines) == "event: chunk"
            serving.send_signal(how)
            text = "\n".join(lines)
        assert "event: done" not in text
        assert serving.wait(timeout=120) in (0, -how, 128 + how)
        assert "Traceback" not in serving.stderr.read()
    with process(SCRIPTED, tmp_path, "go") as (_serving, url), httpx.Client(base_url=url, timeout=120) as client:
        with client.stream(
            "GET", f"/api/chat/runs/{run_id}/events", headers={"Last-Event-ID": f"{run_id}:2"}
        ) as response:
            text = "\n".join(response.iter_lines())
        assert "event: done" in text
        record = client.get(f"/runs/{run_id}").json()
        assert record["status"] == "finished"


@pytest.mark.slow
def test_what_a_killed_server_had_shown_is_there_and_goes_on(tmp_path):
    with process(SCRIPTED, tmp_path) as (serving, url), httpx.Client(base_url=url, timeout=120) as client:
        with client.stream("POST", "/api/chat/stream", json=script({"chunks": 3}, {"wait": "go"}, DONE)) as response:
            run_id = response.headers["x-run-id"]
            lines = response.iter_lines()
            shown = [next(lines) for _ in range(11)]
            serving.kill()
    seen = [line for line in shown if line.startswith("id: ")]
    assert seen[-1] == f"id: {run_id}:3"
    with process(SCRIPTED, tmp_path, "go") as (_serving, url), httpx.Client(base_url=url, timeout=120) as client:
        with client.stream("GET", f"/runs/{run_id}/events") as response:
            assert "event: run_finished" in list(response.iter_lines())
        with client.stream("GET", f"/api/chat/runs/{run_id}/events") as response:
            kept = [line for line in response.iter_lines() if line.startswith("id: ")]
        assert kept[: len(seen)] == seen
        assert client.get(f"/runs/{run_id}").json()["status"] == "finished"


def test_serve_answers_on_this_machine_alone_until_it_is_stopped(tmp_path):
    with process(SERVED, tmp_path) as (serving, url):
        assert httpx.get(url + "/health/live").json() == {"status": "live"}
        assert httpx.get(url + "/health/ready").json()["error_type"] == "NothingIngested"
        assert "/api/chat/stream" in httpx.get(url + "/openapi.json").json()["paths"]
        serving.send_signal(signal.SIGTERM)
        serving.wait(timeout=120)
        with pytest.raises(httpx.ConnectError):
            httpx.get(url + "/health/live")


def test_runs_that_cannot_be_opened_are_told_by_whoever_starts_the_server(tmp_path):
    file = tmp_path / "runs.db"
    store = open_runs(f"sqlite:{file}")
    store.close()
    for each in tmp_path.glob("runs.db*"):
        each.unlink()
    file.write_text("this is no database any more " * 100)
    app = create_app(RunHub(store, [Script()], InMemorySaver()), settings=ServerSettings(data=tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(StoreError):
        asyncio.run(Server(app, log_level="error").serve([listener]))
