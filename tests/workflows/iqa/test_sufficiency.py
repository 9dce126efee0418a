"""When another plan is asked for, in which words, and when never."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loopwright.workflows.iqa.planning.replanning import missing_evidence
from loopwright.workflows.iqa.schemas import DistortionFinding, ExecutorOutput, PlannerOutput, ToolLog

QUERY = "What is wrong with it?"
FULL = "Full-Reference"
ALL_OFF = {
    "distortion_detection": False,
    "distortion_analysis": False,
    "tool_selection": False,
    "tool_execution": False,
}


def plan(**fields):
    return PlannerOutput(**{"reference_mode": FULL, **fields})


def finding(name):
    return DistortionFinding(type=name, severity="moderate", confidence=0.9, explanation=f"{name} is moderate.")


def evidence(*, logs, found=("noise",)):
    """Evidence of a good pass: scores of tools and a finding, unless told otherwise."""
    made = [
        ToolLog(
            tool=name,
            score=value if isinstance(value, float) else None,
            error=value if isinstance(value, str) else None,
        )
        for name, value in logs
    ]
    return ExecutorOutput(
        distortion_set={"Global": list(found)},
        distortion_analysis={"Global": [finding(name) for name in found]},
        selected_tools=[log.tool for log in made],
        quality_scores={log.tool: log.score for log in made if log.score is not None},
        tool_logs=made,
        primary_tool=made[0].tool if made else None,
    )


@pytest.mark.parametrize("mode", ["scoring", "mcq", "explanation"])
def test_switched_off_tools_are_never_missed(mode):
    off = plan(plan={**ALL_OFF, "distortion_detection": True, "distortion_analysis": True}, answer_mode=mode)
    assert missing_evidence(off, evidence(logs=()), QUERY, []) is None


def test_tools_that_contradict_each_other_call_for_a_third_once():
    apart = evidence(logs=[("MDSI", 4.6), ("GMSD", 2.1)])
    reason = missing_evidence(plan(), apart, QUERY, [])
    assert reason.startswith("Tools MDSI (4.6) and GMSD (2.1) contradict each other beyond their calibration errors (")
    assert reason.endswith("; VSI is untried")
    assert missing_evidence(plan(), apart, QUERY, [f"[Iteration 1] {reason}"]) is None
    decided = evidence(logs=[("MDSI", 4.6), ("GMSD", 2.1), ("SSIM", 4.5)])
    assert missing_evidence(plan(), decided, QUERY, []) is None


score_or_error = st.one_of(st.floats(1, 5), st.just("failed"))


@given(
    st.lists(
        st.tuples(st.sampled_from(["MDSI", "GMSD", "SSIM", "PSNR"]), score_or_error),
        max_size=4,
        unique_by=lambda pair: pair[0],
    ),
    st.sampled_from(["Global", ["car"], ["car", "tree"]]),
    st.fixed_dictionaries({name: st.booleans() for name in ALL_OFF}),
    st.lists(st.sampled_from(["noise", "blurs"]), max_size=2, unique=True),
)
def test_asking_again_about_the_same_evidence_ends(logs, scope, switches, found):
    """A planner that never helps is asked a bounded number of times, each time for another reason."""
    same = evidence(logs=logs, found=tuple(found))
    wanted = plan(query_scope=scope, plan=switches, distortions={"Global": ["contrast"]})
    history: list[str] = []
    while reason := missing_evidence(wanted, same, QUERY, history):
        assert reason not in [entry.split("] ", 1)[1] for entry in history]
        history.append(f"[Iteration {len(history) + 1}] {reason}")
        assert len(history) <= 8
