"""Workflows of other people's packages: each is there whatever another one does, and any input can be said."""

import json
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import create_model

from loopwright.cli.serve import opened
from loopwright.errors import ConfigError
from loopwright.workflows import registry
from loopwright.workflows.texts import read_texts

HEADLINE = Path(__file__).resolve().parents[2] / "examples/headline/headline.py"
FILES = {
    "headline.py": HEADLINE.read_text(encoding="utf-8"),
    "wide.py": """
from __future__ import annotations
from enum import Enum
from typing import Any, Literal
from headline import HeadlineWorkflow
from pydantic import Field
from loopwright.workflows.api import Outcome, WorkflowInput
from loopwright.workflows.sections import WorkflowConfig

class Tone(Enum):
    warm = "warm"
    brief = "brief"

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
    level: Literal[1, 2, 3] = Field(default=1, description="How deep.")
    anything: Any = None
    tones: list[Tone] = []

class Desk(WorkflowConfig):
    desk: Step | None = None

class WideWorkflow(HeadlineWorkflow):
    Input, title, Config = Wide, "Wide", Desk
    def start(self, given, uploads, run_id):
        return {"text": given.model_dump_json(by_alias=True, exclude_unset=True), "most": 200}

class Silent(WideWorkflow):
    def start(self, given, uploads, run_id):
        return print(run_id) or {"text": run_id, "most": 200}
    def outcome(self, state):
        return Outcome(details={"odd": Tone, "inf": float("inf"), "run": state["text"]})

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
silent = wide:Silent
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
    assert registry.of_all(lambda each: each.model_nodes) is None
    monkeypatch.chdir(others)
    with ExitStack() as exits:
        assert {each.name for each in opened(exits, None, None)} == {"also", "assistant", "iqa", "silent", "wide"}
        told = capfd.readouterr().err
        assert all(f"loopwright: {name} is left out: {why}\n" in told for name, why in LEFT_OUT.items()), told
        with pytest.raises(ConfigError, match="workflow 'failing' cannot be opened: RuntimeError: no quota"):
            opened(exits, ["wide", "failing"], None)


def test_sections_of_others_are_passed_over_whatever_they_are_called(others):
    configured = registry.load("assistant").Config
    for section in ("desk", "of_one_that_cannot_be_imported"):
        assert configured.load(None, {f"{section}.by": 1}) == configured.load()
    with pytest.raises(ConfigError, match=r"unknown key 'langraph'\. Did you mean 'langgraph'"):
        configured.load(None, {"langraph.max_iterations": 1})


def test_an_outcome_may_hold_anything_and_no_answer(others, loopwright):
    words = ("run", "silent", "--input-config=c", "--input-json={}")
    silent = loopwright(*words)
    assert (silent.returncode, silent.stdout) == (0, ""), silent
    done = loopwright(*words, "--json")
    details = json.loads(done.stdout, parse_constant=pytest.fail)["details"]
    assert (details["odd"], details["inf"], len(details["run"])) == ("<enum 'Tone'>", None, 32), done


def test_any_input_can_be_said_in_words(others, loopwright):
    given = {
        "config": "c", "json": "12", "filters": {"a": 1}, "steps": [{"by": 1}, {"by": 2}], "shape": {"by": 3},
        "first": {"by": 3, "tags": {"a": "1"}, "then": {"by": 4}}, "level": 2, "anything": [1], "tones": ["brief"],
    }  # fmt: skip
    said = {"input-config": "c", "input-json": "12", "first-by": "3", "first-tags": '{"a": "1"}', "level": "2"}
    said |= {"first-then": '{"by": 4}', "filters": '{"a": 1}', "shape": '{"by": 3}'}
    said |= {"anything": "[1]", "tones": "brief"}
    words = [f"--{key}={each}" for key, each in said.items()]
    done = loopwright("run", "wide", *words, '--steps={"by": 1}', '--steps={"by": 2}', "--json")
    assert json.loads(json.loads(done.stdout)["answer"]) == given, done
    shown = loopwright("run", "wide", "--help").stdout
    assert all(
        said in shown for said in ("--steps JSON", "--tones [warm|brief]", "--level [1|2|3]", "[required]", "How deep.")
    ), shown
    assert "image is '.', and there is no such file" in loopwright("run", "iqa", "--image=.", "--query=x").stderr
    told = loopwright("run", "iqa", "--image", "a.png", "--query", f"[{'1,' * 5000}1]").stderr
    assert "query: String should have at most 10000 characters" in told, "it was meant as a text"


def test_a_list_may_be_given_as_one_text() -> None:
    asked = create_model("Asked", lines=list[dict[str, int]], grid=list[list[int]], words=list[str])
    given = {"lines": ['[{"a": 1}, {"b": 2}]'], "grid": ["[1, 2]"], "words": ['["a"]']}
    assert read_texts(asked, given) == {"lines": [{"a": 1}, {"b": 2}], "grid": [[1, 2]], "words": ['["a"]']}
