"""``loopwright evaluate``."""

import json
from contextlib import closing

import pytest

from loopwright.runs.store import open_runs

GRAPH = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from loopwright import Loop, bounded

class Count(TypedDict, total=False):
    topic: str
    text: str

add = lambda state, runtime: print("x", *runtime.context) or {"text": state.get("text", "") + " x"}
builder = StateGraph(Count, context_schema=dict).add_node("add", add).add_edge(START, "add")
builder.add_conditional_edges("add", lambda state: "add" if len(state["text"]) < 6 else END, ["add", END])
graph = bounded(builder, Loop(name="more", target="add", sources=("add",), limit=5, exhausted="__end__"))
"""


def test_a_graph_of_ones_own_is_measured_without_its_loop_and_its_versions_are_kept(loopwright, tmp_path):
    (tmp_path / "count.py").write_text(GRAPH)
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": 7, "topic": "t", "expected": {"answers": "x x x"}}))
    words = ("evaluate", "count.py", "q.jsonl", "--without-loops")
    found = json.loads(loopwright(*words, "--json", cwd=tmp_path).stdout)
    assert (found["workflow"], found["questions"], found["em"]) == ("count-graph", 1, 1.0)
    assert [found["loops"]["more"]["gains"][score]["value"] for score in ("em", "f1")] == [1.0, 0.5]
    told = loopwright(*words, cwd=tmp_path)
    assert "em" in told.stdout and "more" in told.stdout and {*told.stderr} == {"x", "\n"}
    assert loopwright("run", "count.py", "--topic", "t", cwd=tmp_path).stdout == " x x x\n"
    for version in ("first", "second", "first"):
        assert loopwright("evaluate", "count.py", "q.jsonl", "--keep", version, cwd=tmp_path).returncode == 0
    with closing(open_runs(f"sqlite:{tmp_path / '.loopwright/runs.db'}")) as store:
        found = store.evaluations("count-graph")
    assert [(each.questions, each.version) for each in found] == [("q", "first"), ("q", "second")]
    assert found[0].figures["em"].value == found[0].answers[0].scores["em"] == 1.0


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
        (["iqa", "q.jsonl"], "line 1 is no question: unknown key 'quer'. Did you mean 'query'?"),
        (["rag", "q.jsonl", "--keep", " "], "--keep names no version: call it what was changed"),
        (["rag", "q.jsonl", "--prompt", "answer=2"], "--prompt goes with --keep"),
        (["rag", "q.jsonl", "--keep", "x", "--prompt", "answer"], "give PROMPT=N"),
        (["rag", "g.jsonl", "--keep", "x", "--prompt", "answer=2"], "unknown prompt 'answer'"),
        (["iqa", "i.jsonl"], "question 'a': image is 'gone.png'"),
        (["count.py", "q.jsonl", "--set", "langgraph.debug_mode=true"], "a graph of your own reads neither"),
    ],
)
def test_mistakes_are_one_line(loopwright, tmp_path, words, said):
    (tmp_path / "q.jsonl").write_text('{"id": "a", "quer": "x"}')
    (tmp_path / "count.py").write_text(GRAPH)
    (tmp_path / "g.jsonl").write_text('{"id": "a", "question": "x"}')
    (tmp_path / "i.jsonl").write_text('{"id": "a", "query": "Sharp?", "image": "gone.png"}')
    done = loopwright("evaluate", *words, cwd=tmp_path)
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr
