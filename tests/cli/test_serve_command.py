"""``loopwright serve``: what it says and does before it answers."""

import json
import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from search_server import closed_port
from serving_program import PROGRAM, serving

from loopwright.errors import ConfigError
from loopwright.server.listening import reserve

GRAPH = """
from typing_extensions import TypedDict
from langgraph.graph import START, StateGraph

class State(TypedDict, total=False):
    question: str
    answer: str

builder = StateGraph(State)
builder.add_node("answer", lambda state: {"answer": state["question"].upper()})
builder.add_edge(START, "answer")
graph = builder.compile()
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["serve", "asistant"], "unknown workflow 'asistant'. Did you mean 'assistant'? Known: assistant, iqa, rag."),
        (["run", "rga"], "unknown workflow 'rga'. Did you mean 'rag'?"),
        (["serve", "missing.py"], "there is no file missing.py"),
        (["graph", "show", "iqa", "--out", "graph.txt"], "--out goes with a picture or JSON"),
        (["check", "iqa", "--certificate", "reviewed.json", "--format", "json"], "leave --format away"),
        (["run", "iqa", "--query", "x", "--image", "x" * 300], "and there is no such file: give a path"),
        (["run", "rag", "--question", "x", "--set", "rag.store=2024-02-30"], "is not valid YAML: day is out of range"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(refused, tmp_path, words, told):
    assert told in refused(*words, cwd=tmp_path)


def test_an_entry_of_langgraph_json_that_could_be_several_graphs_is_refused(loopwright, tmp_path):
    (tmp_path / "two.py").write_text(f"{GRAPH}other = StateGraph(State).add_node('a', print).add_edge(START, 'a')")
    (tmp_path / "langgraph.json").write_text('{"graphs": {"mine": "./two.py"}}')
    told = loopwright("serve", "--port", "0", cwd=tmp_path).stderr
    assert "'mine' cannot be loaded: it could be" in told and told.endswith(
        "two.py:other: name one of them behind a colon\n"
    )


def test_an_open_address_needs_a_long_token(refused, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(GRAPH)
    monkeypatch.setenv("LOOPWRIGHT_TOKEN", "fifteen-letters")
    told = refused("serve", "mine.py", "--host", "0.0.0.0", "--port", "0", cwd=tmp_path)
    assert "its token has 15 characters" in told and "fifteen" not in told


def test_a_node_that_leaves_the_program_ends_its_own_run_only_in_a_project_of_langgraph_s(
    loopwright, tmp_path, monkeypatch
):
    made = GRAPH.replace(".upper()", ".upper() + WORD + os.environ['TONE'] if state['question'] == 'stay' else exit(3)")
    made = f"import os\nfrom contextlib import asynccontextmanager\nfrom words import WORD\n{made}"
    made += "@asynccontextmanager\nasync def make(config, runtime):\n    yield config and runtime.execution_runtime and graph"
    (tmp_path / "mine.py").write_text(made)
    (tmp_path / "lib" / "src").mkdir(parents=True)
    (tmp_path / "lib" / "src" / "words.py").write_text("WORD = ' PUT'")
    (tmp_path / ".env").write_text('# a comment\nKEY="a\nb"\nexport TONE="\\"\\d!"  # as loud as that\n')
    graphs = {"My graph": "./mine.py:make", "gone": "./gone.py:graph", "other": {"path": "./mine.py:graph"}}
    told = {"graphs": graphs, "dependencies": ["./lib", "langchain"], "env": ".env"}
    (tmp_path / "langgraph.json").write_text(json.dumps(told))
    with serving(PROGRAM, tmp_path, "langgraph.json") as (process, client):
        asked = ({"question": word} for word in ("leave", "stay"))
        left, stayed = (client.post("/v1/workflows/My-graph/run", json=each) for each in asked)
        assert (left.status_code, left.json()["error_type"]) == (500, "SystemExit")
        assert stayed.json()["outcome"]["answer"] == 'STAY PUT"\\d!'
        assert client.get("/v1/assistants/My graph").json()["name"] == "My graph"
        assert process.poll() is None
        wrong = (
            client.get("/v1/runs", params={"since": "2020"}).json()["error"],
            client.patch("/v1/runs").headers["allow"],
        )
        assert "give a day as 2026-01-31" in wrong[0] and wrong[1] == "GET, POST"
        for zoned in ("2026-01-31T12:00:00 02:00", "20260131", "1767225600"):  # an address's + is a space
            assert client.get("/v1/runs", params={"since": zoned}).is_success
    monkeypatch.setattr(os, "environ", dict(os.environ))
    (tmp_path / "asked.jsonl").touch()
    said = loopwright("evaluate", "langgraph.json", "asked.jsonl", cwd=tmp_path).stderr.splitlines()
    assert said == [
        f"loopwright: langgraph.json: 'gone' cannot be loaded: there is no file {tmp_path / 'gone.py'}; it is left out",
        "loopwright: langgraph.json holds several graphs: give one of langgraph.json:My graph, langgraph.json:other",
    ]
    assert "  nodes        " in loopwright("graph", "show", "langgraph.json:My graph", cwd=tmp_path).stdout
    assert loopwright("run", "langgraph.json:My graph", "--question", "stay", cwd=tmp_path).stdout == 'STAY PUT"\\d!\n'


OPENED = """
import asyncio
from contextlib import asynccontextmanager
@asynccontextmanager
async def make():
    asked, said, me = asyncio.Queue(), asyncio.Queue(), asyncio.current_task()
    async def answering():
        while True:
            await said.put((await asked.get()).upper())
    async def ask(state):
        await asked.put(state["question"])
        return {"answer": await asyncio.wait_for(said.get(), 5)}
    task = asyncio.create_task(answering())
    yield StateGraph(State).add_node("ask", ask).add_edge(START, "ask")
    print("left by", "the same" if me is asyncio.current_task() else "another", "before", task.cancel())
    raise OSError("the line is dead")
