"""A ``Send`` back across a loop's edge: all that is sent in one superstep is one pass, and arrives as it was sent."""

from __future__ import annotations

import linecache
import operator
import random
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import pytest
import shapes
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, StateGraph
from langgraph.types import Command, Send
from shapes import HERE
from typing_extensions import TypedDict

from loopwright import Loop, bounded, verify
from loopwright.checkpoints import open_checkpointer
from loopwright.engine import check_certificate


class State(TypedDict, total=False):
    log: Annotated[list[str], operator.add]
    item: int


def work(state: State) -> State:
    return {"log": [f"work {state.get('item', '-')}"]}


def workers(router: Any) -> StateGraph[Any]:
    three = {"plan": lambda _: [Send("work", {"item": n}) for n in (1, 2, 3)]}
    made = shapes.graph("START-plan plan?work work-check", State, three, work=work)
    made.add_conditional_edges("check", router)
    return made


def test_a_command_sends_back_too_and_a_run_goes_on_from_disk_with_what_waited(tmp_path: Path) -> None:
    def back(state: State) -> Any:
        return Command(goto=[Send("work", {"item": len(state["log"])})], update={"log": ["back"]})

    made = shapes.graph("START-work work-check", State, work=work, check=back)
    whole = bounded(made, limit=2).invoke({"log": []})
    assert whole["log"] == ["work -", "back", "work 1", "back", "work 3", "back"]
    with open_checkpointer(f"json:{tmp_path}") as saver:
        bounded(made, limit=2, checkpointer=saver, interrupt_before=["loop.work"]).invoke({"log": []}, HERE)
    with open_checkpointer(f"json:{tmp_path}") as saver:
        assert bounded(made, limit=2, checkpointer=saver).invoke(None, HERE) == whole


@pytest.mark.parametrize("node", ["plan", "work"])
def test_an_update_between_a_node_and_the_gate_takes_the_place_of_what_waits(node: str) -> None:
    made = workers(lambda state: "plan" if state["log"].count("check") < 2 else END)
    declared = [
        Loop(name="l", target="work", sources=("plan",), limit=5),
        Loop(name="m", target="plan", sources=("check",), limit=5),
    ]
    ended: list[Any] = []
    for app in (made.compile, lambda **options: bounded(made, declared, **options)):
        run = app(checkpointer=InMemorySaver(), interrupt_after=["plan"])
        run.invoke({"log": []}, HERE)
        run.update_state(HERE, {"log": ["by hand"]}, as_node=node)
        ended.append([run.invoke(None, HERE)["log"] for _ in range(2)])
    assert ended[0] == ended[1]


def test_an_update_in_a_gate_s_name_lets_stand_what_waits_before_another_one() -> None:
    routes = {"src": lambda _: [Send("work", {"item": n}) for n in (1, 2)]}
    made = shapes.graph("START-a START-pre pre-src src?work work-src a?a a?END", State, routes, work=work)
    loops = [shapes.loop("la", "a", "a", 2), shapes.loop("lw", "src", "work", 1)]
    app = bounded(made, loops, checkpointer=InMemorySaver())
    app.invoke({"log": []}, HERE, interrupt_before=["loop.lw"])
    app.update_state(HERE, {"log": ["by hand"]}, as_node="loop.la")
    assert [each for each in app.invoke(None, HERE)["log"] if each[:4] == "work"] == ["work 1", "work 2"]


def test_what_a_source_sent_that_has_no_pass_left_is_not_sent_on() -> None:
    routes: Any = {name: lambda _, name=name: [Send("work", {"item": name})] for name in "pq"}
    made = shapes.graph("START-work work-p work-q p?work q?work", State, routes, work=work)
    declared = Loop(name="l", target="work", sources=("p", "q"), limit=2, source_limits={"q": 1})
    log = bounded(made, [declared], fan_out={"work": 2}).invoke({"log": []})["log"]
    assert Counter(each for each in log if each.startswith("work")) == {"work -": 1, "work p": 2, "work q": 1}


def test_what_is_sent_while_the_gate_runs_waits_for_the_next_pass() -> None:
    """``late`` sends in the superstep in which the gate takes what ``soon`` sent: nothing is lost, nothing runs twice.

    Its name sorts before the gate's or behind it, as LangGraph merges the writes of a superstep.
    """
    for late in ("a", "z"):
        sending = {
            "soon": lambda s: Command(goto=[Send("work", {"item": 1})]) if "work 1" not in s["log"] else {},
            late: lambda s: Command(goto=[Send("work", {"item": 2})]) if "work 2" not in s["log"] else {},
        }
        made = shapes.graph(f"START-work work-soon work-step step-{late}", State, work=work, **sending)
        loops = [Loop(name="again", target="work", sources=("soon", late), limit=9)]
        end = bounded(made, loops, checkpointer=InMemorySaver()).invoke({"log": []}, HERE)
        assert Counter(end["log"])["work 1"] == 1
        assert Counter(end["log"])["work 2"] >= 1


@pytest.mark.matrix(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_rounds_of_sends_are_what_plain_langgraph_makes_of_them(seed: int) -> None:
    dice = random.Random(seed)
    rounds = [[dice.randrange(9) for _ in range(dice.randrange(1, 5))] for _ in range(dice.randrange(5))]
    named = [dice.random() < 0.3 for _ in rounds]

    def route(state: State) -> Any:
        turn = state["log"].count("check") - 1
        if turn >= len(rounds):
            return END
        sends: list[Any] = [Send("work", {"item": item}) for item in rounds[turn]]
        return ["work", *sends] if named[turn] else sends

    plain = workers(route).compile().invoke({"log": []})
    assert bounded(workers(route), limit=9).invoke({"log": []}) == plain
    limit = dice.randrange(4)
    cut = bounded(workers(route), limit=limit, fan_out={"work": 5})
    end = cut.invoke({"log": []})
    most = cut.certificate.max_runs_by_node["work"]
    assert most is not None and sum(line.startswith("work") for line in end["log"]) <= most
    assert end["log"] == plain["log"][: len(end["log"])]
    assert ("stop_reason" in end) == (limit < len(rounds))


def going() -> StateGraph[Any]:
    return shapes.graph("START-work", State, work=work)


def past_the_map(_state: State) -> Any:
    return [Send("work", {"log": []})]


@pytest.mark.parametrize("limit", [0, 2])
async def test_what_a_router_sends_past_its_path_map_is_seen(limit: int) -> None:
    made = going()
    made.add_conditional_edges("work", past_the_map, {"done": END})
    assert verify(made).unbounded_cycles == (("work",),)
    app = bounded(made, limit=limit)
    assert check_certificate(app, app.certificate) == []
    for final in (app.invoke({"log": []}), await app.ainvoke({"log": []})):
        assert final["log"] == ["work -"] * (limit + 1)
        assert final["stop_reason"]["spent"] == limit


def test_a_send_is_known_by_its_name_where_a_star_import_hides_what_it_is() -> None:
    names: dict[str, Any] = {}
    source = "from langgraph.types import *\ndef route(state):\n    return [Send('work', state)]\n"
    linecache.cache["a_star.py"] = (len(source), None, source.splitlines(keepends=True), "a_star.py")
    exec(compile(source, "a_star.py", "exec"), names)
    made = going()
    made.add_conditional_edges("work", names["route"], {"done": END})
    assert verify(made).unbounded_cycles == (("work",),)
