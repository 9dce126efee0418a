"""The rule planner: first plans, the rules that every plan keeps, when another is asked for, and what that changes."""

import pytest
from findings import evidence as evidence_of
from hypothesis import given, settings
from hypothesis import strategies as st

from loopwright.errors import InputError
from loopwright.workflows.iqa.planning import NOTHING_LEFT, enforce, make_plan, missing_evidence
from loopwright.workflows.iqa.question.reading import read_query
from loopwright.workflows.iqa.schemas import ExecutorOutput, PlanControlFlags, PlannerInput, PlannerOutput, ToolLog
from loopwright.workflows.iqa.tools.registry import all_tools

FULL = [tool.name for tool in all_tools() if tool.reference == "Full-Reference"]
BLIND = [tool.name for tool in all_tools() if tool.reference == "No-Reference"]
ALL_ON = {"distortion_detection": True, "distortion_analysis": True, "tool_selection": True, "tool_execution": True}


def task(query: str, *feedback: str, reference: bool = False) -> PlannerInput:
    return PlannerInput(
        query=query, image_path="a.png", reference_path="r.png" if reference else None, feedback=list(feedback)
    )


def log(tool: str, score: float) -> ToolLog:
    return ToolLog(tool=tool, score=score, raw=score)


def found(*logs: ToolLog, types: tuple[str, ...] = (), **more) -> ExecutorOutput:
    scores = {entry.tool: entry.score for entry in logs if entry.score is not None}
    fields = {"tool_logs": logs, "quality_scores": scores, "selected_tools": [], "primary_tool": None}
    return evidence_of(*((name, "slight") for name in types), score=None, **{**fields, **more})


def test_a_named_distortion_switches_detection_off():
    plan = make_plan(task("Is the sky noisy?"))
    assert (plan.distortion_source, plan.distortions, plan.query_scope) == ("Explicit", {"sky": ["noise"]}, ["sky"])
    assert plan.plan.model_dump() == {**ALL_ON, "distortion_detection": False}


def test_a_named_tool_runs_and_no_other_is_chosen():
    plan = make_plan(task("rate it with ssim", reference=True))
    assert plan.required_tools == ["SSIM"]
    assert plan.plan.model_dump() == {**ALL_ON, "tool_selection": False}


@pytest.mark.parametrize(
    "query", ["Which is worse? A) blur B) noise", "Is the blur or the noise worse? A) blur B) noise"]
)
def test_options_that_are_distortions_are_looked_for(query):
    plan = make_plan(task(query))
    assert (plan.answer_mode, plan.distortion_source, plan.distortions) == ("mcq", "Inferred", None)
    assert plan.plan.distortion_detection


def replan(
    query: str, evidence: ExecutorOutput | None, *reasons: str, previous: PlannerOutput | None = None, reference=True
):
    first = previous or make_plan(task(query, reference=reference))
    return first, make_plan(task(query, *reasons, reference=reference), previous=first, evidence=evidence)


def test_a_distortion_without_a_finding_switches_analysis_on_then_detection():
    query = "Is the image noisy?"
    off = PlannerOutput(
        distortion_source="Explicit", distortions={"Global": ["noise"]}, reference_mode="Full-Reference",
        plan=PlanControlFlags(distortion_analysis=False),
    )  # fmt: skip
    evidence = found(log("MDSI", 3.0))
    _, second = replan(query, evidence, "No evidence for noise", previous=off)
    assert second.plan.distortion_analysis
    assert not second.plan.distortion_detection
    _, third = replan(query, evidence, "No evidence for noise", previous=second)
    assert third.plan.distortion_detection
    assert third.distortion_source == "Inferred"
    assert third.distortions == {"Global": ["noise"]}
    _, fourth = replan(query, evidence, "No evidence for noise", previous=third)
    assert fourth.same_work(third)


def test_nothing_left_gives_the_same_plan_and_says_so():
    evidence = found(*(log(name, 3.0) for name in FULL), types=("noise",), primary_tool="MDSI")
    first, plan = replan("How good is it?", evidence, "More tool scores, please")
    assert plan.same_work(first)
    assert NOTHING_LEFT in plan.rationale
    assert plan.rationale != first.rationale


WHATS_WRONG = "What is wrong with it?"


@pytest.mark.parametrize("mode", ["scoring", "mcq", "explanation"])
def test_switched_off_tools_are_never_missed(mode):
    flags = {**ALL_ON, "tool_selection": False, "tool_execution": False}
    off = PlannerOutput(answer_mode=mode, reference_mode="Full-Reference", plan=flags)
    assert missing_evidence(off, found(types=("noise",)), WHATS_WRONG) is None


