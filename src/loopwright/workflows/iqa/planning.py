"""The planner without a chat model, what the evidence lacks, and the rules that every plan keeps, whoever made it."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from loopwright.errors import PlannerError
from loopwright.workflows.iqa.answer.facts import contradicting
from loopwright.workflows.iqa.distortions import in_words, kind_of
from loopwright.workflows.iqa.measuring.severity import closeness
from loopwright.workflows.iqa.question.places import REGION_PREFIX
from loopwright.workflows.iqa.question.reading import QueryReading, read_query
from loopwright.workflows.iqa.question.vocabulary import named_distortions
from loopwright.workflows.iqa.schemas import (
    GLOBAL,
    AnswerMode,
    ExecutorOutput,
    PlannerInput,
    PlannerOutput,
    QueryType,
    ReferenceMode,
)
from loopwright.workflows.iqa.tools.registry import all_tools, calibrations, get_tool


class Lack(NamedTuple):
    """Something that the evidence lacks."""

    reason: str | None
    """Why another plan is asked for, one sentence without a full stop; None for what is mended on the way alone."""
    why: str
    """The lack and the remedy, as the new plan's rationale tells it."""
    fields: dict[str, Any]
    """Fields of the plan -> their new values; empty if no plan can mend it."""


@dataclass(frozen=True, slots=True)
class Case:
    """A plan, and what it found."""

    plan: PlannerOutput
    """What was to be done."""
    evidence: ExecutorOutput
    """What was measured; empty if nothing is known."""
    reading: QueryReading
    """What the query asks for."""

    @property
    def tried(self) -> set[str]:
        """The tools that ran, with or without success."""
        return {log.tool for log in self.evidence.tool_logs} | set(self.evidence.quality_scores)

    @property
    def untried(self) -> str | None:
        """The best tool of the plan's reference mode that has not run and is not required."""
        known = {*self.tried, *(self.plan.required_tools or ())}
        of_mode = (tool for tool in all_tools() if tool.reference is self.plan.reference_mode)
        return next((tool.name for tool in of_mode if tool.name not in known), None)

    @property
    def measured(self) -> bool:
        """Whether there is some evidence."""
        return any((self.evidence.distortion_set, self.evidence.distortion_analysis, self.evidence.tool_logs))

    @property
    def asked(self) -> list[str]:
        """The distortions that were asked about."""
        planned = [name for names in (self.plan.distortions or {}).values() for name in names]
        return list(dict.fromkeys(planned or named_distortions(self.reading.stem)))


def _unlocated(case: Case) -> Iterator[Lack]:
    """An object of the query that no evidence is about, or whose box was too small for any: ask about the whole image.

    Nothing is missed where a region was given, nor where the whole image was measured beside other objects.
    """
    evidence = case.evidence
    if isinstance(case.plan.query_scope, str):
        return
    scored = {log.region for log in evidence.tool_logs if log.score is not None}
    scopes = {each.casefold() for each in (*evidence.distortion_set, *evidence.distortion_analysis, *scored)}
    missing = [name for name in case.plan.query_scope if name.casefold() not in scopes]
    some = len(missing) < len(case.plan.query_scope)
    given = any(scope.startswith(REGION_PREFIX) for scope in (*scopes, *evidence.regions))
    if given or (some and GLOBAL.casefold() in scopes):
        return
    names = list(dict.fromkeys(name for names in (case.plan.distortions or {}).values() for name in names))
    globally = {"query_scope": GLOBAL, "distortions": {GLOBAL: names} if names else None}
    fields = {} if some or not (scopes or evidence.regions) else globally
    why = f"There is no evidence for {', '.join(missing)} alone, so the scope is widened to Global"
    for name in missing:
        said = f"The {_without_article(name)} could not be located, so there is no evidence for it alone"
        yield Lack(said, why, fields)


