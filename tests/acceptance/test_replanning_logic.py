"""One test for every scenario of ``replanning-logic.md``; the first line of a docstring is the scenario's title."""

import logging
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from shapes import edges_of
from stages import QUICK, START, Stages, configured

from loopwright.workflows.iqa import SummarizerOutput, build_graph, decide_next_node, run_pipeline, visualize_graph
from loopwright.workflows.iqa.planning import make_plan
from loopwright.workflows.iqa.routes import wants_replan
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlannerInput

DOCUMENT = "replanning-logic.md"


def asking(reason="more"):
    return SummarizerOutput(final_answer="?", quality_reasoning="?", need_replan=True, replan_reason=reason)


CONTENT = SummarizerOutput(final_answer="Good", quality_reasoning="fine")


def test_register_summarizer_node():
    """Register Summarizer node"""
    nodes = [node for node in build_graph().topology().nodes if node in ("planner", "executor", "summarizer")]
    assert nodes == ["planner", "executor", "summarizer"]


def test_update_edge_from_executor_to_summarizer():
    """Update edge from Executor to Summarizer"""
    assert ("executor", "summarizer") in edges_of(build_graph())
    assert ("executor", "__end__") not in edges_of(build_graph())


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({}, "__end__"),
        ({"summarizer_result": CONTENT}, "__end__"),
        ({"summarizer_result": asking()}, "planner"),
        ({"summarizer_result": asking(), "iteration_count": 1}, "planner"),
        ({"summarizer_result": asking(), "iteration_count": 2}, "__end__"),
        ({"summarizer_result": asking(), "iteration_count": 2, "max_replan_iterations": 3}, "planner"),
        ({"summarizer_result": CONTENT, "iteration_count": 0, "max_replan_iterations": 3}, "__end__"),
    ],
)
def test_define_conditional_edge_function(state, expected):
    """Define conditional edge function"""
    assert decide_next_node(state) == expected
    assert set(get_args(get_type_hints(decide_next_node)["return"])) == {"planner", "__end__"}


def test_attach_conditional_edge_to_summarizer():
    """Attach conditional edge to Summarizer

    Superseded in part by iqa.md: the wired route states the wish and the gate bounds it.
    """
    found = edges_of(build_graph())
    assert {("summarizer", "loop.replan"), ("loop.replan", "planner"), ("summarizer", "__end__")} <= found
    assert ("summarizer", "planner") not in found, "no way around the gate"


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
@pytest.mark.parametrize("asks", [0, 1, 2, 5])
def test_wish_and_gate_agree_with_decide_next_node(limit, asks):
    """Attach conditional edge to Summarizer"""
    stages = Stages(asks=asks)
    final = stages.graph().invoke({**START, "max_replan_iterations": limit})
    before = {**final, "iteration_count": 0, "max_replan_iterations": limit}
    for visit in range(1, len(stages.visits("summarizer")) + 1):
        state = {**before, "iteration_count": visit - 1}
        state["summarizer_result"] = asking() if visit <= asks else CONTENT
        went_on = visit < len(stages.visits("summarizer"))
        assert (decide_next_node(state) == "planner") == went_on
        assert went_on <= (wants_replan(state) == "planner")


def test_initialize_iteration_count(tmp_path, photograph):
    """Initialize iteration_count

    Superseded in part by iqa.md: 0 stays 0 instead of becoming 2.
    """
    final = run_pipeline("How good is it?", photograph)
    assert (final["iteration_count"], final["max_replan_iterations"]) == (0, 2)
    assert run_pipeline("How good is it?", photograph, max_replan_iterations=0)["max_replan_iterations"] == 0
    stages = Stages(asks=0)
    stages.graph().invoke({**START, "iteration_count": 0, "max_replan_iterations": 2})
    assert stages.visits("planner")[0]["iteration_count"] == 0


def test_increment_iteration_count_on_replan():
    """Increment iteration_count on replan

    Superseded in part by iqa.md: the gate counts the replans that happen, not the summarizer those that it wishes.
    """
    stages = Stages(asks=1)
    final = stages.graph().invoke(START)
    assert [state["iteration_count"] for state in stages.visits("planner")] == [0, 1]
    assert final["iteration_count"] == 1


def test_reset_iteration_count_not_supported():
    """Reset iteration_count not supported"""
    stages = Stages()

    def forgetful(state):
        return {**stages.planner(state), "iteration_count": 0}

    graph = build_graph(QUICK, nodes={**stages.nodes, "planner": forgetful})
    final = graph.invoke({**START, "max_replan_iterations": 2})
    assert len(stages.visits("planner")) == 3, "a counter that a node resets does not give more replans"
    assert final["stop_reason"]["spent"] == 2
    assert Stages(asks=0).graph().invoke(START)["iteration_count"] == 0


