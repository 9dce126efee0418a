"""``loopwright evaluate``."""

from __future__ import annotations

import json

import pytest

GRAPH = """
from typing import Literal, TypedDict
from langgraph.graph import START, StateGraph
from loopwright import Loop, bounded

class Count(TypedDict, total=False):
    topic: str
    text: str

def add(state: Count) -> Count:
    return {"text": state.get("text", "") + "x"}

def route(state: Count) -> Literal["add", "__end__"]:
    return "add" if len(state["text"]) < 3 else "__end__"

builder = StateGraph(Count).add_node("add", add).add_edge(START, "add").add_conditional_edges("add", route)
graph = bounded(builder, Loop(name="more", target="add", sources=("add",), limit=5, exhausted="__end__"))
"""


def test_a_graph_of_ones_own_is_measured_with_and_without_its_loop(loopwright, tmp_path):
    (tmp_path / "count.py").write_text(GRAPH)
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "a", "topic": "t", "expected": {"answers": ["xxx"]}}))
    words = ("evaluate", "count.py", "q.jsonl", "--without-loops")
    found = json.loads(loopwright(*words, "--json", cwd=tmp_path).stdout)
    assert (found["workflow"], found["questions"], found["em"]) == ("count.py:graph", 1, 1.0)
    assert found["loops"]["more"]["gains"]["em"]["value"] == 1.0
    told = loopwright(*words, cwd=tmp_path)
    assert "em" in told.stdout and "more" in told.stdout and told.stderr == ""


def test_what_was_ingested_is_asked(loopwright, tmp_path):
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "c1", "title": "Bread", "text": "Bread is baked in an oven."}))
    assert loopwright("rag", "ingest", "c.jsonl", cwd=tmp_path).returncode == 0
    row = {"id": "a", "question": "Where is bread baked?", "expected": {"citations": ["c1"]}}
    (tmp_path / "q.jsonl").write_text(json.dumps(row))
    found = json.loads(loopwright("evaluate", "rag", "q.jsonl", "--json", cwd=tmp_path).stdout)
    assert found["gathered_recall"] == found["citation_precision"] == 1.0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ragg", "q.jsonl"], "Did you mean 'rag'?"),
        (["rag", "none.jsonl"], "none.jsonl"),
        (["iqa", "q.jsonl"], "line 1 is no question: unknown key 'quer'. Did you mean 'query'?"),
        (["iqa", "i.jsonl"], "question 'a': image is 'gone.png'"),
    ],
)
def test_mistakes_are_one_line(loopwright, tmp_path, words, said):
    (tmp_path / "q.jsonl").write_text('{"id": "a", "quer": "x"}')
    (tmp_path / "i.jsonl").write_text('{"id": "a", "query": "Sharp?", "image": "gone.png"}')
    done = loopwright("evaluate", *words, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
