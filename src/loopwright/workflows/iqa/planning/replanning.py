"""A new plan from the last one: which rules are asked, and what the rationale tells."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from loopwright.workflows.iqa.answer.sufficiency import contradicting, measured_scopes, useless_scopes
from loopwright.workflows.iqa.distortions import kind_of
from loopwright.workflows.iqa.question.places import REGION_PREFIX
from loopwright.workflows.iqa.question.reading import QueryReading
from loopwright.workflows.iqa.question.vocabulary import named_distortions
from loopwright.workflows.iqa.schemas import GLOBAL, AnswerMode, ExecutorOutput, PlannerOutput, QueryType, ReferenceMode
from loopwright.workflows.iqa.tools.registry import all_tools


@dataclass(frozen=True, slots=True)
class Case:
    """What a rule decides on."""

    plan: PlannerOutput
    """The plan to be changed."""
    evidence: ExecutorOutput
    """What the previous plan found; empty if nothing is known."""
    reading: QueryReading
    """What the query asks for."""
    reason: str
    """The last reason for replanning, in small letters."""
    tried: frozenset[str]
    """The tools that ran in any pass, with or without success."""

    def untried(self) -> str | None:
        """The best tool of the plan's reference mode that has not run."""
        mode = self.plan.reference_mode
        wanted = {*self.tried, *(self.plan.required_tools or ())}
        return next((tool.name for tool in all_tools() if tool.reference is mode and tool.name not in wanted), None)


@dataclass(frozen=True, slots=True)
class Change:
    """A remedy."""

    fields: dict[str, Any]
    """Fields of the plan -> their new values."""
    why: str
    """The lack and the remedy, one sentence without a full stop."""


Rule = Callable[[Case], Change | None]


def lighten(case: Case) -> Change | None:
    """The executor failed as a whole: ask for the tools alone, then for the measurements alone."""
    if not case.evidence.error:
        return None
    flags = case.plan.plan
    measures = flags.distortion_detection or flags.distortion_analysis
    if flags.tool_execution and measures and not case.reading.option_distortions:
        return Change(
            {**_flags(case, distortion_detection=False, distortion_analysis=False), "query_scope": GLOBAL,
             "distortions": _globally(case.plan)},
            "The executor failed, so this plan asks for less: the tools alone, on the whole image",
        )  # fmt: skip
    if flags.tool_execution and not case.reading.tools:
        return Change(
            {**_flags(case, distortion_detection=True, distortion_analysis=True, tool_selection=False,
                      tool_execution=False), "required_tools": None, "distortion_source": "Inferred"},
            "The executor failed, so this plan asks for the measurements alone, without tools",
        )  # fmt: skip
    return None


def widen_scope(case: Case) -> Change | None:
    """An object has no evidence, because none could be located or its box says nothing: ask about the whole image."""
    useless = useless_scopes(case.plan, case.evidence)
    if useless:
        return _to_global(case, f"The box of {', '.join(useless)} gave no usable evidence")
    scopes = {scope.casefold() for scope in (*measured_scopes(case.evidence), *case.evidence.regions)}
    if isinstance(case.plan.query_scope, str) or not scopes or any(scope.startswith(REGION_PREFIX) for scope in scopes):
        return None
    missing = [name for name in case.plan.query_scope if name.casefold() not in scopes]
    if len(missing) < len(case.plan.query_scope):
        return None
    return _to_global(case, f"There is no evidence for {', '.join(missing)} alone")


def replace_failed_tools(case: Case) -> Change | None:
    """Tools failed and nothing stood in for them: require as many untried ones, beside those that gave a score."""
    if not case.plan.plan.tool_execution:
        return None
    scored = {log.tool for log in case.evidence.tool_logs if log.score is not None}
    covered = {log.fallback_for for log in case.evidence.tool_logs if log.score is not None}
    failed = list(dict.fromkeys(log.tool for log in case.evidence.tool_logs if log.error))
    failed = [name for name in failed if name not in scored | covered]
    others: list[str] = []
    for _ in failed:
        other = dataclasses.replace(case, tried=case.tried | set(others)).untried()
        others += [other] if other else []
    if not others:
        return None
    return Change(
        _requiring(case, [*_kept_tools(case), *others]),
        f"Tool {', '.join(failed)} failed, so {', '.join(others)} is required in its place",
    )


