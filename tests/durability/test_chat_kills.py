"""A chat or a question that is killed in the middle goes on where it was: finished nodes do not run again, and counters hold."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"

CHAT = """
import asyncio, json, os, signal, sys
from conferences import empty_conference
from loopwright.engine import arun
from loopwright.checkpoints import aopen_checkpointer, state_types
from loopwright.workflows.assistant import AssistantState, build_graph
from loopwright.workflows.assistant.nodes import NODES

folder, dies_in, visit, begins = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "begin"
services = empty_conference(reflection_enabled=sys.argv[5] == "reflect")
seen = {}

def counted(name):
    async def work(state):
        seen[name] = seen.get(name, 0) + 1
        with open(f"{folder}/log", "a") as file:
            file.write(name + "\\n")
        if begins and name == dies_in and seen[name] == visit:
            os.kill(os.getpid(), signal.SIGKILL)
        return await NODES[name].work(state, services)
    return work

async def main():
    left_out = "relax_and_retry" if sys.argv[5] == "reflect" else "reflect_and_replan"
    nodes = {name: counted(name) for name in NODES if name not in (left_out, "update_profile")}
    given = {"messages": [("user", "Which sessions are about quantum yodelling?")]} if begins else None
    async with aopen_checkpointer(f"sqlite:{folder}/runs.db", allow=state_types(AssistantState)) as saver:
        graph = build_graph(services=services, nodes=nodes, checkpointer=saver)
        result = await arun(graph, given, thread_id="t")
    state = result.state
    keys = ("retry_count", "status", "stop_reason")
    print(json.dumps({**{key: state.get(key) for key in keys}, "plans": len(state["attempts"])}, default=str))

asyncio.run(main())
"""


QUESTION = """
import json, os, signal, sys
from knowledge import BRIDGES, kept, rag
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.rag import ask

folder, dies_in, resume = sys.argv[1], sys.argv[2], sys.argv[3] == "resume"

def model(node, reply):
    def answer(messages):
        with open(f"{folder}/asked", "a") as file:
            file.write(node + "\\n")
        if node == dies_in and not resume:
            os.kill(os.getpid(), signal.SIGKILL)
        return reply
    return ScriptedChatModel(answer, repeat_last=True)

reading = {"standalone": "Who designed the Tower Bridge?", "route": "knowledge_graph_retrieval", "complexity": "one_hop"}
verdicts = {"unsupported": [], "useful": True, "reason": ""}
services = rag(
    BRIDGES, pipeline={"checkpoint": {"enable": True, "save_dir": f"{folder}/checkpoints"}},
    route_question=model("route_question", reading), answer_generation=model("answer_generation", "Horace Jones [1]."),
    generation_grading=model("generation_grading", verdicts),
)
result = ask("Who designed the Tower Bridge?", services=services, run_id="bridge", resume=resume)
print(json.dumps({"status": result.status, "text": result.answer.text, "path": result.path}))
"""


def run(script: str, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, str(folder), *words],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip


Unharmed = Callable[[str], tuple[dict[str, Any], list[str]]]


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Unharmed:
    """What a chat that nobody kills answers, and the nodes that it runs; each kind of chat is run once."""

    @cache
    def of(how: str) -> tuple[dict[str, Any], list[str]]:
        folder = tmp_path_factory.mktemp("whole")
        ran = run(CHAT, folder, "", "0", "begin", how)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout), (folder / "log").read_text().split()

    return of


@pytest.mark.slow
@pytest.mark.parametrize(
    ("node", "visit", "how"),
    [
        ("reflect_and_replan", "2", "reflect"),
        ("plan_queries", "1", "reflect"),
        ("execute_queries", "3", "reflect"),
        ("relax_and_retry", "2", "relax"),
        ("generate_response", "1", "relax"),
        ("evaluate", "1", "reflect"),
    ],
)
def test_a_killed_chat_goes_on_where_it_was(
    node: str, visit: str, how: str, unharmed: Unharmed, tmp_path: Path
) -> None:
    answer, nodes = unharmed(how)
    assert run(CHAT, tmp_path, node, visit, "begin", how).returncode == -signal.SIGKILL
    resumed = run(CHAT, tmp_path, node, visit, "resume", how)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == answer
    assert "unregistered" not in resumed.stderr
    place = [at for at, name in enumerate(nodes) if name == node][int(visit) - 1]
    assert (tmp_path / "log").read_text().split() == [*nodes[:place], node, *nodes[place:]]


@pytest.mark.slow
@pytest.mark.parametrize("node", ["answer_generation", "route_question", "generation_grading"])
def test_a_killed_question_goes_on_where_it_was(node: str, tmp_path: Path) -> None:
    assert run(QUESTION, tmp_path, node, "begin").returncode == -signal.SIGKILL
    resumed = run(QUESTION, tmp_path, node, "resume")
    assert resumed.returncode == 0, resumed.stderr
    result = json.loads(resumed.stdout)
    assert result["status"] == "answered"
    assert "Horace Jones" in result["text"]
    asked = (tmp_path / "asked").read_text().split()
    nodes = ["route_question", "answer_generation", "generation_grading"]
    assert asked == [each for each in nodes for _ in range(1 + (each == node))]
    assert "knowledge_graph_retrieval" not in result["path"] or node == "route_question"
