"""What must hold for the repository as a whole, and what holds the workflows behind one door."""

import ast
import importlib
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from loopwright.diagram import mermaid
from loopwright.workflows import registry
from loopwright.workflows.api import Workflow

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src"
STUBS = sorted(SOURCES.rglob("__init__.pyi"))
REQUIREMENTS = ROOT.parent / "shared" / "requirements"
DOCUMENTS = (
    "langgraph-setup.md", "rag-retry-mechanism.md", "reflect-and-replan-wiring.md", "replanning-logic.md",
    "summarizer-state-models.md",
)  # fmt: skip


def scenarios_tested() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in (ROOT / "tests/acceptance").glob("test_*.py"):
        tree = ast.parse(path.read_text())
        (document,) = (
            node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENT"
        )
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        found[document] = {ast.get_docstring(node).splitlines()[0] for node in functions}
    return found


def scenarios_of(text: str) -> set[str]:
    """The titled scenarios; of a guide without any, its changes, tables, recommendations and enhancements."""
    if titled := set(re.findall(r"^#### Scenario: (.+)$", text, re.MULTILINE)):
        return titled
    headings = re.findall(r"^### (?:\d\. |Scenario \d: )?(.+?):?$", text, re.MULTILINE)
    headings += re.findall(r"^(?:- \[ \]|## \d\. (?=Preserving)) ?(.+)$", text, re.MULTILINE)
    items = re.findall(r"^\d\. \*\*([^`]+?):?\*\*", text, re.MULTILINE)
    return {title for title in (*headings, *items) if not title.startswith("Before")}


@pytest.mark.skipif(not REQUIREMENTS.is_dir(), reason="the requirement documents are not beside the repository")
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_scenario_has_a_test_named_after_it(document):
    assert scenarios_tested()[document] == scenarios_of((REQUIREMENTS / document).read_text())


def test_no_acceptance_test_is_skipped_or_expected_to_fail():
    for path in (ROOT / "tests/acceptance").glob("test_*.py"):
        assert not re.search(r"mark\.(skip|skipif|xfail)|pytest\.(skip|xfail)\(", path.read_text()), path


@pytest.mark.parametrize("stub", STUBS, ids=[str(stub.parent.relative_to(SOURCES)) for stub in STUBS])
def test_public_names_are_imported_on_first_use_and_are_what_the_stub_says(stub):
    package = importlib.import_module(".".join(stub.parent.relative_to(SOURCES).parts))
    said = {
        (name.name, f"{'.' * node.level}{node.module}")
        for node in ast.parse(stub.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    assert list(package.__all__) == sorted(name for name, _ in said)
    for name, module in said:
        assert getattr(package, name) is getattr(importlib.import_module(module, package.__name__), name)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = package.nothing_like_it


def test_what_runs_no_graph_does_not_import_langgraph():
    modules = [
        "cli",
        "workflows.assistant.sources.catalogue",
        "workflows.assistant.sources.sample",
        "workflows.iqa.batch.processes",
        "workflows.iqa.comparing",
        "workflows.iqa.tools.registry",
    ]
    code = "import importlib, sys\nfor each in sys.argv[1:]: importlib.import_module('loopwright.' + each)"
    code += "; assert not [name for name in sys.modules if name.split('.')[0] == 'langgraph'], each"
    subprocess.run([sys.executable, "-c", code, *modules], check=True)


def test_what_no_test_imports_finds_the_names_that_it_takes_from_the_package():
    """Scripts, benchmarks and what runs in processes of its own; not all of it runs in every ``./test``."""
    for path in (each for folder in ("benchmarks", "scripts", "tests") for each in (ROOT / folder).rglob("*.py")):
        if path.name.startswith("test_"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("loopwright"):
                module = importlib.import_module(node.module)
                for name in node.names:
                    if not hasattr(module, name.name):
                        importlib.import_module(f"{node.module}.{name.name}")


def test_the_generated_files_are_those_of_today(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check"])
    runpy.run_path(str(ROOT / "scripts/generate.py"), run_name="__main__")


def test_no_addresses_or_machine_paths_in_the_pins():
    assert "://" not in (ROOT / "requirements.lock").read_text()


def test_every_loopwright_error_is_in_the_tree_that_errors_py_draws():
    import loopwright.errors as errors

    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__))
    defined = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.LoopwrightError) and value is not errors.LoopwrightError
    }
    assert drawn == defined


def test_the_bundled_input_is_assessed_and_reported(tmp_path, monkeypatch, capsys):
    """What ``./run`` shows: the first thing that a stranger sees."""
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples/demo.py"), run_name="__main__")
    told = capsys.readouterr().out
    assert "loop agent: 5/5 passes, then the fallback answers:" in told
    assert told.count("P E S") == 8
    assert "report with pictures: results/report.html" in told
    assert (tmp_path / "results/report.html").read_text(encoding="utf-8").count("<article") == 8


PACKAGE = SOURCES / "loopwright"
NAMES = ("assistant", "iqa", "rag")
THE_SAME = (
    "workflow.py", "graph.py", "state.py", "schemas.py", "config.py", "nodes", "prompts", "question", "sources", "answer",
)  # fmt: skip
"""What each workflow has: how it is run, what flows through it, and what is asked, known and said."""
OTHER_SENSE = {
    "retrieval/web/quoting.py": "the roles of a chat",
    "engine/budget/patience.py": "an example's question",
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
def test_each_workflows_document_shows_the_diagram_that_the_program_prints(name):
    diagram = mermaid(importlib.import_module(f"loopwright.workflows.{name}").build_graph().topology())
    assert diagram.strip() in (ROOT / f"docs/{name}.md").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_each_workflow_has_the_same_names_and_no_module_name_twice(name):
    folder = PACKAGE / "workflows" / name
    assert [part for part in THE_SAME if not (folder / part).exists()] == []
    modules = Counter(path.stem for path in folder.rglob("*.py") if not path.stem.startswith("__"))
    assert [module for module, count in modules.items() if count > 1] == []
