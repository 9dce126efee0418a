"""What holds the workflows behind one door: nobody outside knows them by name, and inside each looks like the others."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from loopwright.workflows import registry
from loopwright.workflows.api import Workflow

PACKAGE = Path(__file__).resolve().parents[2] / "src/loopwright"
NAMES = ("assistant", "iqa", "rag")
THE_SAME = (
    "workflow.py", "graph.py", "state.py", "schemas.py", "config.py", "nodes", "prompts", "question", "sources", "answer",
)  # fmt: skip
"""What each workflow has: how it is run, what flows through it, and what is asked, known and said."""
OTHER_SENSE = {
    "retrieval/web/quoting.py": "the roles of a chat",
    "engine/loop.py": "an example's question",
    "server/agui.py": "the roles of a chat",
}
"""Where a word is no workflow's name."""


def test_ours_are_declared_as_everybodys_are():
    assert set(NAMES) <= set(registry.names())
    for name in NAMES:
        found = registry.load(name)
        assert issubclass(found, Workflow) and found.name == name
        assert found.__module__ == f"loopwright.workflows.{name}.workflow"


def test_no_workflow_is_named_outside_of_its_folder():
    word = re.compile(rf"(?<![\w-])({'|'.join(NAMES)})(?![\w-])", re.IGNORECASE)
    named = [
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()}"
        for path in PACKAGE.rglob("*.py*")
        if path.suffix in (".py", ".pyi") and path.relative_to(PACKAGE).as_posix() not in OTHER_SENSE
        if not any(path.is_relative_to(PACKAGE / "workflows" / name) for name in NAMES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if word.search(line)
    ]
    assert named == []


@pytest.mark.parametrize("name", NAMES)
def test_each_workflow_has_the_same_names_and_no_module_name_twice(name):
    folder = PACKAGE / "workflows" / name
    assert [part for part in THE_SAME if not (folder / part).exists()] == []
    modules = Counter(path.stem for path in folder.rglob("*.py") if not path.stem.startswith("__"))
    assert [module for module, count in modules.items() if count > 1] == []