def _missing_scores(case: Case) -> Iterator[Lack]:
    """Tools were to be chosen and run, but on some scope none ran, although there are some: require the best one."""
    evidence, flags = case.evidence, case.plan.plan
    wanted = flags.tool_execution and (flags.tool_selection or bool(case.plan.required_tools))
    if not wanted:
        return
    ran = {log.region for log in evidence.tool_logs}
    scopes = [*evidence.distortion_set, *evidence.distortion_analysis, *evidence.regions] or [GLOBAL]
    scope = next((scope for scope in scopes if scope not in ran), None)
    if scope is None:
        return
    place = scope if scope.startswith(REGION_PREFIX) else f"{_without_article(scope)} region"
    reason = f"Missing tool scores for {'the whole image' if scope == GLOBAL else place}"
    other = case.untried
    if other and not ran and not evidence.quality_scores and case.measured:
        yield Lack(reason, f"No tool ran, so {other} is required", _requiring(case, other))
    else:
        yield Lack(reason, "", {})


def _missing_distortion(case: Case) -> Iterator[Lack]:
    """A distortion that was asked about has no finding: switch analysis on, or detection if analysis was on."""
    flags, evidence = case.plan.plan, case.evidence
    if not case.measured:
        return
    findings = [item for items in evidence.distortion_analysis.values() for item in items]
    missing = [name for name in case.asked if kind_of(name) not in {kind_of(item.type) for item in findings}]
    untold = [
        name
        for name in case.asked
        if not any(closeness(name, item.type) > 0 for item in findings)
        and not any(note.casefold().startswith((name, in_words(name).casefold())) for note in evidence.notes)
    ]
    reason = None
    if untold and flags.distortion_analysis and not flags.distortion_detection:
        reason = f"No evidence for {untold[0]}: it was not analysed, and detection was off"
    open_question = bool(case.reading.option_distortions) or case.plan.answer_mode is AnswerMode.EXPLANATION
    if not missing and not (not case.asked and open_question and not findings):
        return
    what = ", ".join(missing) or "what was found"
    # A plan whose distortions are explicit has detection off by definition.
    detecting = {"distortion_source": "Inferred", **_flags(case, distortion_detection=True, distortion_analysis=True)}
    if not case.asked and not flags.distortion_detection:
        yield Lack(reason, "Nothing was looked for, so all distortions are", detecting)
    elif not flags.distortion_analysis:
        why = f"There is no analysis of {what}, so it is switched on"
        yield Lack(reason, why, _flags(case, distortion_analysis=True))
    elif not flags.distortion_detection:
        yield Lack(reason, f"The analysis found nothing of {what}, so everything is looked for", detecting)


def _contradiction(case: Case) -> Iterator[Lack]:
    """The tools that contradict the primary one outnumber those that agree with it."""
    scores, opposed, other = case.evidence.quality_scores, contradicting(case.evidence), case.untried
    outvoted = opposed and 2 * len(opposed) > len(scores) - 1
    if not case.plan.plan.tool_execution or not outvoted or not other:
        return
    primary, against = case.evidence.primary_tool or "", opposed[0]
    errors = " + ".join(f"{calibrations()[name].error:.1f}" for name in (primary, against))
    reason = (
        f"Tools {primary} ({scores[primary]:.1f}) and {against} ({scores[against]:.1f}) {CONTRADICT} beyond "
        f"their calibration errors ({errors}); {other} is untried"
    )
    shown = ", ".join(f"{name} {score:.1f}" for name, score in scores.items())
    why = f"The tools {CONTRADICT} ({shown}), so {other} is required to decide"
    yield Lack(reason, why, _requiring(case, other))


CONTRADICT = "contradict each other"

RULES: tuple[Callable[[Case], Iterator[Lack]], ...] = (
    _unlocated, _missing_scores, _missing_distortion, _contradiction,
)  # fmt: skip
"""In the order in which a lack is asked for; a new plan mends all of them."""


