"""Declared fan-out: counted in the certificate, and enforced while the graph runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import shapes
from langgraph.graph import END, StateGraph
from langgraph.types import Command, Send
from shapes import State, show_gates, watch

from loopwright.engine.bounds import bounded
from loopwright.engine.loop import Loop
from loopwright.engine.proof.verify import verify
from loopwright.errors import GraphError, UndeclaredFanOutError, UndeclaredJumpError


def ran(app: Any) -> Counter[str]:
    return watch(show_gates(app), {"log": []}).runs


def sends(*targets: str) -> Callable[[State], Any]:
    return lambda _state: [Send(target, {"log": []}) for target in targets]


def map_reduce(route: Any) -> StateGraph[Any]:
    """``plan`` sends to ``work``; ``merge`` takes what comes."""
    return shapes.graph("START-plan plan?work work-merge", routes={"plan": route})


def planned(plan: Any) -> StateGraph[Any]:
    return shapes.graph("START-plan work-END", plan={"action": plan, "destinations": ("work",)})


def by_parent(width: int) -> Any:
    return shapes.graph("START-x", x=lambda _: Command(graph=Command.PARENT, goto=cut(width))).compile()


def cut(width: int) -> list[Send]:
    return [Send("work", {"log": []}) for _ in range(width)]


MADE: dict[str, Callable[[int], StateGraph[Any]]] = {
    "router": lambda width: map_reduce(sends(*["work"] * width)),
    "command": lambda width: planned(lambda _: Command(goto=cut(width))),
    "parent command": lambda width: planned(by_parent(width)),
    "a helper makes the sends": lambda width: map_reduce(lambda _: cut(width)),
}


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("make", MADE.values(), ids=MADE)
async def test_more_sends_than_declared_are_an_error_that_names_sender_node_numbers_and_fix(
    make: Callable[..., StateGraph[Any]], mode: str
) -> None:
    app = bounded(make(3), [], fan_out={"work": 3})
    assert ran(app)["work"] == 3
    assert 3 <= app.certificate.max_runs_by_node["work"] <= 4
    app = bounded(make(4), [], fan_out={"work": 3})
    with pytest.raises(GraphError) as caught:
        app.invoke({"log": []}) if mode == "sync" else await app.ainvoke({"log": []})
    said = str(caught.value)
    for part in ("sent 4 tasks to 'work'", "fan_out is 3", "fan_out={'work': 4}"):
        assert part in said
    assert any(f"{name!r}" in said for name in ("plan", "__start__"))


def test_a_send_from_where_the_certificate_sees_none_is_an_error() -> None:
    made = map_reduce(lambda state: [Send(target, {"log": []}) for target in state["log"][:2]])
    with pytest.raises(UndeclaredJumpError, match=r"of 'plan' went to 'merge'.*known is 'work'"):
        bounded(made, [], fan_out={"work": 2, "merge": 2}).invoke({"log": ["work", "merge"]})


@pytest.mark.parametrize(
    ("fan_out", "says"),
    [
        ({"wrk": 2}, "unknown node 'wrk'. Did you mean 'work'"),
        ({"work": 0}, "must be a whole number from 1 up, not 0"),
        ({"work": True}, "must be a whole number from 1 up, not True"),
        ({"work": "2"}, "must be a whole number from 1 up, not '2'"),
    ],
)
def test_a_fan_out_that_does_not_fit_the_graph_is_refused(fan_out: Any, says: str) -> None:
    for call in (verify, bounded):
        with pytest.raises(GraphError, match=says):
            call(map_reduce(sends("work")), fan_out=fan_out)


def test_a_certificate_says_the_same_in_every_process() -> None:
    nodes = [f"n{number}" for number in range(8)]
    made = shapes.graph("START-plan " + " ".join(f"plan?{node}" for node in nodes), routes={"plan": sends(*nodes)})
    said = verify(made, fan_out=dict.fromkeys(nodes, 2)).assumptions
    assert [line.split()[9] for line in said if "fan_out" in line] == nodes


def test_a_pass_that_sends_more_across_its_loop_than_declared_is_refused() -> None:
    made = map_reduce(sends("work"))
    made.add_conditional_edges("merge", lambda _: [Send("plan", {"log": []}) for _ in range(3)], ["plan", END])
    loops = [Loop(name="x", target="plan", sources=("merge",), limit=2)]
    with pytest.raises(UndeclaredFanOutError, match="plan"):
        bounded(made, loops, fan_out={"plan": 2, "work": 1}).invoke({"log": []})
    app = bounded(made, loops, fan_out={"plan": 3, "work": 1})
    assert app.invoke({"log": []})["stop_reason"]["spent"] == 2
    assert app.certificate.max_runs_by_node["plan"] == 1 + 2 + 2 * 3
