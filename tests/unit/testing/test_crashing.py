"""A run is killed exactly where the test says, and the next process goes on."""

from __future__ import annotations

import operator
import signal
from pathlib import Path
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, Send
from typing_extensions import TypedDict

from loopwright import bounded, open_checkpointer
from loopwright.errors import ConfigError
from loopwright.testing import CrashInjector, InjectedCrash, run_in_process

CONFIG: Any = {"configurable": {"thread_id": "one"}}
LIMIT = 2


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]


def graph(journal: list[str] | None = None, **options: Any) -> StateGraph[State]:
    """plan -> act -> plan, for ever."""
    builder = StateGraph(State)
    for name in ("plan", "act"):

        def node(state: State, name: str = name) -> State:
            if journal is not None:
                journal.append(name)
            return {"log": [name]}

        builder.add_node(name, node, **options)
    builder.add_edge(START, "plan")
    builder.add_edge("plan", "act")
    builder.add_conditional_edges("act", lambda state: "plan", ["plan", END])
    return builder


def crashing(crash: CrashInjector, journal: list[str], **options: Any) -> Any:
    app = bounded(graph(journal, **options), limit=LIMIT, checkpointer=InMemorySaver())
    return app.with_config(callbacks=[crash])


FULL = ["plan", "act"] * (LIMIT + 1)


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("place", "ran", "again", "message"),
    [
        ({"node": "act"}, 1, 0, "before visit 1 of 'act' in superstep 2"),
        ({"node": "act", "visit": 2}, 3, 0, "before visit 2 of 'act' in superstep 5"),
        ({"node": "act", "visit": 2, "when": "after"}, 4, 1, "after visit 2 of 'act'"),
        ({"node": "loop.plan"}, 2, 0, "before visit 1 of 'loop.plan' in superstep 3"),
        ({"superstep": 4}, 2, 0, "before visit 2 of 'plan' in superstep 4"),
        ({"within": 0}, 0, 0, "before visit 1 of"),
    ],
)
async def test_it_crashes_at_the_place_and_once(place, ran, again, message, asynchronous):
    journal: list[str] = []
    crash = CrashInjector(**place)
    app = crashing(crash, journal)
    with pytest.raises(InjectedCrash, match=message):
        if asynchronous:
            await app.ainvoke({"log": []}, CONFIG, durability="sync")
        else:
            app.invoke({"log": []}, CONFIG, durability="sync")
    assert crash.crashed
    assert len(journal) == ran
    final = await app.ainvoke(None, CONFIG) if asynchronous else app.invoke(None, CONFIG)
    assert final["log"] == FULL
    assert len(journal) == len(FULL) + again


def test_no_retry_takes_a_crash_for_a_failure():
    journal: list[str] = []
    app = crashing(
        CrashInjector(node="act"), journal, retry_policy=RetryPolicy(max_attempts=5, retry_on=lambda error: True)
    )
    with pytest.raises(InjectedCrash):
        app.invoke({"log": []}, CONFIG)
    assert journal == ["plan"]


def test_nodes_of_inner_graphs_have_paths_and_their_steps_do_not_count():
    outer = StateGraph(State)
    outer.add_node("inner", graph().compile(interrupt_after=["act"]))
    outer.add_edge(START, "inner")
    watching = CrashInjector(superstep=2)
    outer.compile(checkpointer=InMemorySaver()).with_config(callbacks=[watching]).invoke({"log": []}, CONFIG)
    assert watching.visits == {"inner": 1, "inner/plan": 1, "inner/act": 1}
    assert not watching.crashed
    with pytest.raises(InjectedCrash, match="before visit 1 of 'inner/act'"):
        outer.compile().with_config(callbacks=[CrashInjector(node="inner/act")]).invoke({"log": []})


def test_visits_of_one_superstep_are_told_apart():
    builder = StateGraph(State)
    builder.add_node("split", lambda state: {})
    builder.add_node("work", lambda item: {"log": ["work"]})
    builder.add_edge(START, "split")
    builder.add_conditional_edges("split", lambda state: [Send("work", {})] * 5, ["work"])
    crash = CrashInjector(node="work", visit=4)
    with pytest.raises(InjectedCrash, match="before visit 4"):
        builder.compile().invoke({"log": []}, {"callbacks": [crash]})


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "needs one place"),
        ({"node": "a", "superstep": 1}, "needs one place"),
        ({"node": "a", "visit": 0}, "counted from 1"),
        ({"within": (2, 1)}, "from 0 up, or a range"),
        ({"within": -1}, "from 0 up, or a range"),
    ],
)
def test_a_place_that_cannot_be_is_refused(arguments, problem):
    with pytest.raises(ConfigError, match=problem):
        CrashInjector(**arguments)


# --- in processes of their own -------------------------------------------------------------------------------------


def work(folder: Path, **place: Any) -> list[str]:
    """One process of the run: the first one is killed, the second one goes on."""
    with (
        open_checkpointer(f"sqlite:{folder / 'runs.db'}") as saver,
        (folder / "journal").open("a", buffering=1) as file,
    ):

        class Journal(list[str]):
            def append(self, name: str) -> None:
                file.write(f"{name}\n")

        app = bounded(graph(Journal()), limit=LIMIT, checkpointer=saver)
        if place:
            app = app.with_config(callbacks=[CrashInjector(**place)])
        return app.invoke({"log": []} if place else None, CONFIG, durability="sync")["log"]


def test_a_killed_run_is_resumed_by_a_new_process_and_no_finished_node_runs_again(tmp_path):
    killed = run_in_process(work, tmp_path, superstep=4, by="kill")
    assert (killed.exit_code, killed.killed, killed.value) == (-signal.SIGKILL, True, None)
    assert (tmp_path / "journal").read_text().split() == ["plan", "act"]
    assert run_in_process(work, tmp_path).require() == FULL
    assert (tmp_path / "journal").read_text().split() == FULL


def nap() -> None:
    import time

    builder = StateGraph(State)
    builder.add_node("sleep", lambda state: time.sleep(60))
    builder.add_edge(START, "sleep")
    builder.compile().invoke({"log": []}, {"callbacks": [CrashInjector(within=(0.01, 0.05), by="kill")]})


@pytest.mark.slow
def test_a_timed_kill_strikes_in_the_middle_of_a_node():
    killed = run_in_process(nap)
    assert killed.exit_code == -signal.SIGKILL
    with pytest.raises(AssertionError, match="ended by SIGKILL"):
        killed.require()
