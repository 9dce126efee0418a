"""``loopwright check --certificate``: a deployed graph against the certificate that somebody reviewed."""

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from loopwright.check.loading import load_graphs
from loopwright.check.reviewed import changes
from loopwright.cli import app, main
from loopwright.engine.proof.certificate import Certificate
from loopwright.errors import GraphError

GRAPH = """
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict
from loopwright import bounded

class State(TypedDict, total=False):
    n: int

builder = StateGraph(State)
builder.add_node("work", lambda state: {{"n": 1}})
builder.add_edge(START, "work")
builder.add_conditional_edges("work", lambda state: "work", ["work", END])
{more}
app = bounded(builder, limit={limit})
plain = builder.compile()
"""


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", False)  # as on most machines
    file = tmp_path / "deployed.py"
    file.write_text(GRAPH.format(limit=3, more=""))
    run("deployed.py:app", "--write-certificate", "reviewed.json")
    return file


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["check", *words])
    return result.exit_code, result.output


def test_a_graph_that_is_as_it_was_reviewed_passes(graph: Path) -> None:
    assert run("deployed.py:app", "--certificate", "reviewed.json") == (
        0, "deployed.py:app: nothing is worse than in reviewed.json\n",
    )  # fmt: skip
    kept = Certificate.from_json(Path("reviewed.json").read_text())
    assert Certificate.from_json(kept.to_json()) == kept


@pytest.mark.parametrize(
    ("limit", "more", "name", "says"),
    [
        (9, "", "app", ("the loop work grants up to 9 passes, reviewed were 3", "up to 20 supersteps, reviewed were 8")),
        (3, "", "plain", ("the cycle work -> work is new, and nothing bounds it",)),
        (3, "builder.add_node('new', lambda s: {}); builder.add_edge('work', 'new'); builder.add_edge('new', 'work')",
         "app", ("supersteps, reviewed were 8",)),
    ],
)  # fmt: skip
def test_what_got_worse_is_named_with_both_figures(
    graph: Path, limit: int, more: str, name: str, says: tuple[str, ...]
) -> None:
    graph.write_text(GRAPH.format(limit=limit, more=more))
    code, output = run(f"deployed.py:{name}", "--certificate", "reviewed.json")
    assert code == 1
    for each in says:
        assert each in output


def test_what_a_node_begins_to_call_and_is_not_counted_is_named(graph: Path) -> None:
    more = "own = StateGraph(State).add_node('x', lambda s: s).add_edge(START, 'x').add_edge('x', 'x').compile()\n"
    more += "def first(state): return own.invoke(state)\nouter = StateGraph(State).add_node('y', first)\n"
    more += "outer = outer.add_edge(START, 'y').compile()\ndef call(state): return {}\nbuilder.add_node('more', call)\nbuilder.add_edge('work', 'more')"
    graph.write_text(source := GRAPH.format(limit=3, more=more))
    assert run("deployed.py:app", "--write-certificate", "reviewed.json")[0] == 0
    graph.write_text(source.replace("return {}", "return outer.invoke(state)"))
    code, output = run("deployed.py:app", "--certificate", "reviewed.json")
    assert code == 1 and "it now rests on: more calls 1 graph(s) inside" in output
    assert "it now rests on: more calls a graph that nothing bounds" in output


AGENT = """
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from loopwright import bounded
from loopwright.testing import ScriptedChatModel

def search(query: str) -> str:
    "Search."
    return query

model = ScriptedChatModel(replies=[])
app = bounded(create_agent(model, [search], middleware=[ModelCallLimitMiddleware(run_limit={limit})]), limit={limit})
"""


def test_an_agent_with_a_limit_of_langchain_s_is_compared_too(graph: Path) -> None:
    graph.write_text(AGENT.format(limit=3))
    assert run("deployed.py:app", "--write-certificate", "reviewed.json", "--certificate", "reviewed.json")[0] == 1
    assert run("deployed.py:app", "--certificate", "reviewed.json")[0] == 0
    graph.write_text(AGENT.format(limit=4))
    assert "grants up to 4 passes, reviewed were 3" in run("deployed.py:app", "--certificate", "reviewed.json")[1]


def test_a_folder_is_asked_for_the_file_that_is_meant(graph: Path) -> None:
    for folder in (str(graph.parent), "kept"):
        Path("kept").mkdir(exist_ok=True)
        with pytest.raises(GraphError, match=r"is a folder; name the file that is meant, too: .*FILE.py:GRAPH"):
            load_graphs(folder)


def test_fractions_of_seconds_are_no_change() -> None:
    reviewed = Certificate(bounded=True, max_seconds=0.3)
    assert changes(reviewed, Certificate(bounded=True, max_seconds=0.1 + 0.2)) == []
    assert len(changes(reviewed, Certificate(bounded=True, max_seconds=0.31))) == 1


def test_a_file_that_was_written_again_within_a_second_is_read_anew(graph: Path) -> None:
    before = graph.stat()
    graph.write_text(GRAPH.format(limit=9, more=""))
    os.utime(graph, ns=(before.st_atime_ns, before.st_mtime_ns))  # as long and as old as the file that was checked
    assert graph.stat().st_size == before.st_size
    assert run("deployed.py:app", "--certificate", "reviewed.json", "--write-certificate", "reviewed.json")[0] == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "cannot read the certificate"), ("{}", "bad.json: this is no certificate of version 2: bounded: Field required"), ("no", "no certificate"),
     (json.dumps({"version": 1, "bounded": True}), "Input should be 2")],
)  # fmt: skip
def test_a_file_that_is_no_certificate_is_one_line(
    graph: Path, text: str | None, says: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if text is not None:
        Path("bad.json").write_text(text)
    monkeypatch.setattr("sys.argv", ["loopwright", "check", "deployed.py:app", "--certificate", "bad.json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert says in said and "Traceback" not in said and said.count("\n") == 1