"""


def test_what_a_factory_opened_answers_in_the_runs_and_is_left_by_the_task_that_entered_it(loopwright, tmp_path):
    (tmp_path / "mine.py").write_text(f"{GRAPH}{OPENED}")
    said = loopwright("run", "mine.py:make", "--question", "why", cwd=tmp_path)
    assert said.stdout == "WHY\n" and "left by the same before True\n" in said.stderr
    assert "cannot be closed: OSError: the line is dead" in said.stderr and "Traceback" not in said.stderr


@pytest.mark.parametrize("file", ["runs.db", "checkpoints.db"])
def test_what_is_kept_and_cannot_be_read_is_said_in_one_line(loopwright, tmp_path, file):
    (tmp_path / "mine.py").write_text(GRAPH)
    (tmp_path / ".loopwright").mkdir()
    (tmp_path / ".loopwright" / file).write_text("this is no database, whatever its name says " * 10)
    done = loopwright("serve", "mine.py", "--port", "0", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert file in done.stderr
    assert "Traceback" not in done.stderr


SLOW = f"""
import time
from pathlib import Path

Path("begun").touch()
while not Path("go").exists():
    time.sleep(0.01)
{GRAPH}"""


@pytest.mark.parametrize(
    "words", ["serve mine.py --port", "serve --port", "serve assistant --port", "mcp mine.py --http"]
)
def test_a_port_that_is_taken_is_told_before_anything_is_loaded(refused, tmp_path, words):
    (tmp_path / "mine.py").write_text("from pathlib import Path\nPath('begun').touch()\n")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refused(*words.split(), port, cwd=tmp_path)
    assert f"127.0.0.1 port {port}" in said
    assert "another program has it: stop that one, or take another port, or port 0 for a free one" in said
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_it_says_what_it_loads_and_answers_nobody_until_it_can(tmp_path):
    (tmp_path / "mine.py").write_text(SLOW)
    port = closed_port()
    url = f"http://127.0.0.1:{port}/health/live"
    environment = {key: value for key, value in os.environ.items() if key != "LOOPWRIGHT_TOKEN"}
    command = [*PROGRAM, "serve", "mine.py", "--port", str(port)]
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
        assert serving.wait(timeout=120) == 0
        assert (tmp_path / ".loopwright/runs.db").exists()
    finally:
        serving.kill()
        serving.communicate()


@pytest.mark.slow
def test_with_reload_it_begins_anew_when_a_file_changes_and_ends_with_what_it_began(tmp_path):
    (tmp_path / "mine.py").write_text(SLOW)
    (tmp_path / "go").touch()
    port = closed_port()
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


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="no IPv6 here")
def test_all_addresses_of_ipv6_are_those_of_ipv4_too():
    with reserve("::", 0) as listener, socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
        pass