def missing_evidence(
    plan: PlannerOutput, evidence: ExecutorOutput, query: str, history: Sequence[str] = (), *, locates: bool = True
) -> str | None:
    """Why another plan is needed.

    A tool that failed is none: the executor put another in its place; nor is an executor that failed as a whole, which
    the answer tells. Nothing that the plan switched off is ever missed, and no reason is given twice in a run: if the
    plan after it did not help, the next would not either. A contradiction is asked about once: whatever the deciding
    tool says, the answer then reports the disagreement.

    Args:
        plan: What was to be done.
        evidence: What was measured.
        query: The user's question.
        history: The reasons of the replans so far, as in the state's `replan_history`.
        locates: Whether something can find an object in the image; else no plan can find one, and none is asked for.

    Returns:
        The reason for a replan, one sentence, or None if the evidence is enough or no other plan could find more.
    """
    flags, past = plan.plan, set(map(without_iteration, history))
    measures = flags.distortion_detection or flags.distortion_analysis or flags.tool_execution
    if plan.query_type is QueryType.OTHER or evidence.error or not measures:
        return None
    case = Case(plan, evidence, read_query(query))
    for lack in (lack for rule in RULES if locates or rule is not _unlocated for lack in rule(case)):
        if lack.reason and lack.reason not in past:
            if not (CONTRADICT in lack.reason and any(CONTRADICT in entry for entry in past)):
                return lack.reason
    return None


def without_iteration(entry: str) -> str:
    """The reason in an entry of the state's `replan_history`."""
    return re.sub(r"^\[Iteration \d+\] ", "", entry)


NOTHING_LEFT = "Nothing useful is left to change, so the plan stays as it was."
"""What the rationale of an unchanged plan says."""


def revise(
    previous: PlannerOutput, evidence: ExecutorOutput | None, feedback: Sequence[str], reading: QueryReading
) -> PlannerOutput:
    """Change a plan so that it finds what was missing.

    Args:
        previous: The plan that was not enough.
        evidence: What it found.
        feedback: Why plans were not enough, oldest first; at least one reason. It is told in the plan; what is changed
            is what the evidence lacks.
        reading: What the query asks for.

    Returns:
        The changed plan; one with `NOTHING_LEFT` in its rationale and otherwise equal to `previous` if no rule applies.
    """
    case = Case(previous, evidence or ExecutorOutput(), reading)
    told: list[str] = []
    helpless = previous.query_type is QueryType.OTHER or case.evidence.error
    for rule in () if helpless else RULES:
        lack = next((lack for lack in rule(case) if lack.fields), None)
        if lack is not None:
            told.append(lack.why)
            fields = {name: getattr(case.plan, name) for name in PlannerOutput.model_fields} | lack.fields
            # Validated, as `model_copy` alone would not keep the plan's own rules.
            case = dataclasses.replace(case, plan=PlannerOutput.model_validate(fields))
    sentences = [f"Replanned, because: {feedback[-1].rstrip('.')}."]
    sentences += [NOTHING_LEFT] if case.plan.same_work(previous) else [f"{why}." for why in told]
    return case.plan.model_copy(update={"rationale": " ".join(sentences)})


def _requiring(case: Case, other: str) -> dict[str, Any]:
    """Another tool beside those that a new plan keeps, of which the first is the one that answers.

    Kept are those that the query names, even if they failed, because the answer must report it; those that gave a
    score, the primary one first; and those that are required and have not run yet. With selection on, the executor
    would choose again what failed.
    """
    scores, primary = case.evidence.quality_scores, case.evidence.primary_tool
    full = case.plan.reference_mode is ReferenceMode.FULL
    usable = {tool.name for tool in all_tools() if full or tool.reference is ReferenceMode.NONE}
    scored = sorted(usable & set(scores), key=lambda name: (name != primary, list(scores).index(name)))
    waiting = [name for name in case.plan.required_tools or () if name in usable - case.tried]
    tools = dict.fromkeys([*(case.reading.plan.required_tools or ()), *scored, *waiting, other])
    return {"required_tools": list(tools), **_flags(case, tool_selection=False, tool_execution=True)}


