"""Whoever lacks the package of an extra is told which extra to install, in one line, and the rest works."""

import subprocess
import sys
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
SAMPLE = str(ROOT / "src/loopwright/workflows/iqa/data/sample")

CLI = "sys.argv = ['loopwright', {}]; from loopwright.cli import main; main()"
MISSING = [
    (
        "mermaidx", "diagram",
        "from loopwright.engine.proof.graph import Topology; from loopwright.diagram.drawing import svg; svg(Topology('g', (), ()))",
    ),
    ("mcp", "mcp", "sys.modules |= {'sqlalchemy': None, 'uvicorn': None}; " + CLI.format("'mcp'")),
    ("psycopg", "postgres", "from loopwright.checkpoints import open_checkpointer; open_checkpointer('postgresql:///base')"),
    ("psycopg", "postgres", "from loopwright.runs.store import open_runs; open_runs('postgresql://db/x')"),
    ("opentelemetry", "otel", "from loopwright.tracing import instrument; instrument()"),
    ("langchain", "chat", "import loopwright.langchain as own; own.same_call_same_result(); own.LoopMiddleware"),
    ("pyarrow", "parquet", CLI.format("'iqa', 'batch', '.', '--out', 'r.parquet'")),
]  # fmt: skip


@pytest.mark.matrix(2)
@pytest.mark.parametrize(("package", "extra", "code"), MISSING)
def test_a_missing_package_is_named_with_its_extra(package, extra, code, tmp_path):
    hidden = f"import sys; sys.modules[{package!r}] = None\nimport loopwright\n{code}"
    done = subprocess.run([sys.executable, "-c", hidden], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"'loopwright[{extra}]'" in done.stderr.strip().splitlines()[-1], done.stderr
    assert list(tmp_path.iterdir()) == []


HIDING = """
import sys
from importlib.machinery import PathFinder

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, path=None, target=None: (
    None if name.partition(".")[0] in {hidden} else find(name, path, target)
)
sys.argv = {words}
from loopwright.cli import main

if __name__ == "__main__":
    main()
"""
"""Runs the program as if some packages were not there."""


def with_what_they_need(requirements: Iterable[str]) -> set[str]:
    """The distributions that requirements bring, with those of the extras that they name."""
    found, left = set[tuple[str, str]](), [*map(Requirement, requirements)]
    while left:
        one = left.pop()
        for extra in {*one.extras, ""} - {extra for name, extra in found if name == canonicalize_name(one.name)}:
            found.add((canonicalize_name(one.name), extra))
            with suppress(PackageNotFoundError):
                needed = map(Requirement, requires(one.name) or [])
                left += (each for each in needed if not each.marker or each.marker.evaluate({"extra": extra}))
    return {name for name, _ in found}


@pytest.mark.matrix
@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("", ["check", str(ROOT / "examples/agent.py")]),
        ("iqa", ["iqa", "batch", SAMPLE, "--out", "rows.csv", "--workers", "2"]),
        ("rag", ["rag", "ingest", str(ROOT / "docs")]),
        ("assistant", ["assistant", "ask", "Which keynotes are there?"]),
        ("mcp", ["mcp", str(ROOT / "examples/agent.py")]),
    ],
)
def test_an_extra_brings_all_that_its_workflow_needs(extra, command, tmp_path):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    own = with_what_they_need(project["dependencies"] + extras.get(extra, []))
    others = with_what_they_need(chain(*extras.values())) - own
    packages = packages_distributions().items()
    hidden = {package for package, of in packages if {*map(canonicalize_name, of)} <= others}
    assert len(hidden) > 20
    program = [sys.executable, "-c", HIDING.format(hidden=hidden, words=["loopwright", *command])]
    done = subprocess.run(program, cwd=tmp_path, input="", capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1) and "not installed" not in done.stderr and "Traceback" not in done.stderr, done
