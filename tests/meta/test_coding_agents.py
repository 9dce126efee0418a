"""What coding agents are told is true: the skill's code runs, and what it and AGENTS.md name is there."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import yaml
from langgraph.graph import END, START, MessagesState, StateGraph

import loopwright
import loopwright.testing
from loopwright import Budget, Loop, bounded

ROOT = Path(__file__).resolve().parents[2]
SKILL = Path(loopwright.__file__).parent / "skills/bound-this-graph/SKILL.md"


def test_the_skill_bounds_a_graph_as_it_says():
    _, head, body = SKILL.read_text().split("---\n", 2)
    about = yaml.safe_load(head)
    assert about["name"] == SKILL.parent.name and len(about["description"]) < 1024
    builder = StateGraph(MessagesState)
    for node in ("search", "grade", "answer"):
        builder.add_node(node, lambda state: {})
    builder.add_edge(START, "search")
    builder.add_edge("search", "grade")
    builder.add_conditional_edges("grade", lambda state: "search", ["search", "answer"])
    builder.add_edge("answer", END)
    (code,) = re.findall(r"^ *```python\n(.*?)^ *```$", body, re.MULTILINE | re.DOTALL)
    made = {"builder": builder}
    exec(textwrap.dedent(code), made)
    graph = made["graph"]
    final = graph.invoke({"messages": ["hello"]})
    assert graph.certificate.require().max_runs_by_node["search"] == 4
    assert final["stop_reason"]["loop"] == "rewrite" and final["stop_reason"]["outcome"] == "exhausted"
    loopwright.testing.assert_bounded(graph)
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
