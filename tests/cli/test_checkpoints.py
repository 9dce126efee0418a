"""``loopwright checkpoints``: real graphs, real savers, the program's own entry point."""

from __future__ import annotations

import hashlib
import json
import operator
import sqlite3
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send, interrupt
from postgres import address
from pydantic import BaseModel
from typer.testing import CliRunner, Result

from loopwright.checkpoints import open_checkpointer
from loopwright.checkpoints.history import summaries
from loopwright.checkpoints.opening import open_archive
from loopwright.cli import app
from loopwright.engine import Loop, bounded
from loopwright.errors import LoopwrightError

KINDS = ["json", "sqlite", "postgresql"]
LARGE = "".join(f"sentence {number}. " for number in range(8000))


READS: list[str] = []
"""How often the subgraph's first node ran."""


class Note(BaseModel):
    """A class of the user's."""

    text: str


class State(TypedDict, total=False):
    n: int
    log: Annotated[list[Any], operator.add]
    text: str
    note: Note
    extra: dict[str, Any]


def spec_of(kind: str, folder: Path) -> str:
    if kind == "postgresql":
        return f"{address()}&schema=s{hashlib.sha256(str(folder).encode()).hexdigest()[:16]}"
    return f"json:{folder / 'runs'}" if kind == "json" else f"sqlite:{folder / 'runs.db'}"


def config_of(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def graph_of(saver: Any, *, ask: bool = False, fail: bool = False) -> Any:
    """draft -> grade -> draft ... (at most twice again) -> a subgraph that may ask -> two workers -> done."""

    def review(state: State) -> State:
        if fail:
            raise RuntimeError("told to fail")
        return {"log": [interrupt("publish?") if ask else "yes"]}

    inner = StateGraph(State)
    inner.add_node("read", lambda state: READS.append("read") or {"extra": {"read": True}})
    inner.add_node("review", review)
    inner.add_edge(START, "read")
    inner.add_edge("read", "review")
    graph = StateGraph(State)
    graph.add_node(
        "draft", lambda state: {"n": state["n"] + 1, "log": [f"draft {state['n']}"], "text": f"No. {state['n']}"}
    )
    graph.add_node("grade", lambda state: {"note": Note(text=f"not yet {state['n']}")})
    graph.add_node("publish", inner.compile())
    graph.add_node("work", lambda item: {"log": [f"work {item}"]})
    graph.add_node("done", lambda state: {"text": "done"})
    graph.add_edge(START, "draft")
    graph.add_edge("draft", "grade")
    graph.add_conditional_edges("grade", lambda state: "draft", ["draft", "publish"])
    graph.add_conditional_edges("publish", lambda state: [Send("work", 1), Send("work", 2)], ["work"])
    graph.add_edge("work", "done")
    graph.add_edge("done", END)
    again = Loop(name="again", target="draft", sources=("grade",), limit=2, exhausted="publish")
    return bounded(graph, [again], checkpointer=saver)


@pytest.fixture(params=KINDS)
def spec(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Three runs: one finished, one that asks, one that failed."""
    spec = spec_of(request.param, tmp_path)
    with open_checkpointer(spec, allow=[State]) as saver:
        given = {"n": 0, "log": [LARGE]}
        graph_of(saver).invoke(given, config_of("finished run"), durability="sync")
        graph_of(saver, ask=True).invoke(given, config_of("asking"), durability="sync")
        with pytest.raises(Exception, match="told to fail"):
            graph_of(saver, fail=True).invoke(given, config_of("failing"), durability="sync")
    return spec


def run(*words: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["checkpoints", *words])
    problem = done.exception
    assert isinstance(problem, LoopwrightError | SystemExit | None), repr(problem)  # what main() makes one line of
    assert (2 if isinstance(problem, LoopwrightError) else done.exit_code) == code, done.output
    return done


def listed(spec: str) -> dict[str, Any]:
    return {thread["id"]: thread for thread in json.loads(run("list", spec, "--json").output)}


# --- list --------------------------------------------------------------------------------------------------------


def test_list_says_how_each_run_stands(spec: str) -> None:
    threads = listed(spec)
    assert {name: thread["status"] for name, thread in threads.items()} == {
        "finished run": "finished",
        "asking": "interrupted",
        "failing": "failed",
    }
    finished = threads["finished run"]
    assert finished["next"] == []
    assert threads["asking"]["next"] == ["publish"]
    assert finished["loops"]["again"]["spent"] == 2
    assert finished["stop_reason"]["outcome"] == "exhausted"
    assert finished["checkpoints"] == finished["step"] + 2


# --- prune -------------------------------------------------------------------------------------------------------


def test_prune_only_says_what_it_would_delete(spec: str) -> None:
    before = listed(spec)
    shown = run("prune", spec, "--older-than", "0s").output
    assert "finished run (finished)\n" in shown
    assert shown.endswith("nothing was deleted; do it with --yes\n")
    assert listed(spec) == before
    assert run("prune", spec, "--older-than", "1d", "--yes").output == "nothing to delete\n"


def test_prune_gives_room_back(spec: str, tmp_path: Path) -> None:
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = sum(path.stat().st_size for path in files)
    shown = run("prune", spec, "--older-than", "0s", "--thread", "finished run", "--yes").output
    assert "deleted: 1 runs" in shown
    run("prune", spec, "--older-than", "0s", "--yes")
    assert listed(spec) == {}
    assert not before or sum(path.stat().st_size for path in files if path.exists()) < before / 4


# --- mistakes ----------------------------------------------------------------------------------------------------


def make_empty_database(folder: Path) -> None:
    sqlite3.connect(folder / "other.db").executescript("CREATE TABLE t (a); INSERT INTO t VALUES (1)")


@pytest.mark.parametrize(
    ("place", "made", "message"),
    [
        ("sqlite:missing.db", None, "there is no checkpoint database missing.db"),
        ("json:missing", None, "there is no checkpoint folder missing"),
        ("sqlite:text.db", lambda folder: (folder / "text.db").write_text("no database " * 99), "cannot be used"),
        ("sqlite:other.db", make_empty_database, "holds no checkpoints"),
        ("memory", None, "keeps nothing"),
        ("sqlit:runs.db", None, "Did you mean 'sqlite'?"),
    ],
)
def test_a_wrong_place_is_one_error_and_makes_nothing(
    place: str, made: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if made:
        made(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    done = run("prune", place, "--older-than", "0s", "--yes", code=2)
    assert message in str(done.exception)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("prune", "{}", "--older-than", "soon"), "give a number and a unit"),
        (("prune", "{}", "--older-than", "99999999999w"), "longer than there is time"),
        (("prune", "{}", "--older-than", "999999w"), "longer than there is time"),
        (("prune", "{}", "--older-than", "0s", "--thread", "askin"), "Did you mean 'asking'?"),
    ],
)
@pytest.mark.parametrize("spec", ["sqlite"], indirect=True)
def test_a_mistake_is_named(spec: str, words: tuple[str, ...], message: str) -> None:
    done = run(*(word.format(spec) for word in words), code=2)
    assert message in str(done.exception)


@pytest.mark.parametrize("spec", ["json"], indirect=True)
def test_a_damaged_file_hides_no_other_run(spec: str, tmp_path: Path) -> None:
    victim = next((tmp_path / "runs").glob("*_asking.json"))
    victim.write_text(victim.read_text()[:-100])
    with open_archive(spec) as archive:
        assert {summary.id for summary in summaries(archive)} == {"finished run", "failing"}
