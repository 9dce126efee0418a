"""What another version of Loopwright kept is told in words, over HTTP and on the command line."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import httpx
from run_histories import a_run, shown

from loopwright.runs.store import KeptEvent, NewEvents, open_runs

PROGRAM = Path(sys.executable).with_name("loopwright")


def test_a_run_with_events_of_another_version_is_told_of_and_can_be_deleted(served):
    store = served.app.state.context.hub.store
    store.create(a_run("later"), shown())
    store.write([], [NewEvents("later", "run", [KeptEvent(1, "state", '{"type": "of_later"}')])])
    for path in ("/runs/later/checkpoints", "/compare?a=later&b=later2"):
        store.get("later2") or store.create(a_run("later2"), shown())
        reply = httpx.get(served.url + path)
        assert (reply.status_code, reply.json()["error_type"]) == (503, "StoreError"), path
        assert "event 1 (state) of run later is damaged, or of another version" in reply.json()["error"]
    assert httpx.delete(served.url + "/runs/later").status_code == 204


def test_a_server_refuses_a_history_of_another_format_in_one_line(tmp_path):
    (tmp_path / "mine.py").write_text("from langgraph.graph import StateGraph\ngraph = StateGraph(dict)\n")
    file = tmp_path / ".loopwright" / "runs.db"
    open_runs(f"sqlite:{file}").close()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE run_history SET format = 2")
        connection.commit()
    for words in (["runs", "list"], ["runs", "show", "x"]):
        done = subprocess.run([PROGRAM, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 2
        (said,) = done.stderr.splitlines()
        assert "has the format 2" in said and "update Loopwright" in said
