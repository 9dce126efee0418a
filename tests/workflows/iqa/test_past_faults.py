"""Faults of earlier attempts at this pipeline, one test each, through the whole graph where that is where they showed."""

from __future__ import annotations

from stages import QUICK, START, Stages

from loopwright.workflows.iqa import build_graph


def test_a_plan_that_repeats_itself_ends_the_loop():
    stages = Stages()

    def stubborn(state):
        stages.planner(state)
        from loopwright.workflows.iqa import PlannerOutput

        return {"plan": PlannerOutput(rationale=f"try {len(stages.visits('planner'))}")}

    final = build_graph(QUICK, nodes={**stages.nodes, "planner": stubborn}).invoke(
        {**START, "max_replan_iterations": 9}
    )
    assert len(stages.visits("planner")) == 2
    assert (final["stop_reason"]["outcome"], final["stop_reason"]["spent"]) == ("stalled", 1)
