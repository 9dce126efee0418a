"""Is the evidence enough, or could another plan find more? Pure decisions, each a reason in words or None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from loopwright.errors import ImageError, UnknownNameError
from loopwright.workflows.iqa.distortions import in_words
from loopwright.workflows.iqa.measuring.severity import closeness
from loopwright.workflows.iqa.question.options import split_options
from loopwright.workflows.iqa.question.places import REGION_PREFIX
from loopwright.workflows.iqa.question.vocabulary import named_distortions
from loopwright.workflows.iqa.schemas import GLOBAL, ExecutorOutput, PlannerOutput, QueryType, ToolLog
from loopwright.workflows.iqa.tools.calibration import get_calibration
from loopwright.workflows.iqa.tools.registry import Tool, all_tools

ErrorOf = Callable[[str], float]
"""Tool -> root mean square error of its score, on the scale of 1 to 5."""


def calibration_error(tool: str) -> float:
    """The error that a tool's shipped calibration has on references left out of its fit, on the scale of 1 to 5.

    Args:
        tool: The tool's registered name.

    Returns:
        The root mean square error; infinite for a tool without a calibration, which then contradicts nobody.
    """
    try:
        return get_calibration(tool).error
    except UnknownNameError:
        return float("inf")


def missing_evidence(
    plan: PlannerOutput,
    evidence: ExecutorOutput,
    query: str,
    history: Sequence[str] = (),
    *,
    tools: Sequence[Tool] | None = None,
    error_of: ErrorOf = calibration_error,
    locates: bool = True,
) -> str | None:
    """Why another plan is needed.

    In this order: the executor failed; an object that was asked about could not be located; the box of one says
    nothing; a located scope has no tool scores; a distortion that was asked about has no finding; a tool failed and
    another could stand in; the tools contradict each other and another could decide.

    Nothing that the plan switched off is ever missed, and no reason is given twice in a run: if the plan after it did
    not help, the next would not either.

    Args:
        plan: What was to be done.
        evidence: What was measured.
        query: The user's question.
        history: The reasons of the replans so far, as in the state's `replan_history`.
        tools: The tools that there are; by default the registered ones.
        error_of: How far a tool's score is to be trusted.
        locates: Whether something can find an object in the image; else no plan can find one, and none is asked for.

    Returns:
        The reason for a replan, one sentence, or None if the evidence is enough or no other plan could find more.
    """
    flags = plan.plan
    measures = flags.distortion_detection or flags.distortion_analysis or flags.tool_execution
    if plan.query_type is QueryType.OTHER or not measures:
        return None
    known = all_tools() if tools is None else tools
    reasons = (
        failed_executor(evidence),
        *(unlocated_objects(plan, evidence) if locates else ()),
        useless_box(plan, evidence),
        missing_scores(plan, evidence, known),
        missing_distortion(plan, evidence, query),
        failed_tool(plan, evidence, history, known),
        contradiction(plan, evidence, history, known, error_of),
    )
    past = set(map(without_iteration, history))
    return next((reason for reason in reasons if reason and reason not in past), None)


def without_iteration(entry: str) -> str:
    """The reason in an entry of the state's `replan_history`."""
    return re.sub(r"^\[Iteration \d+\] ", "", entry)


def failed_executor(evidence: ExecutorOutput) -> str | None:
    """The executor as a whole failed; a plan with other work may get through, but not with an unusable image."""
    if not evidence.error or ImageError.__name__ in evidence.error:
        return None
    return f"The executor failed: {_short(evidence.error)}"


def unlocated_objects(plan: PlannerOutput, evidence: ExecutorOutput) -> list[str]:
    """One reason for each object of the query that no evidence is about.

    None where a region was given, nor where other objects were located: the whole image was measured beside them.
    """
    if evidence.error or plan.query_scope == GLOBAL:
        return []
    scopes = {scope.casefold() for scope in (*measured_scopes(evidence), *evidence.regions)}
    located = any(name.casefold() in scopes for name in plan.query_scope)
    if any(scope.startswith(REGION_PREFIX) for scope in scopes) or (located and GLOBAL.casefold() in scopes):
        return []
    return [
        f"The {_without_article(name)} could not be located, so there is no evidence for it alone"
        for name in plan.query_scope
        if name.casefold() not in scopes
    ]


def useless_box(plan: PlannerOutput, evidence: ExecutorOutput) -> str | None:
    """An object or position was found in the image, but nothing could be measured there, as in a tiny box."""
    for scope in useless_scopes(plan, evidence):
        return f"The {_without_article(scope)} could not be located well enough: its box gave no usable evidence"
    return None


def useless_scopes(plan: PlannerOutput, evidence: ExecutorOutput) -> list[str]:
    """The objects and positions of a plan that have a box, and neither a finding nor a score for it."""
    if evidence.error or isinstance(plan.query_scope, str):
        return []
    scored = {log.region for log in evidence.tool_logs if log.score is not None}
    usable = {*evidence.distortion_set, *evidence.distortion_analysis, *scored}
    return [scope for scope in plan.query_scope if scope in evidence.regions and scope not in usable]


