"""The loop in Haystack, bounded by its own ``max_runs_per_component``."""

# No "from __future__ import annotations" here: Haystack reads the types of its sockets from the signatures.

import os

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")

from answering import RUNS, answer, outcome, passes
from haystack import Pipeline, component
from haystack.core.component.types import GreedyVariadic

PASSES = passes()


@component
class A:
    """The trivial component."""

    @component.output_types(n=int)
    def run(self, n: GreedyVariadic[int]) -> dict[str, int]:
        """Count, and go on."""
        RUNS["a"] += 1
        return {"n": next(iter(n)) + 1}


@component
class B:
    """The trivial component that always asks for another pass."""

    @component.output_types(again=int, done=int)
    def run(self, n: int) -> dict[str, int]:
        """Go round again."""
        RUNS["b"] += 1
        return {"again": n}


pipeline = Pipeline(max_runs_per_component=PASSES + 1)
pipeline.add_component("a", A())
pipeline.add_component("b", B())
pipeline.connect("a.n", "b.n")
pipeline.connect("b.again", "a.n")

if __name__ == "__main__":
    answer(
        lambda: outcome(lambda: pipeline.run({"a": {"n": 0}})),
        worst_case=f"one limit for every component alike: at most {2 * (PASSES + 1):,} runs of these two",
    )
