"""Whoever lacks the package of an extra is told which extra to install, in one line, and the rest works."""

from __future__ import annotations

import subprocess
import sys

import pytest

CLI = "sys.argv = ['loopwright', {}]; from loopwright.cli import main; main()"
MISSING = [
    (
        "mermaidx", "diagram",
        "from loopwright.engine.proof.graph import Topology; from loopwright.diagram.drawing import svg; svg(Topology('g', (), ()))",
    ),
    ("psycopg", "postgres", "from loopwright.checkpoints import open_checkpointer; open_checkpointer('postgresql:///base')"),
    ("psycopg", "postgres", "from loopwright.runs.store import open_runs; open_runs('postgresql://db/x')"),
    ("mcp", "mcp", CLI.format("'mcp'")),
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