def require_some_tool(case: Case) -> Change | None:
    """Tools were to run and none did: require the best one."""
    other = case.untried()
    ran = case.evidence.tool_logs or case.evidence.quality_scores
    if (
        not case.plan.plan.tool_execution
        or case.evidence.error
        or ran
        or not measured_scopes(case.evidence)
        or not other
    ):
        return None
    return Change(_requiring(case, [*_kept_tools(case), other]), f"No tool ran, so {other} is required")


def look_for_distortions(case: Case) -> Change | None:
    """A distortion that was asked about has no finding: switch analysis on, or detection if analysis was on."""
    flags, reading = case.plan.plan, case.reading
    if case.evidence.error or not measured_scopes(case.evidence):
        return None
    asked = [name for names in (case.plan.distortions or reading.distortions).values() for name in names]
    findings = [finding for found in case.evidence.distortion_analysis.values() for finding in found]
    kinds = {kind_of(finding.type) for finding in findings}
    missing = [name for name in dict.fromkeys(asked) if kind_of(name) not in kinds]
    open_question = bool(reading.option_distortions) or case.plan.answer_mode is AnswerMode.EXPLANATION
    if not missing and not (not asked and open_question and not findings):
        return None
    if not asked and not flags.distortion_detection:
        return _detecting(case, "Nothing was looked for, so all distortions are")
    what = ", ".join(missing) or "what was found"
    if not flags.distortion_analysis:
        return Change(_flags(case, distortion_analysis=True), f"There is no analysis of {what}, so it is switched on")
    if not flags.distortion_detection:
        return _detecting(case, f"The analysis found nothing of {what}, so everything is looked for")
    return None


def add_deciding_tool(case: Case) -> Change | None:
    """The tools contradict each other, by most of the scores or by the feedback: require one more beside them."""
    scores = case.evidence.quality_scores
    told = re.search(r"contradict|disagree|conflict|inconsisten", case.reason)
    outvoted = 2 * len(contradicting(case.evidence)) > len(scores) - 1
    other = case.untried()
    if not case.plan.plan.tool_execution or len(scores) < 2 or not (outvoted or told) or not other:
        return None
    shown = ", ".join(f"{name} {score:.1f}" for name, score in scores.items())
    return Change(
        _requiring(case, [*_kept_tools(case), other]),
        f"The tools contradict each other ({shown}), so {other} is required to decide",
    )


def follow_words_about_places(case: Case) -> Change | None:
    """The feedback speaks of a region or of an object in the scope."""
    if isinstance(case.plan.query_scope, str):
        return None
    if any(scope.startswith(REGION_PREFIX) for scope in measured_scopes(case.evidence)):
        return None
    about_place = re.search(r"\b(?:regions?|objects?|scope|area|locat\w+|whole image|global)\b", case.reason)
    if about_place or any(name.casefold() in case.reason for name in case.plan.query_scope):
        return _to_global(case, "The feedback speaks of a place that has too little evidence")
    return None


def follow_words_about_tools(case: Case) -> Change | None:
    """The feedback speaks of tools or scores: run them, or one more."""
    if not _speaks_of_tools(case):
        return None
    if not case.plan.plan.tool_execution:
        selection = not case.plan.required_tools
        return Change(
            _flags(case, tool_execution=True, tool_selection=selection),
            "The feedback misses tool scores, so the tools are switched on",
        )
    other = case.untried()
    if other is None:
        return None
    return Change(
        _requiring(case, [*_kept_tools(case), other]),
        f"The feedback speaks of tools, so {other} is required as well",
    )


def follow_words_about_distortions(case: Case) -> Change | None:
    """The feedback names a distortion, or speaks of detection, analysis or severity."""
    named = named_distortions(case.reason)
    if not named and not re.search(r"distort|detect|analys|severit|art[ie]fact", case.reason):
        return None
    flags = case.plan.plan
    if not flags.distortion_analysis:
        return Change(_flags(case, distortion_analysis=True), "The feedback misses an analysis, so it is switched on")
    if not flags.distortion_detection:
        return _detecting(case, "The feedback speaks of distortions, so all are looked for")
    return None


EVIDENCE_RULES: tuple[Rule, ...] = (
    lighten, widen_scope, replace_failed_tools, require_some_tool, look_for_distortions, add_deciding_tool,
)  # fmt: skip
"""All of these are applied, in this order."""

WORD_RULES: tuple[Rule, ...] = (
    follow_words_about_places, follow_words_about_tools, follow_words_about_distortions,
)  # fmt: skip
"""All of these are applied, in this order, if no rule over the evidence was."""


