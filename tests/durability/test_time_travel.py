"""Forks, replays, interrupts and new inputs: every branch keeps its own books."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crashing_graphs import three_loops
from crashing_record import Record
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.types import Command, interrupt
from shapes import HERE, State, graph

from loopwright.checkpoints import JsonFileSaver, open_checkpointer
from loopwright.engine import BoundedGraph, Loop, bounded, resume, run
from loopwright.engine.ledger import LEDGER


@pytest.fixture(params=["sqlite", "json", pytest.param("memory", marks=pytest.mark.slow)])
def saver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseCheckpointSaver[str]]:
    spec = {"memory": "memory", "sqlite": f"sqlite:{tmp_path}/runs.db", "json": f"json:{tmp_path}/runs"}
    with open_checkpointer(spec[request.param]) as opened:
        yield opened


def one_loop(saver: BaseCheckpointSaver[str], limit: int = 3) -> BoundedGraph:
    """``work -> check -> work``, for ever; then ``answer``."""
    made = graph("START-work work-check check?work check?answer answer-END")
    loop = Loop(name="again", target="work", sources=("check",), limit=limit, exhausted="answer")
    return bounded(made, [loop], checkpointer=saver)


def books(saver: BaseCheckpointSaver[str]) -> dict[str, Any]:
    """The ledger of each checkpoint."""
    return {saved.checkpoint["id"]: saved.checkpoint["channel_values"].get(LEDGER) for saved in saver.list(HERE)}


def spent(saver: BaseCheckpointSaver[str], config: Any = HERE) -> dict[str, int]:
    saved = saver.get_tuple(config)
    assert saved
    ledger = saved.checkpoint["channel_values"].get(LEDGER) or {}
    return {name: spend["spent"] for name, spend in ledger.items() if name}  # the empty name begins a run


def at(app: BoundedGraph, following: str, works: int) -> Any:
    """The checkpoint before a node, after so many runs of ``work``."""
    return next(
        state
        for state in app.get_state_history(HERE)
        if state.next == (following,) and state.values["log"].count("work") == works
    )


@pytest.mark.matrix(12)
@pytest.mark.parametrize(
    ("following", "works", "spent_then"),
    [("check", 1, 0), ("loop.again", 1, 0), ("work", 1, 1), ("loop.again", 3, 2), ("work", 3, 3), ("answer", 4, 3)],
    ids=["before any", "before a grant", "after a grant", "before the last grant", "after it", "after the refusal"],
)
@pytest.mark.parametrize("how", ["fork", "replay"])
def test_a_branch_counts_from_what_was_spent_at_its_checkpoint(saver, following, works, spent_then, how):
    app = one_loop(saver)
    original = run(app, {"log": []}, thread_id="t").state
    before = books(saver)
    place = at(app, following, works)
    assert spent(saver, place.config).get("again", 0) == spent_then
    config = app.update_state(place.config, {"log": ["forked"]}) if how == "fork" else place.config
    final = app.invoke(None, config)
    assert final["log"].count("forked") == (how == "fork")
    assert final["log"].count("work") == 4
    assert final["stop_reason"]["spent"] == 3
    assert spent(saver) == {"again": 3}
    after = books(saver)
    assert {key: after[key] for key in before} == before
    assert original["log"].count("work") == 4


@pytest.mark.matrix
@pytest.mark.timeout(600)
@pytest.mark.parametrize("every", [False, True])
def test_branches_of_the_three_loops_end_with_the_same_books(saver, tmp_path, every):
    # A JSON file is written anew for each checkpoint, so that all of these would take it a quarter of an hour.
    in_json = isinstance(saver, JsonFileSaver)
    pick = slice(None, None, 4 if in_json else 1) if every else slice(3, None, 36 if in_json else 18)
    record = Record(str(tmp_path / "log"), 0)
    app = three_loops(record, checkpointer=saver)
    original = run(app, {"trace": []}, thread_id="t").state
    before, counts, ledger = books(saver), sorted(original["trace"]), spent(saver)
    places = [state for state in app.get_state_history(HERE) if state.next not in ((), ("__start__",))]
    assert len(places) == 40
    for place in places[pick]:
        # LangGraph wants to know in whose name the update is where two branches came together, and takes the sender's
        # behind Sends, which would send again.
        fork = app.update_state(place.config, {"tried": 1}, {"join": "right", "gather": "shard"}.get(place.next[0]))
        for config in (place.config, fork):
            final = app.invoke(None, config)
            assert sorted(final["trace"]) == counts, place.next
            assert spent(saver) == ledger
            assert final["past"] == original["past"] and final["rounds"] == original["rounds"]
    after = books(saver)
    assert {key: after[key] for key in before} == before


def outer(saver: BaseCheckpointSaver[str], ran: list[str]) -> BoundedGraph:
    """``inside -> judge -> inside``, where ``inside`` is ``work -> check -> work`` and waits at its second ``check``."""

    def noted(name: str) -> Any:
        def node(_state: State) -> dict[str, Any]:
            if name == "check" and ran.count("work") == 2:
                interrupt("go on?")
            ran.append(name)
            return {}

        return node

    made = graph("START-work work-check check?work check?END", work=noted("work"), check=noted("check"))
    inside = bounded(made, [Loop(name="within", target="work", sources=("check",), limit=2)])
    around = graph("START-inside inside-judge judge?inside judge?END", inside=inside, judge=noted("judge"))
    return bounded(around, [Loop(name="around", target="inside", sources=("judge",), limit=1)], checkpointer=saver)


@pytest.mark.parametrize("forked", [False, True])
def test_a_fork_inside_a_subgraph_goes_on_with_the_passes_that_are_left_there(saver, forked):
    ran: list[str] = []
    assert "__interrupt__" in outer(saver, ran).invoke({"log": []}, HERE)
    app = outer(saver, ran)
    inner: Any = app.get_state(HERE, subgraphs=True).tasks[0].state
    assert inner.next == ("check",)
    if forked:
        config = app.update_state(inner.config, {"log": ["forked"]})
        state = app.invoke(Command(resume="yes"), config)
    else:
        state = app.invoke(Command(resume="yes"), HERE)
    assert "__interrupt__" not in state
    inside = ["work", "check"] * 3
    assert ran == [*inside, "judge", *inside, "judge"]
    assert spent(saver) == {"around": 1}


def test_a_raised_limit_counts_from_the_next_input_on(saver):
    one_loop(saver, limit=3).invoke({"log": []}, HERE, interrupt_after=["loop.again"])
    final = resume(one_loop(saver, limit=5), thread_id="t").state
    assert final["log"].count("work") == 4
    assert (final["stop_reason"]["limit"], final["stop_reason"]["spent"]) == (3, 3)
    final = run(one_loop(saver, limit=5), {"log": ["turn two"]}, thread_id="t").state
    assert final["stop_reason"]["limit"] == 5
    assert final["log"][final["log"].index("turn two") :].count("work") == 6