def _flags(case: Case, **flags: bool) -> dict[str, Any]:
    return {"plan": case.plan.plan.model_copy(update=flags)}


def _without_article(name: str) -> str:
    return re.sub(r"^(the|a|an)\s+", "", name.strip(), flags=re.IGNORECASE)


def make_plan(
    task: PlannerInput, *, previous: PlannerOutput | None = None, evidence: ExecutorOutput | None = None
) -> PlannerOutput:
    """Plan by rules. The same arguments always give the same plan.

    Without feedback this is the first plan; with feedback, the previous plan is changed so that it can find what was
    missing (see `revise`). If there is nothing left to change, the plan is the
    previous one in every parameter, and its rationale says so.

    Raises:
        PlannerError: If no valid plan exists: an empty query, or a named tool that needs a reference where none is.
        UnknownNameError: If the query asks for a tool that nobody knows.
    """
    reading = read_query(task.query)
    plan = reading.plan
    if task.feedback:
        plan = revise(previous or plan, evidence, task.feedback, reading)
    return enforce(plan, reading, reference_path=task.reference_path)


def enforce(plan: PlannerOutput, reading: QueryReading, *, reference_path: str | None) -> PlannerOutput:
    """Hold a plan, which is not changed, to the rules that no query and no chat model can switch off.

    Tools compare with a reference if and only if there is one; every tool is a registered one that can run; the tools
    that the query names are required, and the choice of others is off; a query with options is a choice, one without
    is none; where the options are distortions, all are looked for; a query that is not about quality gets no work.

    Raises:
        PlannerError: If a required tool needs a reference and there is none.
        UnknownNameError: If a required tool is not registered.
    """
    named = reading.plan.required_tools or []
    tools = list(dict.fromkeys(get_tool(name).name for name in (*named, *(plan.required_tools or ()))))
    if plan.query_type is QueryType.OTHER and not named:
        return PlannerOutput(
            query_type=QueryType.OTHER, answer_mode=_answer_mode(plan, reading), reference_mode=_mode(reference_path),
            rationale=plan.rationale,
        )  # fmt: skip
    require_reference(tools, reference_path)
    if set(plan.required_tools or ()) == set(tools):
        tools = plan.required_tools or []  # their order says which score is the answer
    flags = {"tool_selection": False, "tool_execution": True} if named else {}
    explicit = plan.distortion_source == "Explicit" and not reading.option_distortions
    if reading.option_distortions:
        flags["distortion_detection"] = True
    distortions = {scope: names for scope, names in (plan.distortions or {}).items() if names}
    return PlannerOutput(
        answer_mode=_answer_mode(plan, reading),
        query_scope=plan.query_scope or GLOBAL,
        distortion_source="Explicit" if explicit and distortions else "Inferred",
        distortions=distortions or None,
        reference_mode=_mode(reference_path),
        required_tools=list(tools) or None,
        plan=plan.plan.model_copy(update=flags),
        rationale=plan.rationale,
    )


def require_reference(tools: Sequence[str], reference_path: str | None) -> None:
    """Check that tools can run.

    Raises:
        PlannerError: If one of them needs a reference and there is none.
        UnknownNameError: If one of them is not registered.
    """
    needy = [get_tool(name).name for name in tools if get_tool(name).reference is ReferenceMode.FULL]
    if needy and not reference_path:
        free = ", ".join(tool.name for tool in all_tools() if tool.reference is ReferenceMode.NONE)
        raise PlannerError(
            f"{', '.join(dict.fromkeys(needy))} compares with a reference image, and there is none; "
            f"give one (reference_path, --reference), or name a tool that needs none: {free}"
        )


def _answer_mode(plan: PlannerOutput, reading: QueryReading) -> AnswerMode:
    if reading.options:
        return AnswerMode.MCQ
    return reading.plan.answer_mode if plan.answer_mode is AnswerMode.MCQ else plan.answer_mode


def _mode(reference_path: str | None) -> ReferenceMode:
    return ReferenceMode.FULL if reference_path else ReferenceMode.NONE
