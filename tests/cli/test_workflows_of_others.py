"""Workflows of other people's packages: each is there whatever another one does, and any input can be said."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from loopwright.cli.serve import opened
from loopwright.errors import ConfigError
from loopwright.workflows import registry

HEADLINE = Path(__file__).resolve().parents[2] / "examples/headline/headline.py"
FILES = {
    "headline.py": HEADLINE.read_text(encoding="utf-8"),
    "wide.py": """
from __future__ import annotations
from typing import Any, Literal
from headline import HeadlineWorkflow
from pydantic import Field
from loopwright.workflows.api import WorkflowInput

class Step(WorkflowInput):
    by: int
    tags: dict[str, str] = {}
    then: Step | None = None

class Wide(WorkflowInput):
    config: str
    json_: str = Field(alias="json")
    filters: dict[str, int] | None = None
    steps: list[Step] = []
    shape: Step | Wide | None = None
    first: Step | None = None
    level: Literal[1, 2, 3] = 1
    anything: Any = None

class WideWorkflow(HeadlineWorkflow):
    Input, title = Wide, "Wide"
    def start(self, given, uploads, run_id):
        return {"text": given.model_dump_json(by_alias=True, exclude_unset=True), "most": 200}

class Failing(WideWorkflow):
    def build(self, services): raise RuntimeError("no quota")
""",
    "keyless.py": "import os\nKEY = os.environ['NO_SUCH_KEY']\n",
    "lone.py": "import no_such_package\n",
    "others-1.dist-info/entry_points.txt": """[loopwright.workflows]
also = wide:WideWorkflow
failing = wide:Failing
keyless = keyless:Keyless
rag = wide:WideWorkflow
wide = wide:WideWorkflow
[loopwright.commands]
check = keyless:app
lone = lone:app
""",
}
LEFT_OUT = {
    "failing": "RuntimeError: no quota",
    "keyless": "workflow 'keyless' cannot be loaded from keyless:Keyless: KeyError: 'NO_SUCH_KEY'",
    "rag": f"'rag' is declared by wide:WideWorkflow and {registry.place_of('rag')}: remove one",
}


@pytest.fixture
def others(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    registry._declared.cache_clear()
    yield tmp_path
    registry._declared.cache_clear()
    for name in ("headline", "wide"):
        sys.modules.pop(name, None)


def test_a_package_that_is_broken_takes_no_other_down(others, loopwright, monkeypatch, capfd):
    listed = " ".join(loopwright("run", "--help").stdout.split())
    assert all(said in listed for said in ("also Wide", "wide Wide", LEFT_OUT["keyless"], LEFT_OUT["rag"])), listed
    words = loopwright("--help")
    assert (words.returncode, "check Prove that" in " ".join(words.stdout.split())) == (0, True), words
    for word, told in (("lone", "pip install 'no_such_package'"), ("run keyless --any thing", LEFT_OUT["keyless"])):
        refused = loopwright(*word.split())
        assert (refused.returncode, told in refused.stderr, len(refused.stderr.splitlines())) == (2, True, 1), refused
    assert registry.model_nodes() is None
    monkeypatch.chdir(others)
    with ExitStack() as exits:
        assert {each.name for each in opened(exits, None, None)} == {"also", "assistant", "iqa", "wide"}
        told = capfd.readouterr().err
        assert all(f"loopwright: {name} is left out: {why}\n" in told for name, why in LEFT_OUT.items()), told
        with pytest.raises(ConfigError, match="workflow 'failing' cannot be opened: RuntimeError: no quota"):
            opened(exits, ["wide", "failing"], None)


def test_any_input_can_be_said_in_words(others, loopwright):
    given = {
        "config": "c", "json": "12", "filters": {"a": 1}, "steps": [{"by": 1}, {"by": 2}], "shape": {"by": 3},
        "first": {"by": 3, "tags": {"a": "1"}, "then": {"by": 4}}, "level": 2, "anything": [1],
    }  # fmt: skip
    said = {"input-config": "c", "input-json": "12", "first-by": "3", "first-tags": '{"a": "1"}', "level": "2"}
    said |= {"first-then": '{"by": 4}', "filters": '{"a": 1}', "shape": '{"by": 3}', "anything": "[1]"}
    words = [f"--{key}={each}" for key, each in said.items()]
    done = loopwright("run", "wide", *words, '--steps={"by": 1}', '--steps={"by": 2}', "--json")
    assert json.loads(json.loads(done.stdout)["answer"]) == given, done
    told = loopwright("run", "iqa", "--image", "a.png", "--query", f"[{'1,' * 5000}1]").stderr
    assert "query: String should have at most 10000 characters" in told, "it was meant as a text"