def missing_scores(plan: PlannerOutput, evidence: ExecutorOutput, tools: Sequence[Tool]) -> str | None:
    """Tools were to be chosen and run, but on some scope none ran, although there are some."""
    wanted = plan.plan.tool_execution and (plan.plan.tool_selection or bool(plan.required_tools))
    if evidence.error or not wanted or not _of_mode(tools, plan):
        return None
    ran = {log.region for log in evidence.tool_logs}
    scopes = [*evidence.distortion_set, *evidence.distortion_analysis, *evidence.regions] or [GLOBAL]
    for scope in scopes:
        if scope not in ran:
            return f"Missing tool scores for {'the whole image' if scope == GLOBAL else _region(scope)}"
    return None


def missing_distortion(plan: PlannerOutput, evidence: ExecutorOutput, query: str) -> str | None:
    """A distortion that was asked about was neither analysed nor looked for, and no note says why not."""
    if evidence.error or not plan.plan.distortion_analysis or plan.plan.distortion_detection:
        return None
    planned = [name for names in (plan.distortions or {}).values() for name in names]
    asked = planned or named_distortions(split_options(query).stem)
    found = [finding.type for findings in evidence.distortion_analysis.values() for finding in findings]
    for name in dict.fromkeys(asked):
        told = any(note.casefold().startswith((name, in_words(name).casefold())) for note in evidence.notes)
        if not told and not any(closeness(name, other) > 0 for other in found):
            return f"No evidence for {name}: it was not analysed, and detection was off"
    return None


def failed_tool(
    plan: PlannerOutput, evidence: ExecutorOutput, history: Sequence[str], tools: Sequence[Tool]
) -> str | None:
    """A tool failed, none stood in for it, and one of the same reference mode is untried."""
    if evidence.error or not plan.plan.tool_execution:
        return None
    covered = {log.fallback_for for log in evidence.tool_logs if log.score is not None}
    other = _untried(plan, evidence.tool_logs, history, tools)
    for log in evidence.tool_logs:
        if log.error and log.tool not in covered and other:
            return f"Tool {log.tool} failed ({_short(log.error)}); {other} is untried"
    return None


def contradiction(
    plan: PlannerOutput,
    evidence: ExecutorOutput,
    history: Sequence[str],
    tools: Sequence[Tool],
    error_of: ErrorOf = calibration_error,
) -> str | None:
    """The tools that contradict the primary one outnumber those that agree with it, and an untried one could decide.

    Two tools contradict each other where their scores differ by more than the sum of their calibration errors. It is
    asked for once per run: whatever the deciding tool says, the answer then reports the disagreement.
    """
    if evidence.error or not plan.plan.tool_execution or any("contradict each other" in entry for entry in history):
        return None
    opposed = contradicting(evidence, error_of)
    if not opposed:
        return None
    primary = evidence.primary_tool or ""
    agreeing = len(evidence.quality_scores) - 1 - len(opposed)
    other = _untried(plan, evidence.tool_logs, history, tools)
    if len(opposed) <= agreeing or not other:
        return None
    against, scores = opposed[0], evidence.quality_scores
    return (
        f"Tools {primary} ({scores[primary]:.1f}) and {against} ({scores[against]:.1f}) contradict each other beyond "
        f"their calibration errors ({error_of(primary):.1f} + {error_of(against):.1f}); {other} is untried"
    )


def contradicting(evidence: ExecutorOutput, error_of: ErrorOf = calibration_error) -> list[str]:
    """The tools whose scores differ from the primary one's by more than both calibration errors together.

    Args:
        evidence: What was measured.
        error_of: How far a tool's score is to be trusted.

    Returns:
        Their names, the largest difference first.
    """
    scores, primary = evidence.quality_scores, evidence.primary_tool
    if primary is None or primary not in scores:
        return []
    distance = {name: abs(score - scores[primary]) for name, score in scores.items() if name != primary}
    opposed = [name for name in distance if distance[name] > error_of(primary) + error_of(name)]
    return sorted(opposed, key=lambda name: -distance[name])


def measured_scopes(evidence: ExecutorOutput) -> set[str]:
    """The scopes that some evidence is about."""
    ran = {log.region for log in evidence.tool_logs}
    return {*evidence.distortion_set, *evidence.distortion_analysis, *ran}


def _of_mode(tools: Iterable[Tool], plan: PlannerOutput) -> list[Tool]:
    return [tool for tool in tools if tool.reference is plan.reference_mode]


def _untried(plan: PlannerOutput, logs: Iterable[ToolLog], history: Sequence[str], tools: Sequence[Tool]) -> str | None:
    """The best tool of the plan's reference mode that neither ran now nor failed before."""
    tried = {log.tool for log in logs}
    for entry in history:
        tried.update(re.findall(r"Tool (\S+) failed", entry))
    return next((tool.name for tool in _of_mode(tools, plan) if tool.name not in tried), None)


def _region(scope: str) -> str:
    return scope if scope.startswith(REGION_PREFIX) else f"{_without_article(scope)} region"


def _without_article(name: str) -> str:
    return re.sub(r"^(the|a|an)\s+", "", name.strip(), flags=re.IGNORECASE)


def _short(text: str | None) -> str:
    """One line without a full stop, cut at 120 characters."""
    words = " ".join((text or "").split()).rstrip(".")
    return words if len(words) <= 120 else words[:119] + "…"
