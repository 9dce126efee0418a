"""A run written out as a test: pytest runs it, and it says when the graph goes another way."""

import asyncio
from pathlib import Path

import pytest
from hosted_graphs import Walk, opened, ran

from loopwright.check.loading import load_graphs
from loopwright.checkpoints.allowlist import state_types
from loopwright.errors import InputError
from loopwright.runs.checkpoints import logged
from loopwright.runs.reproducing import test_of as written_out
from loopwright.workflows.user_graph import UserGraph

pytest_plugins = ["pytester"]

SOURCE = """\
from typing import TypedDict
from langgraph.graph import END, START, StateGraph

class State(TypedDict, total=False):
    text: str
    rounds: int
    answer: str

def write(state: State):
    rounds = state.get("rounds", 0) + 1
    return {"rounds": rounds, "answer": state["text"].upper(), "text": state["text"][:10 // (rounds < 9)]}

def again(state: State) -> str:
    return "write" if state["rounds"] < len(state["text"]) else END

graph = StateGraph(State)
graph.add_node(write)
graph.add_edge(START, "write")
graph.add_conditional_edges("write", again, ["write", END])
"""


@pytest.mark.matrix
@pytest.mark.parametrize(("text", "status"), [('a "tad"\\', "finished"), ("a long text", "failed")])
async def test_a_run_is_a_test_that_holds_until_the_graph_changes(
    tmp_path: Path, text: str, status: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "shout.py"
    file.write_text(SOURCE)
    (graph,) = load_graphs(f"{file}:graph").values()
    (tmp_path / "two.py").write_text(SOURCE + "first, last = graph.compile(interrupt_after=['write']), graph.compile()")
    assert [*load_graphs(str(tmp_path / "two.py"))] == [f"{tmp_path}/two.py:{name}" for name in ("first", "last")]
    hosted = UserGraph("shout", graph, place=f"{file}:graph", limit=20)
    other = tmp_path / "other" / "mine.py"
    other.parent.mkdir()
    other.write_text(f"from __future__ import annotations\nName = str\n{SOURCE.replace('text: str', 'text: Name')}")
    (later,) = load_graphs(f"{other}:graph").values()
    assert load_graphs(f"{file}:graph") and state_types(later.state_schema) == frozenset(), "it can be read"
    async with opened(tmp_path, hosted) as hub:
        record = await ran(hub, {"text": text}, "shout")
    assert record.status == status
    (tmp_path / "changed.py").write_text(SOURCE.replace("+ 1", "+ 5").replace("10 //", "10 + "))
    test = written_out(record, hosted, ())
    (tmp_path / "test_shout.py").write_text(test)
    (tmp_path / "test_changed.py").write_text(test.replace("shout.py", "changed.py"))
    # The plug-ins that happen to be installed take longer to load than the test to run.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    words = ("-q", "-p", "no:cacheprovider", str(tmp_path))
    told = (await asyncio.to_thread(pytester.runpytest_inprocess, *words)).stdout.str()  # in a loop of its own
    assert "test_changed.py::" in told and "1 failed, 1 passed" in told, told


async def test_what_makes_no_test_is_said(tmp_path: Path) -> None:
    async with opened(tmp_path, Walk()) as hub:
        waiting = await ran(hub, {"question": "why?", "ask": True})
        with pytest.raises(InputError, match="is waiting: only one that finished or failed"):
            written_out(waiting, hub.workflows["walk"], ())
        answered = await hub.until_ended((await hub.resume(waiting.id, answer="so")).id)
        with pytest.raises(InputError, match="asked a person, whose answers"):
            written_out(answered, hub.workflows["walk"], [*logged(hub.store, waiting.id)])
