"""The server as a process of its own: it starts, refuses, and stops."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from scripted_server import script

from loopwright.errors import ConfigError
from loopwright.server import serve

SERVED = """
from loopwright.retrieval.stores import open_store
from loopwright.server import serve
from loopwright.workflows.assistant.config import AssistantConfig
from loopwright.workflows.assistant.services import Services

with open_store("memory") as store, Services.of(AssistantConfig(), store) as services:
    serve(services, port=0, started=lambda url: print(url, flush=True))
"""
SCRIPTED = """
import socket, uvicorn
from scripted_server import Script, Services
from loopwright.server import create_app
from loopwright.server.serving import Server

with socket.create_server(("127.0.0.1", 0)) as listener:
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    Server(uvicorn.Config(create_app(Services(None), chat=Script()), ws="none")).run([listener])
"""


@contextmanager
def process(code: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process with a server on a free port, and its address."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    serving = subprocess.Popen([sys.executable, "-c", code], **pipes, text=True, env=environment)
    try:
        address = serving.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), serving.stderr.read()
        yield serving, address
    finally:
        serving.kill()
        serving.communicate()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_when_it_stops_it_tells_the_clients_of_what_was_going_on(how):
    with process(SCRIPTED) as (serving, url), httpx.Client(base_url=url, timeout=30) as client:
        with client.stream("POST", "/api/chat/stream", json=script({"chunks": 1}, {"wait": "never"})) as response:
            lines = response.iter_lines()
            assert next(lines) == "event: chunk"
            serving.send_signal(how)
            text = "\n".join(lines)
        assert "event: error" in text
        assert '"error_type": "Cancelled"' in text
        assert serving.wait(timeout=30) in (0, -how, 128 + how)
        assert "Traceback" not in serving.stderr.read()


def test_serve_answers_on_this_machine_alone_until_it_is_stopped():
    with process(SERVED) as (serving, url):
        assert httpx.get(url + "/health/live").json() == {"status": "live"}
        assert httpx.get(url + "/health/ready").json()["error_type"] == "NothingIngested"
        assert "/api/chat/stream" in httpx.get(url + "/openapi.json").json()["paths"]
        serving.send_signal(signal.SIGTERM)
        serving.wait(timeout=30)
        with pytest.raises(httpx.ConnectError):
            httpx.get(url + "/health/live")


def test_an_address_that_is_taken_or_not_ours_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1 port {port}"):
            serve(None, port=port)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"192\.0\.2\.1 port 1"):
        serve(None, "192.0.2.1", 1, "token")  # type: ignore[arg-type]
