"""Random graphs of every kind of edge, with random answers: no run exceeds its certificate.

A failure names its seed: ``outcome(case(SEED))`` repeats it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from random_graphs import KINDS, Outcome, case, outcome


def run(seed: int) -> tuple[bool, Outcome]:
    made = case(seed)
    return made.eager == 1 and made.busy, outcome(made)


@pytest.mark.matrix(2)
@pytest.mark.parametrize("first", range(0, 60, 10))
def test_no_random_graph_exceeds_its_certificate(first: int) -> None:
    for seed in range(first, first + 10):
        run(seed)


def test_a_seed_gives_the_same_graph_and_the_same_run() -> None:
    assert run(3) == run(3)
    assert case(3).fan_out == case(3).fan_out


def test_the_random_graphs_are_made_of_every_kind_of_edge() -> None:
    features: Counter[str] = Counter()
    for seed in range(60):
        features += case(seed).features
    wanted = {*KINDS, "loop", "join", "deferred", "scope", "stall", "fallback by source", "conditional entry"}
    assert wanted <= features.keys()


@pytest.mark.soak
@pytest.mark.timeout(7_200)
def test_many_random_graphs_stay_within_their_certificates(
    soak: Callable[..., list[tuple[bool, Outcome]]], capsys: pytest.CaptureFixture[str]
) -> None:
    found = soak(run)
    with capsys.disabled():
        for title, outcomes in (
            ("all", [done for _, done in found]),
            ("every grader says no, every way taken", [done for worst, done in found if worst]),
        ):
            steps = sum(done.supersteps / done.most_supersteps for done in outcomes) / len(outcomes)
            runs = sum(done.node_runs / done.most_node_runs for done in outcomes) / len(outcomes)
            print(f"{title}: {len(outcomes)} runs, actual/certified: supersteps {steps:.2f}, node runs {runs:.2f}")