def test_prevent_infinite_replanning_loop(caplog):
    """Prevent infinite replanning loop

    Superseded in part by iqa.md: the summarizer may keep asking, and its last word is kept as it is.
    """
    stages = Stages()
    final = stages.graph().invoke({**START, "max_replan_iterations": 2})
    assert len(stages.visits("planner")) == 3
    assert decide_next_node({**final, "max_replan_iterations": 2}) == "__end__"
    assert "Max replanning iterations" in caplog.text


def test_configurable_max_iterations(photograph):
    """Configurable max iterations"""
    for limit in (1, 3):
        stages = Stages()
        stages.graph().invoke({**START, "max_replan_iterations": limit})
        assert len(stages.visits("planner")) == limit + 1
    capped = Stages()
    capped.graph(configured(langgraph__max_iterations=1)).invoke({**START, "max_replan_iterations": 5})
    assert len(capped.visits("planner")) == 2, "nobody gets more than the configured ceiling"
    default = Stages()
    default.graph().invoke(START)
    assert len(default.visits("planner")) == 3
    assert run_pipeline("How good?", photograph, max_replan_iterations=1)["max_replan_iterations"] == 1


def test_include_replan_reason_in_state():
    """Include replan_reason in state"""
    stages = Stages(asks=1)
    stages.graph().invoke(START)
    second = stages.visits("planner")[1]
    assert second["summarizer_result"].replan_reason == "Missing tool scores for vehicle region"
    assert second["plan"].query_scope == ["scope 1"]
    assert second["executor_evidence"].notes == ["evidence 1"]


def test_append_to_replan_history():
    """Append to replan_history"""
    final = Stages().graph().invoke({**START, "max_replan_iterations": 2})
    assert final["replan_history"] == [
        "[Iteration 1] Missing tool scores for vehicle region",
        "[Iteration 2] Missing tool scores for vehicle region",
    ]


def test_planner_adapts_to_feedback(photograph):
    """Planner adapts to feedback (optional enhancement)"""
    task = PlannerInput(query="Is the vehicle sharp?", image_path=str(photograph))
    first = make_plan(task)
    told = task.model_copy(update={"feedback": ["Missing tool scores for vehicle region"]})
    second = make_plan(told, previous=first, evidence=ExecutorOutput(distortion_set={"Global": []}))
    assert (first.query_scope, second.query_scope) == (["vehicle"], "Global")
    assert (first.distortions, second.distortions) == ({"vehicle": ["blurs"]}, {"Global": ["blurs"]})
    assert "no evidence for vehicle alone, so the scope is widened to Global" in second.rationale
    assert "Missing tool scores for vehicle region" in second.rationale
    final = run_pipeline("Is the vehicle sharp?", photograph)
    assert final["iteration_count"] == 0, "where nothing can locate an object, no pass is spent on it"


def test_mermaid_diagram_includes_summarizer():
    """Mermaid diagram includes Summarizer"""
    text = visualize_graph()
    lines = [line.strip() for line in text.splitlines()]
    assert lines[0] == "graph TD"
    assert "START([START]) --> planner[Planner]" in lines
    assert "planner --> executor[Executor]" in lines
    assert "executor --> summarizer[Summarizer]" in lines
    assert any(line.startswith("summarizer -->|") and line.endswith("| planner") for line in lines)
    assert any(line.startswith("summarizer -->|") and "| END" in line for line in lines)


def test_visualization_shows_iteration_limit():
    """Visualization shows iteration limit"""
    back = next(line for line in visualize_graph().splitlines() if line.strip().endswith("| planner"))
    assert "replan" in back
    assert "max_replan_iterations" in back
    assert "10" in back, "the ceiling that nobody can lift"
    assert "`max_replan_iterations`" in (Path(__file__).parents[2] / "docs/iqa.md").read_text(encoding="utf-8")


