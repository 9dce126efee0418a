"""What docs/tutorial.md, docs/budgets.md and docs/what-the-proof-means.md say is what the program does.

``python tests/meta/test_tutorial.py`` writes what the commands print today into the tutorial's console blocks.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import io
import logging
import os
import re
import runpy
import shlex
import sys
import textwrap
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import typer
from langgraph.graph import END, START, StateGraph

import loopwright.testing
from loopwright import Loop, bounded
from loopwright.cli import app as commands
from loopwright.engine.proof.worst_case import assumptions_of
from loopwright.errors import UnboundedCycleError

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
EXAMPLES = ROOT / "examples/tutorial"
GRAPHS = sorted(path for path in EXAMPLES.glob("*.py") if path.name != "showing.py")
CONSOLE = re.compile(r"^```console\n\$ (.+)\n((?s:.*?))^```$", re.MULTILINE)
PYTHON = re.compile(r"^```python\n((?s:.*?))^```$", re.MULTILINE)


def printed(command: str) -> str:
    """What a terminal shows of a command: what it prints, and the warnings that Python prints when nobody logs."""
    program, *words = shlex.split(command)
    terminal = io.StringIO()
    warnings = logging.StreamHandler(terminal)
    warnings.setLevel(logging.WARNING)
    logger = logging.getLogger("loopwright")
    logger.addHandler(warnings)
    try:
        with redirect_stdout(terminal), redirect_stderr(terminal), patch.object(sys, "path", [*sys.path]):
            {"python": run_file, "loopwright": run_command}[program](words)
    finally:
        logger.removeHandler(warnings)
    return "".join(f"{line.rstrip()}\n" for line in terminal.getvalue().splitlines())


def run_file(words: list[str]) -> None:
    sys.path.insert(0, str(EXAMPLES))
    with patch.object(sys, "argv", words):
        runpy.run_path(words[0], run_name="__main__")


def run_command(words: list[str]) -> None:
    with suppress(typer.Exit):
        commands(words, standalone_mode=False)


def blocks() -> list[tuple[str, str]]:
    return CONSOLE.findall(TUTORIAL.read_text())


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.mark.parametrize(("command", "output"), blocks(), ids=[command for command, _ in blocks()])
def test_a_command_of_the_tutorial_prints_what_the_tutorial_says(command, output):
    assert printed(command) == output


def test_the_tutorial_shows_every_part_of_every_file():
    shown = {command for command, _ in blocks()}
    for path in GRAPHS:
        name = path.relative_to(ROOT).as_posix()
        assert shown >= {f"loopwright check {name}", *(f"python {name} {part}" for part in PARTS)}


PARTS = ("today", "limit", "loops")


@pytest.mark.parametrize("path", GRAPHS, ids=lambda path: path.stem)
def test_a_file_without_a_word_shows_all_its_parts(path):
    name = path.relative_to(ROOT).as_posix()
    assert printed(f"python {name}") == "".join(printed(f"python {name} {part}") for part in PARTS)


def test_the_tutorials_snippets_stand_in_its_files():
    sources = [path.read_text() for path in GRAPHS]
    snippets = PYTHON.findall(TUTORIAL.read_text())
    assert len(snippets) >= 4
    for snippet in snippets:
        assert any(snippet in source or textwrap.indent(snippet, "    ") in source for source in sources), snippet


@pytest.mark.parametrize("document", ["budgets.md", "what-the-proof-means.md"])
def test_the_snippets_of_a_document_run_in_order_and_their_assertions_hold(document):
    names: dict[str, object] = {"__name__": "snippets"}
    snippets = PYTHON.findall((ROOT / "docs" / document).read_text())
    assert snippets
    for number, snippet in enumerate(snippets):
        assert "assert " in snippet
        exec(compile(snippet, f"{document}, snippet {number}", "exec", dont_inherit=True), names)


def module(name: str) -> Any:
    """One of the tutorial's files, imported."""
    with patch.object(sys, "path", [str(EXAMPLES), *sys.path]):
        return importlib.import_module(name)


def explained() -> list[str]:
    table = (ROOT / "docs/what-the-proof-means.md").read_text().partition("| assumption |")[2].partition("\n\n")[0]
    return [line.split(" | ")[0].removeprefix("| ") for line in table.splitlines()[2:]]


def test_the_explained_assumptions_are_all_that_the_program_can_make():
    assert sorted(explained()) == sorted(texts_in_the_source())


def texts_in_the_source() -> list[str]:
    """The texts of assumptions, with an ellipsis in the place of each name or number."""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(assumptions_of))).body
    texts: list[ast.expr] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append":
            texts += node.args
        elif isinstance(node, ast.Assign) and node.targets[0].id == "found":
            texts += node.value.elts
    parts = [text.values if isinstance(text, ast.JoinedStr) else [text] for text in texts]
    return ["".join(part.value if isinstance(part, ast.Constant) else "..." for part in each) for each in parts]


def test_the_assumptions_of_real_certificates_are_explained():
    patterns = [".+".join(re.escape(part) for part in text.split("...")) for text in explained()]
    for path in GRAPHS:
        for assumption in bounded(module(path.stem).app, limit=1).certificate.assumptions:
            assert any(re.fullmatch(pattern, assumption) for pattern in patterns), assumption


def declarations() -> list[str]:
    table = TUTORIAL.read_text().partition("| You fear that |")[2].partition("\n\n")[0]
    return [re.findall(r"`(.+?)`", line.split(" | ")[1])[0] for line in table.splitlines()[2:]]


@pytest.mark.parametrize("declaration", declarations())
def test_what_the_table_of_fears_declares_can_be_declared(declaration):
    names = {name: getattr(loopwright, name) for name in loopwright.__all__}
    if re.match(r"\w+=", declaration):
        fields = eval(f"dict({declaration})", names)
        assert Loop(**{"name": "l", "target": "a", "sources": ("b",), "limit": 1, **fields})
    else:
        assert eval(declaration, {**names, "assert_bounded": loopwright.testing.assert_bounded, "graph": PLAIN})


PLAIN = StateGraph(dict).add_node("a", lambda state: state).add_edge(START, "a")


def test_a_fallback_that_leads_back_is_refused_as_the_tutorial_says():
    rag = module("adaptive_rag")
    back = dataclasses.replace(rag.write_again, exhausted="rewrite_query", scope="run")
    improve = dataclasses.replace(rag.improve, exhausted=END)
    with pytest.raises(UnboundedCycleError, match="rewrite_query"):
        bounded(rag.app, [rag.search_again, improve, back])
    out = dataclasses.replace(back, exhausted=END)
    assert bounded(rag.app, [rag.search_again, improve, out]).certificate.bounded


def rewrite() -> None:
    """Write what the commands print today into the tutorial."""

    def block(found: re.Match[str]) -> str:
        return f"```console\n$ {found[1]}\n{printed(found[1])}```"

    TUTORIAL.write_text(CONSOLE.sub(block, TUTORIAL.read_text()))


if __name__ == "__main__":
    os.chdir(ROOT)
    rewrite()
