"""A chat that is killed in the middle goes on where it was: finished nodes do not run again, and counters hold."""

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


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CHAT, str(folder), *words],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(SUPPORT), os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip


@pytest.fixture(scope="module")
def unharmed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[dict[str, Any], list[str]]]:
    """What a chat that nobody kills answers, and the nodes that it runs; each kind of chat is run once."""

    @cache
    def of(how: str) -> tuple[dict[str, Any], list[str]]:
        folder = tmp_path_factory.mktemp("whole")
        ran = run(folder, "", "0", "begin", how)
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
def test_a_killed_chat_goes_on_where_it_was(node, visit, how, unharmed, tmp_path):
    answer, nodes = unharmed(how)
    assert run(tmp_path, node, visit, "begin", how).returncode == -signal.SIGKILL
    resumed = run(tmp_path, node, visit, "resume", how)
    assert resumed.returncode == 0, resumed.stderr
    assert json.loads(resumed.stdout) == answer
    assert "unregistered" not in resumed.stderr
    place = [at for at, name in enumerate(nodes) if name == node][int(visit) - 1]
    assert (tmp_path / "log").read_text().split() == [*nodes[:place], node, *nodes[place:]]