def _kept_tools(case: Case) -> list[str]:
    """The tools that a new plan keeps; the first required tool is the one that answers.

    Those that the query names, even if they failed, because the answer must report it; those that gave a score, the
    primary one first; and those that are required and have not run yet.
    """
    scores, primary = case.evidence.quality_scores, case.evidence.primary_tool
    full = case.plan.reference_mode is ReferenceMode.FULL
    usable = {tool.name for tool in all_tools() if full or tool.reference is ReferenceMode.NONE}
    scored = sorted(usable & set(scores), key=lambda name: (name != primary, list(scores).index(name)))
    waiting = [name for name in case.plan.required_tools or () if name in usable - case.tried]
    return [*case.reading.tools, *scored, *waiting]


def _speaks_of_tools(case: Case) -> bool:
    return bool(re.search(r"\b(?:tools?|scores?|metrics?)\b", case.reason))


def _requiring(case: Case, tools: Sequence[str]) -> dict[str, Any]:
    """Exactly these tools: with selection on, the executor would choose again what failed."""
    return {"required_tools": list(dict.fromkeys(tools)), **_flags(case, tool_selection=False, tool_execution=True)}


def _detecting(case: Case, why: str) -> Change:
    # A plan whose distortions are explicit has detection off by definition.
    flags = _flags(case, distortion_detection=True, distortion_analysis=True)
    return Change({"distortion_source": "Inferred", **flags}, why)


def _to_global(case: Case, why: str) -> Change:
    return Change(
        {"query_scope": GLOBAL, "distortions": _globally(case.plan)}, f"{why}, so the scope is widened to Global"
    )


def _globally(plan: PlannerOutput) -> dict[str, list[str]] | None:
    names = [name for names in (plan.distortions or {}).values() for name in names]
    return {GLOBAL: list(dict.fromkeys(names))} if names else None


def _flags(case: Case, **flags: bool) -> dict[str, Any]:
    return {"plan": case.plan.plan.model_copy(update=flags)}


NOTHING_LEFT = "Nothing useful is left to change, so the plan stays as it was."
"""What the rationale of an unchanged plan says."""

TRIED = "Tools tried so far: "
"""Begins the sentence of a rationale that carries the tools of all passes; the state keeps only the last evidence."""


def revise(
    previous: PlannerOutput, evidence: ExecutorOutput | None, feedback: Sequence[str], reading: QueryReading
) -> PlannerOutput:
    """Change a plan so that it finds what was missing.

    Args:
        previous: The plan that was not enough.
        evidence: What it found.
        feedback: Why plans were not enough, oldest first; at least one reason.
        reading: What the query asks for.

    Returns:
        The changed plan; one with `NOTHING_LEFT` in its rationale and otherwise equal to `previous` if no rule applies.
    """
    found = evidence or ExecutorOutput()
    tried = _tried(previous, found, feedback)
    case = Case(previous, found, reading, feedback[-1].lower(), tried)
    told: list[str] = []
    if previous.query_type is not QueryType.OTHER:
        for rules in (EVIDENCE_RULES, WORD_RULES):
            if told or (rules is WORD_RULES and found.error):
                break
            for rule in rules:
                change = rule(case)
                if change:
                    told.append(change.why)
                    case = dataclasses.replace(case, plan=_changed(case.plan, change.fields))
    sentences = [f"Replanned, because: {feedback[-1].rstrip('.')}."]
    sentences += [NOTHING_LEFT] if case.plan.same_work(previous) else [f"{why}." for why in told]
    if tried:
        sentences.append(f"{TRIED}{', '.join(tool.name for tool in all_tools() if tool.name in tried)}.")
    return case.plan.model_copy(update={"rationale": " ".join(sentences)})


def _tried(previous: PlannerOutput, evidence: ExecutorOutput, feedback: Sequence[str]) -> frozenset[str]:
    """The tools of this pass, and of the earlier ones, whose evidence is gone, from what plans and reasons told."""
    names = {log.tool for log in evidence.tool_logs} | set(evidence.quality_scores)
    _, _, told = previous.rationale.rpartition(TRIED)
    known = {tool.name for tool in all_tools()}
    names |= known & set(re.findall(r"[\w-]+", told if TRIED in previous.rationale else ""))
    for entry in feedback:
        names |= known & set(re.findall(r"\b[Tt]ool ([\w-]+) failed", entry))
    return frozenset(names)


def _changed(plan: PlannerOutput, fields: dict[str, Any]) -> PlannerOutput:
    """A validated copy: `model_copy` alone would not keep the plan's own rules."""
    values = {name: getattr(plan, name) for name in PlannerOutput.model_fields}
    return PlannerOutput.model_validate({**values, **fields})
