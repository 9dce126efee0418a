"""A certificate that is the graph's is accepted, and none that was changed by hand."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import random_graphs
from langgraph.types import Command
from shapes import END, Shape, graph, loop, note

from loopwright import Backoff, Budget, Certificate, bounded, check_certificate, verify

MATRIX = Path(__file__).parents[1] / "matrix"
SPENT: dict[str, Any] = {"budget": Budget(model_calls=9), "fallback": note("fallback")}


def shapes() -> dict[str, Shape]:
    """Every shape of the matrix that can be bounded."""
    found: dict[str, Shape] = {}
    for path in sorted(MATRIX.glob("test_*.py")):
        for value in runpy.run_path(str(path)).values():
            if isinstance(value, dict):
                found |= {name: shape for name, shape in value.items() if isinstance(shape, Shape)}
    return {name: shape for name, shape in found.items() if not shape.says or shape.refused_while_running}


def verdict(app: Any) -> str:
    """Accepted, not checked, or else the objections."""
    objections = check_certificate(app, app.certificate)
    if objections and all("not checked" in objection for objection in objections):
        return "not checked"
    return "; ".join(objections) or "accepted"


def test_no_shape_is_refused_for_its_figures() -> None:
    verdicts = {name: verdict(shape.app()) for name, shape in shapes().items()}
    assert set(verdicts.values()) == {"accepted"}, verdicts


def seeded(seed: int) -> tuple[int, str]:
    made = random_graphs.case(seed)
    return seed, verdict(bounded(made.graph, made.loops, fan_out=made.fan_out, **(SPENT if seed % 2 else {})))


def refused(verdicts: list[tuple[int, str]]) -> list[tuple[int, str]]:
    return [(seed, found) for seed, found in verdicts if found != "accepted"]


def test_no_random_graph_is_refused_for_its_figures() -> None:
    assert not refused([seeded(seed) for seed in range(15)])


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_no_random_graph_of_many_is_refused_for_its_figures(soak: Callable[..., list[tuple[int, str]]]) -> None:
    assert not refused(soak(seeded))


def app(**options: Any) -> Any:
    inner = bounded(graph("START-x x-y y?x y?END"), limit=1)
    made = graph("START-a a-b a-c b+c-d d?a d?END d?sub answer-END", sub=inner)
    made.add_edge("sub", END)
    return bounded(made, [loop("again", "d", "a", 2, "answer")], **options)


def changes(certificate: Certificate) -> dict[str, Certificate]:
    """The certificate with one thing changed so that it would say more than is proven."""
    witness = certificate.witness
    assert witness
    found: dict[str, dict[str, Any]] = {
        name: {name: getattr(certificate, name) - 1} for name in ("max_supersteps", "max_node_runs")
    }
    for node, runs in certificate.max_runs_by_node.items():
        if runs:
            found[node] = {"max_runs_by_node": {**certificate.max_runs_by_node, node: runs - 1}}
    found |= {name: {name: 1} for name in ("max_model_calls", "max_seconds", "max_tokens")}
    found["not bounded"] = {"bounded": False}
    found["cycle"] = {"unbounded_cycles": (("a",),)}
    found["no witness"] = {"witness": None}
    spoiled: list[dict[str, Any]] = [
        {"passes": {"again": 1}}, {"passes": {"again": 3}}, {"passes": {}}, {"inner": {}}, {"level": {}},
        {"inner": {"sub": certificate}}, {"detour": {}}, {"detour": {"again": -1}},
    ]  # fmt: skip
    spoiled += [{"detour": {**witness.detour, loop: detour - 1}} for loop, detour in witness.detour.items()]
    spoiled += [{"closing": {**witness.closing, node: level - 1}} for node, level in witness.closing.items()]
    for node, level in witness.level.items():
        spoiled.append({"level": {**witness.level, node: level - 1}})
        spoiled.append({"level": {each: at for each, at in witness.level.items() if each != node}})
    found |= {f"witness {changed}": {"witness": witness.model_copy(update=changed)} for changed in spoiled}
    return {name: certificate.model_copy(update=changed) for name, changed in found.items()}


@pytest.mark.parametrize("options", [{}, SPENT], ids=["plain", "budget"])
def test_every_change_by_hand_is_refused(options: dict[str, Any]) -> None:
    made = app(**options)
    assert check_certificate(made, made.certificate) == []
    assert [name for name, changed in changes(made.certificate).items() if not check_certificate(made, changed)] == []


def test_a_change_of_the_certificate_inside_is_refused() -> None:
    made = app()
    witness = made.certificate.witness
    less = witness.inner["sub"].model_copy(update={"max_supersteps": 1})
    changed = made.certificate.model_copy(update={"witness": witness.model_copy(update={"inner": {"sub": less}})})
    assert any(objection.startswith("sub: max_supersteps") for objection in check_certificate(made, changed))


@pytest.mark.parametrize("edge", [("d", "b"), ("b", "a"), ("answer", "a"), ("c", "c")])
def test_an_edge_that_came_in_later_and_goes_round_is_refused(edge: tuple[str, str]) -> None:
    made = app()
    made.builder.edges.add(edge)
    assert f"the edge {edge[0]} -> {edge[1]} proves a level of" in check_certificate(made, made.certificate)[0]


def test_a_certificate_is_not_that_of_a_graph_that_nothing_holds() -> None:
    plain = graph("START-a").compile()
    assert "not checked" in check_certificate(plain, verify(plain))[0]


def test_the_waits_of_a_gate_are_in_the_seconds() -> None:
    made = graph("START-a a?a a?END", a={"action": lambda _: {}, "metadata": {"loopwright_max_seconds": 1.0}})
    waiting = bounded(made, [loop("again", "a", "a", 2, backoff=Backoff())])
    assert check_certificate(waiting, waiting.certificate) == []
    without = waiting.certificate.model_copy(update={"max_seconds": 3.0})
    assert "max_seconds" in check_certificate(waiting, without)[0]


def test_jumps_of_a_node_that_is_also_waited_for_are_counted() -> None:
    def jumping(state: Any) -> Command[Any]:
        return Command(goto="e", update={"log": ["s"]})

    made = graph("START-s START-t s+t-e s?s s?END e-END", s=jumping)
    certificate = bounded(made, [loop("again", "s", "s", 3)]).certificate
    # Each of the four runs of s jumps to e, and once t and s are there together.
    assert (certificate.max_runs_by_node["e"] or 0) >= 4
