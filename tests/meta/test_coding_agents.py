"""What coding agents are told is true: the skill's code runs, and what it and AGENTS.md name is there."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import yaml
from langgraph.graph import MessagesState
from shapes import graph

import loopwright
import loopwright.testing
from loopwright import Budget, Loop, bounded

ROOT = Path(__file__).resolve().parents[2]
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
