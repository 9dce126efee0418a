"""What the tutorial and what-the-proof-means.md say in tables, and what coding agents are told, is what the program does."""

import ast
import dataclasses
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from langgraph.graph import END, START, MessagesState, StateGraph
from shapes import graph

import loopwright
import loopwright.testing
from loopwright import Budget, Loop, bounded
from loopwright.engine.proof.graph import AS_DECLARED
from loopwright.engine.proof.worst_case import assumptions_of
from loopwright.errors import UnboundedCycleError

ROOT = Path(__file__).resolve().parents[2]
TUTORIAL = ROOT / "docs/tutorial.md"
EXAMPLES = ROOT / "examples/tutorial"


def module(name: str) -> Any:
    """One of the tutorial's files, imported."""
    with patch.object(sys, "path", [str(EXAMPLES), *sys.path]):
        return importlib.import_module(name)


def rows_of(document: Path, first: str) -> list[list[str]]:
    """The cells of the table whose first column has this title."""
    table = document.read_text().partition(f"| {first} |")[2].partition("\n\n")[0]
    return [line.removeprefix("| ").split(" | ") for line in table.splitlines()[2:]]


def test_the_explained_assumptions_are_all_that_the_program_can_make():
    explained = [cells[0] for cells in rows_of(ROOT / "docs/what-the-proof-means.md", "assumption")]
    assert sorted(explained) == sorted(texts_in_the_source())


def texts_in_the_source() -> list[str]:
    """The texts of assumptions, with an ellipsis in the place of each name or number."""
    [function] = ast.parse(textwrap.dedent(inspect.getsource(assumptions_of))).body
    texts = [node.value for node in ast.walk(function) if isinstance(node, ast.Yield)]
    texts = [ast.Constant(AS_DECLARED) if isinstance(text, ast.Name) else text for text in texts]
    parts = [text.values if isinstance(text, ast.JoinedStr) else [text] for text in texts]
    return ["".join(part.value if isinstance(part, ast.Constant) else "..." for part in each) for each in parts]


FEARS = rows_of(TUTORIAL, "You fear that")


@pytest.mark.parametrize("declaration", [re.findall(r"`(.+?)`", cells[1])[0] for cells in FEARS])
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


SKILL = Path(loopwright.__file__).parent / "skills/bound-this-graph/SKILL.md"


def test_the_skill_bounds_a_graph_as_it_says():
    _, head, body = SKILL.read_text().split("---\n", 2)
    about = yaml.safe_load(head)
    assert about["name"] == SKILL.parent.name and len(about["description"]) < 1024
    nodes = dict.fromkeys(("search", "grade", "answer"), lambda _state: {})
    builder = graph("START-search search-grade grade?search grade?answer answer-END", MessagesState, **nodes)
    (code,) = re.findall(r"^ *```python\n(.*?)^ *```$", body, re.MULTILINE | re.DOTALL)
    made = {"builder": builder}
    exec(textwrap.dedent(code), made)
    app = made["graph"]
    final = app.invoke({"messages": ["hello"]})
    assert app.certificate.require().max_runs_by_node["search"] == 4
    assert final["stop_reason"]["loop"] == "rewrite" and final["stop_reason"]["outcome"] == "exhausted"
    loopwright.testing.assert_bounded(app)
    bounded(builder, limit=5, budget=Budget(model_calls=20, seconds=60))
    assert Loop.__dataclass_fields__.keys() >= {"budget", "exhausted"}


def test_what_agents_are_pointed_to_is_there():
    for place in ("AGENTS.md", "docs/llms.txt"):
        links = re.findall(r"\]\(([^)]+)\)", (ROOT / place).read_text())
        assert links
        for link in links:
            assert (ROOT / place).parent.joinpath(link).exists(), (place, link)
    listed = (ROOT / "docs/llms.txt").read_text()
    assert all(f"({page.name}): " in listed for page in (ROOT / "docs").glob("*.md"))