def test_log_conditional_edge_decision(caplog):
    """Log conditional edge decision"""
    caplog.set_level(logging.INFO)
    decide_next_node({"summarizer_result": asking(), "iteration_count": 1, "max_replan_iterations": 2})
    decide_next_node({"summarizer_result": CONTENT, "iteration_count": 1, "max_replan_iterations": 2})
    assert "need_replan=True, iteration_count=1, max_replan_iterations=2, decision: planner" in caplog.text
    assert "need_replan=False, iteration_count=1, max_replan_iterations=2, decision: __end__" in caplog.text
    caplog.clear()
    Stages(asks=1).graph().invoke({**START, "max_replan_iterations": 2})
    assert "Iteration 1/2: need_replan=True, max_replan_iterations=2, decision: planner" in caplog.text
    assert "need_replan=False, iteration_count=1, max_replan_iterations=2, decision: __end__" in caplog.text
    decide_next_node({"summarizer_result": asking(), "iteration_count": 2, "max_replan_iterations": 2})
    assert "need_replan=True, iteration_count=2, max_replan_iterations=2, decision: __end__" in caplog.text


def test_log_replanning_trigger(caplog):
    """Log replanning trigger"""
    caplog.set_level(logging.INFO)
    Stages(asks=1, reason="look at the car").graph().invoke(START)
    infos = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert "Replanning triggered: look at the car" in infos
    assert any(line.startswith("Iteration 1/2") for line in infos)
    caplog.clear()
    decide_next_node({"summarizer_result": asking("look at the car"), "iteration_count": 1})
    assert {"Replanning triggered: look at the car", "Iteration 2/2"} <= set(caplog.messages)


def test_log_max_iterations_reached(caplog):
    """Log max iterations reached"""
    Stages().graph().invoke({**START, "max_replan_iterations": 2})
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert "Max replanning iterations (2) reached" in warnings[0]
    assert "Continuing with current evidence despite need_replan=true" in warnings[0]


def test_preserve_previous_outputs_during_replan():
    """Preserve previous outputs during replan"""
    stages = Stages(asks=1)
    final = stages.graph().invoke(START)
    assert {"plan", "executor_evidence", "summarizer_result"} <= set(stages.visits("planner")[1])
    assert final["plan"].query_scope == ["scope 2"]
    assert final["executor_evidence"].notes == ["evidence 2"]
    assert final["summarizer_result"].final_answer == "answer 2"


def test_state_size_management(caplog):
    """State size management"""
    config = configured(langgraph__max_iterations=20)
    final = Stages().graph(config).invoke({**START, "max_replan_iterations": 13})
    assert final["iteration_count"] == 13
    assert len(final["replan_history"]) == 10
    assert final["replan_history"][0].startswith("[Iteration 4]")
    assert final["executor_evidence"].notes == ["evidence 14"], "only the current evidence is kept"


def test_planner_fails_on_replan():
    """Planner fails on replan"""
    stages = Stages(planner_fails_at=2)
    final = stages.graph().invoke({**START, "max_replan_iterations": 5})
    assert stages.order == ["planner", "executor", "summarizer", "planner"]
    assert "the planner broke" in final["error"]
    assert final["iteration_count"] == 1
    assert final["executor_evidence"].notes == ["evidence 1"]
    assert final["summarizer_result"].final_answer == "answer 1"


def test_executor_fails_on_replan():
    """Executor fails on replan"""
    stages = Stages(executor_fails_at=2)
    final = stages.graph().invoke({**START, "max_replan_iterations": 2})
    told = stages.visits("summarizer")[1]["executor_evidence"]
    assert "the executor broke" in told.error
    assert len(stages.visits("planner")) == 3, "it may ask again, within the bound"
    assert final["error"] is None, "a later pass succeeded"
    assert final["executor_evidence"].error is None


def test_summarizer_repeatedly_requests_replan(caplog):
    """Summarizer repeatedly requests replan"""
    final = Stages().graph().invoke({**START, "max_replan_iterations": 2})
    assert final["summarizer_result"].need_replan is True
    assert final["stop_reason"] == {
        "loop": "replan", "outcome": "exhausted", "limit": 2, "spent": 2, "step": 12,
        "reason": "Missing tool scores for vehicle region",
    }  # fmt: skip
    assert "logic issue in the Summarizer" in caplog.text


def test_disable_replanning(caplog):
    """Disable replanning"""
    stages = Stages()
    final = stages.graph().invoke({**START, "max_replan_iterations": 0})
    assert stages.order == ["planner", "executor", "summarizer"]
    assert final["summarizer_result"].need_replan is True
    assert final["iteration_count"] == 0
    assert final["replan_history"] == []
    assert decide_next_node({**final, "max_replan_iterations": 0}) == "__end__"


def test_phase_3_compatibility():
    """Phase 3 compatibility"""
    stages = Stages()
    graph = stages.graph(stages=("planner", "executor"))
    final = graph.invoke(START)
    assert stages.order == ["planner", "executor"]
    assert ("executor", "__end__") in edges_of(graph)
    assert graph.loops == ()
    assert "summarizer_result" not in final
