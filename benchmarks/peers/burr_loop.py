"""The loop in Burr, which has no bound of its own: a condition over a counter ends it."""

from __future__ import annotations

from typing import Any

from answering import RUNS, Enough, answer, outcome, passes
from burr.core import ApplicationBuilder, State, action, expr

PASSES = passes()


@action(reads=["n"], writes=["n"])
def a(state: State) -> State:
    """The trivial node."""
    RUNS["a"] += 1
    return state.update(n=state["n"] + 1)


@action(reads=["n", "most"], writes=[])
def b(state: State) -> State:
    """A trivial node that decides nothing."""
    RUNS["b"] += 1
    if state["n"] > state["most"]:
        raise Enough
    return state


@action(reads=["n"], writes=[])
def done(state: State) -> State:
    """Where the loop ends."""
    return state


def run(limit: int, most: int) -> Any:
    """One run: an application is built for each, as Burr keeps the state in it."""
    application = (
        ApplicationBuilder()
        .with_actions(a, b, done)
        .with_transitions(("a", "b"), ("b", "a", expr(f"n <= {limit}")), ("b", "done"))
        .with_state(n=0, most=most)
        .with_entrypoint("a")
        .build()
    )
    return application.run(halt_after=["done"])


if __name__ == "__main__":
    answer(
        lambda: outcome(lambda: run(PASSES, 2 * PASSES)),
        worst_case="no",
        without_bound=lambda most: run(2 * most, most),
    )
