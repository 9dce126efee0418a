"""What ``loopwright serve`` says and does before it answers."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from loopwright.errors import ConfigError
from loopwright.server.listening import reserve

PROGRAM = Path(sys.executable).parent / "loopwright"
SLOW = """
import time
from pathlib import Path
from typing import TypedDict
from langgraph.graph import END, START, StateGraph

Path("begun").touch()
while not Path("go").exists():
    time.sleep(0.01)

class State(TypedDict):
    question: str

builder = StateGraph(State)
builder.add_node("answer", lambda state: state)
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
graph = builder.compile()
"""


@pytest.mark.parametrize("words", [["serve", "mine.py"], ["serve"], ["serve", "assistant"]])
def test_a_port_that_is_taken_is_told_before_anything_is_loaded(loopwright, tmp_path, words):
    (tmp_path / "mine.py").write_text("from pathlib import Path\nPath('begun').touch()\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = loopwright(*words, "--port", port, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    (said,) = done.stderr.splitlines()
    assert f"127.0.0.1 port {port}" in said
    assert "another program has it: stop that one, or take another port, or port 0 for a free one" in said
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_it_says_what_it_loads_and_answers_nobody_until_it_can(tmp_path):
    (tmp_path / "mine.py").write_text(SLOW)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/health/live"
    environment = {key: value for key, value in os.environ.items() if key != "LOOPWRIGHT_TOKEN"}
    command = [PROGRAM, "serve", "mine.py", "--port", str(port)]
    serving = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert serving.stderr is not None
        assert serving.stderr.readline() == "loading mine.py ...\n"
        with pytest.raises(httpx.ReadTimeout):
            httpx.get(url, trust_env=False, timeout=0.3)
        (tmp_path / "go").touch()
        assert serving.stderr.readline() == "loading the server and its run history ...\n"
        while not (line := serving.stderr.readline()).startswith("listening on "):
            assert line, "it ended"
        assert httpx.get(url, trust_env=False, timeout=60).json() == {"status": "live"}
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(timeout=120) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
        assert (tmp_path / ".loopwright/runs.db").exists()
    finally:
        serving.kill()
        serving.communicate()


@pytest.mark.slow
def test_with_reload_it_begins_anew_when_a_file_changes_and_ends_with_what_it_began(tmp_path):
    (tmp_path / "mine.py").write_text(SLOW)
    (tmp_path / "go").touch()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    words = ["serve", "mine.py", "--port", str(port), "--reload"]
    serving = subprocess.Popen([sys.executable, "-m", "loopwright", *words], cwd=tmp_path, env=environment)

    def nodes() -> list[str]:
        try:
            shown = httpx.get(f"http://127.0.0.1:{port}/workflows/mine-graph/topology").json()
        except httpx.TransportError:
            return []
        return [node["name"] for node in shown["nodes"] if node["kind"] == "node"]

    try:
        for name in ("answer", "reply"):
            (tmp_path / "mine.py").write_text(SLOW.replace('"answer"', f'"{name}"'))
            until = time.monotonic() + 90
            while nodes() != [name] and time.monotonic() < until:
                time.sleep(0.2)
            assert nodes() == [name]
    finally:
        serving.terminate()
        serving.wait(timeout=60)
    assert nodes() == []


@pytest.mark.parametrize(
    ("host", "port", "told"),
    [("192.0.2.1", 1, "this machine has no such address"), ("no.such.host.invalid", 0, "give another address")],
)
def test_an_address_that_cannot_be_had_is_named_with_what_to_do(host, port, told):
    with pytest.raises(ConfigError, match=f"{host} port {port}: .*{told}"):
        reserve(host, port)
