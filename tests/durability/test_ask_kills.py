"""A question that is killed in the middle goes on where it was: finished nodes are not asked again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).resolve().parents[1] / "support"

SCRIPT = """
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


def run(folder: Path, dies_in: str, how: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), dies_in, how],
        capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("node", ["answer_generation", "route_question", "generation_grading"])
def test_a_killed_question_goes_on_where_it_was(node: str, tmp_path: Path) -> None:
    assert run(tmp_path, node, "begin").returncode == -signal.SIGKILL
    resumed = run(tmp_path, node, "resume")
    assert resumed.returncode == 0, resumed.stderr
    result = json.loads(resumed.stdout)
    assert result["status"] == "answered"
    assert "Horace Jones" in result["text"]
    asked = (tmp_path / "asked").read_text().split()
    nodes = ["route_question", "answer_generation", "generation_grading"]
    assert asked == [each for each in nodes for _ in range(1 + (each == node))]
    assert "knowledge_graph_retrieval" not in result["path"] or node == "route_question"