def test_tools_that_contradict_each_other_call_for_a_third_once():
    plan = PlannerOutput(reference_mode="Full-Reference")
    logs = log("MDSI", 4.6), log("GMSD", 2.1)
    apart = found(*logs, types=("noise",), primary_tool="MDSI")
    reason = missing_evidence(plan, apart, WHATS_WRONG)
    assert reason.startswith("Tools MDSI (4.6) and GMSD (2.1) contradict each other beyond their calibration errors (")
    assert reason.endswith("; VSI is untried")
    assert missing_evidence(plan, apart, WHATS_WRONG, [f"[Iteration 1] {reason}"]) is None
    decided = found(*logs, log("SSIM", 4.5), types=("noise",), primary_tool="MDSI")
    assert missing_evidence(plan, decided, WHATS_WRONG) is None


LACKS = [
    ("Is the car noisy?", found(log("MDSI", 3.0), types=("noise",))),
    ("How good is it?", found(log("MDSI", 5.0), log("GMSD", 1.0), primary_tool="MDSI")),
    ("How good is it?", found(types=("noise",))),
    ("Is the image noisy?", found(log("MDSI", 3.0))),
]


@pytest.mark.parametrize(("query", "evidence"), LACKS)
def test_every_reason_of_the_embedded_summarizer_changes_the_plan(query, evidence):
    first = make_plan(task(query, reference=True))
    reason = missing_evidence(first, evidence, query)
    assert reason
    plan = make_plan(task(query, reason, reference=True), previous=first, evidence=evidence)
    assert not plan.same_work(first)
    assert reason in plan.rationale


LOGS = st.builds(
    ToolLog,
    tool=st.sampled_from([*FULL, *BLIND]),
    region=st.sampled_from(["Global", "car", "region 1,2,30,40"]),
    score=st.none() | st.floats(1, 5),
    error=st.none() | st.just("broken"),
    fallback_for=st.none() | st.sampled_from(FULL),
)
EVIDENCE = st.builds(
    lambda logs, types, error: found(
        *logs, types=tuple(types), error=error, primary_tool=logs[0].tool if logs else None
    ),
    st.lists(LOGS, max_size=5),
    st.lists(st.sampled_from(["noise", "blurs", "jpeg"]), max_size=2, unique=True),
    st.none() | st.just("failed"),
)
QUERIES = st.sampled_from(
    ["How good is it?", "Is the car noisy?", "Which? A) blur B) noise", "rate it with niqe", "Who wrote Faust?"]
)


@given(st.text(), st.booleans())
@settings(deadline=None)
def test_any_query_gives_a_plan_or_an_input_error(query, reference):
    try:
        given_task = task(query, reference=reference)
    except ValueError:
        assert not query.strip()
        return
    try:
        plan = make_plan(given_task)
    except InputError:
        return
    assert PlannerOutput.model_validate_json(plan.model_dump_json()) == plan


@given(
    st.dictionaries(st.sampled_from(["MDSI", "GMSD", "SSIM", "PSNR"]), st.none() | st.floats(1, 5)),
    st.sampled_from(["Global", ["car"], ["car", "tree"]]),
    st.fixed_dictionaries({name: st.booleans() for name in ALL_ON}),
    st.lists(st.sampled_from(["noise", "blurs"]), max_size=2, unique=True),
)
def test_asking_again_about_the_same_evidence_ends(scores, scope, switches, types):
    """A planner that never helps is asked a bounded number of times, each time for another reason."""
    logs = [ToolLog(tool=name, score=score, error=None if score else "failed") for name, score in scores.items()]
    same = found(*logs, types=tuple(types), primary_tool=next(iter(scores), None))
    wanted = PlannerOutput(
        reference_mode="Full-Reference", query_scope=scope, plan=switches, distortions={"Global": ["contrast"]}
    )
    history: list[str] = []
    while reason := missing_evidence(wanted, same, WHATS_WRONG, history):
        assert reason not in [entry.split("] ", 1)[1] for entry in history]
        history.append(f"[Iteration {len(history) + 1}] {reason}")
        assert len(history) <= 8


@given(
    QUERIES,
    EVIDENCE,
    st.text(min_size=1) | st.sampled_from(["Missing tool scores for the car region", "noise?"]),
    st.booleans(),
)
@settings(deadline=None)
def test_replans_are_valid_and_end(query, evidence, reason, reference):
    plan = make_plan(task(query, reference=reference))
    for _ in range(12):
        before, plan = plan, make_plan(task(query, reason, reference=reference), previous=plan, evidence=evidence)
        assert enforce(plan, read_query(query), reference_path="r.png" if reference else None) == plan
        if plan.same_work(before):
            break
    else:
        raise AssertionError("the same evidence and reason still change the plan after twelve replans")
    assert reference or not set(plan.required_tools or ()) & set(FULL)
    assert set(read_query(query).plan.required_tools or ()) <= set(plan.required_tools or ())
