"""``loopwright serve`` as a process, and what it kept."""

from __future__ import annotations

import asyncio
import signal
from contextlib import closing

import httpx
import pytest
from langgraph.checkpoint.memory import InMemorySaver
from serving_program import PROGRAM, serving

from loopwright.runs.store import open_runs
from loopwright.server.retention import Retention, forget_old
from loopwright.server.settings import ServerSettings
from loopwright.server.uploads import Uploads

GRAPH = """
from typing_extensions import TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict, total=False):
    question: str
    answer: str

builder = StateGraph(State)
builder.add_node("answer", lambda state: {"answer": state["question"].upper()})
builder.add_edge(START, "answer")
builder.add_edge("answer", END)
graph = builder.compile()
"""


def run_of(client: httpx.Client, workflow: str, given: dict[str, str]) -> dict:
    started = client.post("/runs", json={"workflow": workflow, "input": given})
    assert started.status_code == 201, started.text
    run_id = started.json()["id"]
    with client.stream("GET", f"/runs/{run_id}/events") as events:
        assert "event: run_finished" in list(events.iter_lines())
    return client.get(f"/runs/{run_id}").json()


@pytest.mark.slow
def test_a_graph_of_ones_own_is_served_and_its_runs_are_kept(tmp_path):
    (tmp_path / "mine.py").write_text(GRAPH)
    with serving(PROGRAM, tmp_path, "mine.py") as (process, client):
        (workflow,) = client.get("/workflows").json()
        assert workflow["name"] == "mine-graph"
        run = run_of(client, "mine-graph", {"question": "why"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=120) in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
    assert (run["workflow"], run["status"], run["path"]) == ("mine-graph", "finished", ["answer"])
    with closing(open_runs(f"sqlite:{tmp_path / '.loopwright/runs.db'}")) as store:
        assert store.get(run["id"]) is not None
        settings = ServerSettings(data=tmp_path / ".loopwright")
        asyncio.run(forget_old(store, InMemorySaver(), Uploads(settings), Retention(days=0)))
        assert store.get(run["id"]) is None


@pytest.mark.slow
def test_without_a_target_everything_installed_is_served(tmp_path):
    with serving(PROGRAM, tmp_path) as (_process, client):
        assert [each["name"] for each in client.get("/workflows").json()] == ["assistant", "iqa", "rag"]
        assert client.get("/health/ready").status_code == 200
        assert client.get("/").headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serve", "asistant"], "unknown workflow 'asistant'. Did you mean 'assistant'?"),
        (["serve", "missing.py"], "there is no file missing.py"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(loopwright, tmp_path, words, told):
    done = loopwright(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_open_address_needs_a_token(loopwright, tmp_path, monkeypatch):
    monkeypatch.delenv("LOOPWRIGHT_TOKEN", raising=False)
    (tmp_path / "mine.py").write_text(GRAPH)
    done = loopwright("serve", "mine.py", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "has no token" in done.stderr
    monkeypatch.setenv("LOOPWRIGHT_TOKEN", "fifteen-letters")
    done = loopwright("serve", "mine.py", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "its token has 15 characters" in done.stderr and "fifteen" not in done.stderr


@pytest.mark.parametrize("file", ["runs.db", "checkpoints.db"])
def test_what_is_kept_and_cannot_be_read_is_said_in_one_line(loopwright, tmp_path, file):
    (tmp_path / "mine.py").write_text(GRAPH)
    (tmp_path / ".loopwright").mkdir()
    (tmp_path / ".loopwright" / file).write_text("this is no database, whatever its name says " * 10)
    done = loopwright("serve", "mine.py", "--port", "0", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert file in done.stderr
    assert "Traceback" not in done.stderr
