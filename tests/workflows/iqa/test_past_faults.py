"""Faults of earlier attempts at this pipeline, one test each, through the whole graph where that is where they showed."""

from __future__ import annotations

from pathlib import Path

import pytest
import skimage
from distort import distort
from PIL import Image
from stages import QUICK, START, Stages

from loopwright.engine import run
from loopwright.engine.events.schema import LoopDecided, NodeStarted
from loopwright.errors import NodeFailed
from loopwright.testing import ScriptedChatModel
from loopwright.workflows.iqa import Services, build_graph, run_pipeline
from loopwright.workflows.iqa.sources.images import load_image

PHOTOGRAPHS = Path(skimage.__file__).parent / "data"


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    path = tmp_path_factory.mktemp("noisy") / "noisy.png"
    Image.fromarray(distort(load_image(PHOTOGRAPHS / "coffee.png").rgb, "gaussian noise", 4)).save(path)
    return path


def test_no_replan_for_evidence_that_the_plan_switched_off():
    final = run_pipeline("What is the capital of France?", PHOTOGRAPHS / "coffee.png")
    assert final["plan"].plan.tool_execution is False
    assert final["executor_evidence"].tool_logs == []
    assert final["iteration_count"] == 0


def test_a_planner_that_fails_on_replan_ends_the_run_though_the_old_result_still_asks():
    stages = Stages(planner_fails_at=2)
    final = stages.graph().invoke({**START, "max_replan_iterations": 9})
    assert final["summarizer_result"].need_replan is True
    assert stages.order.count("planner") == 2


def test_a_counter_that_success_resets_does_not_hide_the_bound():
    stages = Stages()

    def resetting(state):
        return {**stages.executor(state), "iteration_count": 0}

    final = build_graph(QUICK, nodes={**stages.nodes, "executor": resetting}).invoke(START)
    assert stages.order.count("planner") == 3
    assert final["stop_reason"]["spent"] == 2


def test_a_spent_bound_is_not_reported_as_success():
    final = Stages().graph().invoke({**START, "max_replan_iterations": 1})
    assert final["stop_reason"]["outcome"] == "exhausted"
    assert final["summarizer_result"].need_replan is True
    assert Stages(asks=1).graph().invoke(START).get("stop_reason") is None


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


def test_a_model_that_breaks_is_an_error_and_not_a_verdict():
    services = Services(QUICK)
    services.models.assign("summarizer", ScriptedChatModel(RuntimeError("no connection"), repeat_last=True))
    with pytest.raises(Exception, match="no connection"):
        run_pipeline("Rate the quality.", PHOTOGRAPHS / "coffee.png", services=services)


def test_error_is_cleared_when_a_later_pass_succeeds():
    final = Stages(executor_fails_at=2).graph().invoke({**START, "max_replan_iterations": 2})
    assert final["error"] is None


def test_a_node_that_ran_three_times_is_reported_three_times():
    result = run(Stages().graph(), {**START, "max_replan_iterations": 2})
    visits = [event.visit for event in result.events if isinstance(event, NodeStarted) and event.node == "planner"]
    assert visits == [1, 2, 3]
    decisions = [event.decision for event in result.events if isinstance(event, LoopDecided)]
    assert decisions == ["granted", "granted", "exhausted"]


def test_concurrent_runs_share_nothing():
    from concurrent.futures import ThreadPoolExecutor

    graph = Stages().graph()
    limits = [0, 1, 2, 3] * 5
    with ThreadPoolExecutor(8) as pool:
        finals = list(pool.map(lambda limit: graph.invoke({**START, "max_replan_iterations": limit}), limits))
    assert [final["stop_reason"]["spent"] for final in finals] == limits


def test_a_model_that_answers_badly_is_not_asked_again_by_the_retries():
    services = Services(QUICK)
    model = ScriptedChatModel("no JSON", repeat_last=True)
    services.models.assign("planner", model)
    with pytest.raises(NodeFailed, match="not a valid"):
        run_pipeline("Rate the quality.", PHOTOGRAPHS / "coffee.png", services=services)
    assert len(model.calls) == 1 + QUICK.iqa.repairs
