"""``loopwright mcp`` with the official client, over standard input and output and over streamable HTTP."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from installed import needs
from shapes import graph

needs("mcp")

from mcp import Client, MCPError  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402

from loopwright.cli.serve import opened  # noqa: E402
from loopwright.mcp import server  # noqa: E402
from loopwright.workflows.user_graph import UserGraph  # noqa: E402

PROGRAM = Path(sys.executable).with_name("loopwright")
AGENT = Path(__file__).resolve().parents[2] / "examples/agent.py"
DRAFTS = """
print("imported")
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from loopwright import Loop, bounded

class State(TypedDict, total=False):
    topic: str
    drafts: int
    answer: str

def write(state: State) -> State:
    if state["topic"] == "fire":
        raise RuntimeError("the paper burns \\udce9")
    if state["topic"] == "leave":
        raise SystemExit(print("bye") or 3)
    if state["topic"] == "count":
        return {"drafts": 1}
    return {"drafts": state.get("drafts", 0) + 1, "answer": f"{state['topic']}, draft {state.get('drafts', 0) + 1}" + "\\udce9" * (state["topic"] == "half")}

made = StateGraph(State)
made.add_node("write", write)
made.add_edge(START, "write")
made.add_conditional_edges("write", lambda state: "write" if state["topic"] == "long" else END, ["write", END])
graph = bounded(made, [Loop(name="better", target="write", sources=("write",), limit=2, reason=lambda state: "poor")])
"""


FOUND = {
    "fire": "the paper burns \ufffd", "half": "draft 1\ufffd", "leave": "SystemExit: 3", "count": '"drafts": 1',
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "drafts.py").write_text(DRAFTS)
    (tmp_path / "agent.py").write_text(AGENT.read_text())
    return tmp_path


@contextmanager
def transport(kind: str, folder: Path, *targets: str) -> Iterator[Any]:
    """What the client connects to: a process over its pipes, or the address of one."""
    if kind == "stdio":
        yield StdioServerParameters(command=str(PROGRAM), args=["mcp", *targets], cwd=folder, env={**os.environ})
        return
    process = subprocess.Popen([PROGRAM, "mcp", *targets, "--http", "0"], cwd=folder, stderr=subprocess.PIPE, text=True)
    try:
        line = next(line for line in process.stderr if line.startswith("listening on "))
        yield line.removeprefix("listening on ").partition(";")[0]
    finally:
        process.kill()
        process.communicate()


def test_an_interrupt_ends_it_while_it_waits_for_input(folder):
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    with subprocess.Popen([PROGRAM, "mcp", "drafts.py:graph"], cwd=folder, text=True, **pipes) as process:
        print('{"jsonrpc": "2.0", "id": 1, "method": "ping"}', file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline())["id"] == 1
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(30) in (0, -signal.SIGINT)
            assert "Traceback" not in process.stderr.read()
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["stdio", pytest.param("http", marks=pytest.mark.slow)])
async def test_a_host_checks_graphs_and_runs_a_workflow_with_progress(kind, folder, caplog):
    told: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))

    with transport(kind, folder, "drafts.py:graph") as place:
        async with Client(place) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert sorted(tools) == ["certificate", "check_graph", "drafts-graph"]
            assert "topic" in tools["drafts-graph"].input_schema["properties"]

            checked = await client.call_tool("check_graph", {"target": str(folder)})
            verdicts = {
                graph["name"].split(":")[-1]: graph["verdict"] for graph in checked.structured_content["graphs"]
            }
            assert (verdicts["app"], verdicts["graph"]) == ("unbounded", "bounded")

            (folder / "drafts.py").write_text("print('imported')\nfrom agent import graph")
            (folder / "agent.py").write_text(DRAFTS.replace("limit=2", "limit=7"))
            proof = await client.call_tool("certificate", {"target": str(folder / "drafts.py:graph")})
            assert proof.structured_content["max_runs_by_node"]["write"] == 8

            answer = await client.call_tool("drafts-graph", {"topic": "long"}, progress_callback=heard)
            assert not answer.is_error
            assert answer.structured_content["answer"] == "long, draft 3"
            assert [content.text for content in answer.content] == ["long, draft 3", "better exhausted after 2 of 2"]
            for topic, words in FOUND.items():
                assert words in (await client.call_tool("drafts-graph", {"topic": topic})).content[0].text
            (folder / os.fsdecode(b"caf\xe9.py")).write_text(DRAFTS)
            odd = (await client.call_tool("check_graph", {"target": str(folder)})).structured_content["graphs"]
            assert any("caf\ufffd.py" in each["name"] for each in odd)
    assert [message for _, message in told] == [
        "Write", "loop better: pass 1 of 2, poor", "Write", "loop better: pass 2 of 2, poor", "Write",
        "loop better: exhausted after 2 of 2",
    ]  # fmt: skip
    assert [progress for progress, _ in told] == sorted({progress for progress, _ in told})
    complaints = [record for record in caplog.records if record.name.startswith("mcp.client")]
    assert not complaints, "what the imported code prints is no part of the protocol"


async def test_what_goes_wrong_is_told_the_host_and_the_server_goes_on(folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "broken.py").write_text("def (:\n")
    with ExitStack() as exits:
        async with Client(server(opened(exits, ["drafts.py:graph"], None, any_number=True))) as client:
            found = (await client.call_tool("check_graph", {"target": "."})).structured_content
            assert (len(found["errors"]), len(found["graphs"])) == (1, 3)
            for tool, given, words in (
                ("drafts-graph", {"topic": "fire"}, "the paper burns"),
                ("drafts-graph", {"subject": "long"}, "topic"),
                ("check_graph", {"target": "nowhere.py"}, "there is no file nowhere.py"),
                ("certificate", {"target": "drafts.py"}, "names no graph"),
                ("certificate", {}, "target"),
                ("certificate", {"target": "drafts:grap"}, "drafts: unknown graph 'grap'"),
            ):
                result = await client.call_tool(tool, given)
                assert result.is_error
                assert words in result.content[0].text
            with pytest.raises(MCPError, match="there is no tool 'paint'"):
                await client.call_tool("paint", {})
            assert (await client.call_tool("drafts-graph", {"topic": "short"})).structured_content["answer"]


@pytest.mark.parametrize("quits", [False, True])
async def test_the_nodes_of_a_call_that_the_host_cancels_end_in_full(quits):
    began, ended = asyncio.Event(), asyncio.Event()

    async def wait(_state: Any) -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.1)
            ended.set()

    async with Client(server([UserGraph("slow", graph("START-wait", wait=wait).compile())])) as client:
        async with anyio.create_task_group() as host:
            host.start_soon(client.call_tool, "slow", {})
            await began.wait()
            host.cancel_scope.cancel()
        if not quits:
            await asyncio.wait_for(ended.wait(), 10)
    assert ended.is_set()


async def test_an_installed_workflow_answers_with_its_citations(loopwright, tmp_path):
    (tmp_path / "notes.md").write_text("# Otters\n\nThe river otter sleeps in a holt beside the water.\n")
    (tmp_path / "own.yaml").write_text("rag:\n  store: otters.db\n")
    loopwright("rag", "ingest", "notes.md", "--config", "own.yaml", cwd=tmp_path)
    with ExitStack() as exits:
        async with Client(server(opened(exits, ["rag"], Path("own.yaml"), any_number=True))) as client:
            answer = await client.call_tool("rag", {"question": "Where does the river otter sleep?"})
    assert not answer.is_error
    assert "holt" in answer.structured_content["answer"]
    assert answer.structured_content["citations"][0]["title"] in answer.content[0].text.split("\n\n")[-1]
